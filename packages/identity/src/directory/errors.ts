import { type ErrorTable, type Fail, refuse } from '@baton/kernel/http/refusal';
import { errors as lowerErrors } from '../records/errors.ts';
import { absent, code, exists, invalid } from '../service/error-rows.ts';

/** The codes of this layer, and of those below it: status, when a client meets the code, what it does. */
export const errors = {
  authentication_context_required: code(
    403,
    'No sign-in of this person is recorded.',
    'Record a sign-in of the person first.',
  ),
  authentication_context_expired: code(
    403,
    'The newest sign-in is older than the allowed age.',
    'Record a fresh sign-in of the person.',
  ),
  principal_disabled: code(
    403,
    'The principal behind the external identity is paused or disabled.',
    'Have it enabled.',
  ),
  tenant_not_found: absent('There is no such tenant, or it is not active.'),
  principal_not_found: absent('There is no such principal with an active membership in the tenant.'),
  external_identity_not_found: absent('The principal has no such external identity.'),
  audience_not_found: absent('The tenant has no such audience.'),
  service_account_not_found: absent('The tenant has no such service account.'),
  group_not_found: absent('The tenant has no such group.'),
  group_membership_not_found: absent('The principal is no member of the group.'),
  tenant_id_exists: exists('A tenant has this id.'),
  tenant_slug_exists: exists('A tenant has this slug.'),
  external_identity_exists: exists('The issuer and subject are linked already, here or in another tenant.'),
  identity_provider_managed: code(
    409,
    "The tenant's identity provider of this issuer links its people itself.",
    'Let the person sign in through the provider, or make it `managed`.',
  ),
  audience_exists: exists('The tenant has an audience with this key.'),
  group_exists: exists('The tenant has a group with this key.'),
  group_is_federated: code(
    409,
    'The group is kept by an identity provider or a directory.',
    'Change it where it is kept.',
  ),
  group_membership_exists: code(409, 'The principal is a member of the group.', 'Treat it as done.'),
  principal_not_active: code(409, 'The principal is paused or disabled.', 'Enable the principal first.'),
  principal_provisioned: code(
    409,
    'A directory provisions the person and decides about it.',
    'Change the person in that directory.',
  ),
  service_account_revoked: code(409, 'The service account is revoked.', 'Create another one.'),
  human_principal_required: invalid(
    'Only humans sign in; agents and workloads do so through an identity provider whose `principalKind` is `workload`.',
  ),
  unknown_audience: invalid('A key that was named is not an active audience of the tenant.'),
  invalid_scope_ceiling: invalid('The ceiling is wider than the scopes that the audiences allow.'),
  invalid_scope: invalid('A scope has 1 to 120 characters, without spaces and control characters.'),
  signing_algorithm_unavailable: code(
    422,
    'The installation has no key for the signing algorithm.',
    'Have the operator set the file of its key, or choose RS256.',
  ),
  ...lowerErrors,
} as const satisfies ErrorTable;

export type ErrorCode = keyof typeof errors;

/** Refuses the request with one of these codes; `reason` goes to the log only. */
export const fail: Fail<ErrorCode> = refuse;
