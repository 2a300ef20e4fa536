import { conflict, forbidden, invalid, notFound } from '@baton/kernel/http/error-rows';
import { type ErrorTable, type Fail, refuse } from '@baton/kernel/http/refusal';
import { errors as lowerErrors } from '../records/errors.ts';

/** The codes of this layer and of those below it. */
export const errors = {
  authentication_context_required: forbidden(
    'No sign-in of this person is recorded.',
    'Record one with `POST …/principals/{principalId}/authentication-contexts` after the person has signed in.',
  ),
  authentication_context_expired: forbidden(
    'The latest sign-in of the person is older than allowed.',
    'Have the person sign in again, then repeat the request. Before you issue a token to a person whom Baton did not sign in itself, record that sign-in.',
  ),
  outside_administration: forbidden(
    'An administration token is accepted only for the administration of its own tenant, not by the endpoints of the operator, and not for what could affect people of another tenant.',
    'Use the path of your own tenant. Anything else needs the admin secret of the operator; docs/reference/administration-tokens.md lists it.',
  ),
  principal_disabled: forbidden(
    'The principal of the external identity is paused or disabled.',
    'Have an administrator enable it with `POST …/principals/{principalId}:enable`; if a directory manages the principal, enable it there.',
  ),
  tenant_not_found: notFound(
    'The tenant does not exist or is not active.',
    'Check the id with `GET /tenants`.',
  ),
  principal_not_found: notFound(
    'The tenant has no such principal with an active membership.',
    'Check the id with `GET /tenants/{tenantId}/principals`, and that it belongs to this tenant.',
  ),
  external_identity_not_found: notFound(
    'The principal has no such external identity.',
    'Link it first with `POST …/principals/{principalId}/external-identities`.',
  ),
  audience_not_found: notFound(
    'The tenant has no such audience.',
    'Check the key with `GET /tenants/{tenantId}/audiences`.',
  ),
  service_account_not_found: notFound(
    'The tenant has no such service account.',
    'Check the client id with `GET /tenants/{tenantId}/service-accounts`.',
  ),
  group_not_found: notFound(
    'The tenant has no such group.',
    'Check the id with `GET /tenants/{tenantId}/groups`.',
  ),
  group_membership_not_found: notFound(
    'The principal is not a member of the group.',
    'No action is needed if you wanted to remove the member; otherwise check the id with `GET …/groups/{groupId}/members`.',
  ),
  tenant_id_exists: conflict(
    'A tenant already has this id.',
    'Read that tenant, if an earlier attempt of yours created it; otherwise omit `id` to get a new one.',
  ),
  tenant_slug_exists: conflict('A tenant already has this slug.', 'Use that tenant, or choose another slug.'),
  external_identity_exists: conflict(
    'The issuer and subject are already linked, in this tenant or another.',
    'Find the principal that has the identity; a person can be linked only once.',
  ),
  identity_provider_managed: conflict(
    'The identity provider of this issuer is `read_only`, so its people are linked only when they sign in.',
    'Have the person sign in through the provider, or change the provider to `managed`.',
  ),
  audience_exists: conflict(
    'The tenant already has an audience with this key.',
    'Change the existing one with `PATCH …/audiences/{key}`, or choose another key.',
  ),
  group_exists: conflict(
    'The tenant already has a group with this key.',
    'Add members to the existing group, or choose another key.',
  ),
  group_is_federated: conflict(
    'The group is managed by an identity provider or a directory.',
    'Change the group there; the next sign-in or synchronization applies the change.',
  ),
  group_membership_exists: conflict(
    'The principal is already a member of the group.',
    'No action is needed: the member exists.',
  ),
  principal_not_active: conflict(
    'The principal is paused or disabled.',
    'Enable the principal first (`POST …/principals/{principalId}:enable`).',
  ),
  principal_provisioned: conflict(
    'A directory provisions the person and controls this setting.',
    'Change the person in that directory, or disable the provisioning source first.',
  ),
  service_account_revoked: conflict(
    'The service account is revoked.',
    'Create a new service account; a revoked one stays revoked.',
  ),
  human_principal_required: invalid(
    'Only humans sign in; agents and workloads do so through an identity provider whose `principalKind` is `workload`.',
    'Use a principal of kind `human`, or register a provider for workloads.',
  ),
  unknown_audience: invalid(
    'A key does not refer to an active audience of the tenant.',
    'Correct the key, or create or activate the audience; `GET …/audiences` lists them.',
  ),
  invalid_scope_ceiling: invalid(
    'The scope ceiling exceeds the scopes that the audiences allow.',
    'Remove scopes, or add them to the audience first.',
    {
      refused:
        'PATCH /tenants/{tenantId}/service-accounts/{clientId} {"audiences":["coordination"],"scopeCeiling":["admin.everything"]}',
      right:
        'PATCH /tenants/{tenantId}/service-accounts/{clientId} {"audiences":["coordination"],"scopeCeiling":["coordination"]}',
    },
  ),
  invalid_scope: invalid(
    'A scope is empty or longer than 120 characters, or contains spaces or control characters.',
    'Send each scope as an element of the list.',
    {
      refused: 'PATCH /tenants/{tenantId}/audiences/{key} {"allowedScopes":["tasks.read tasks.write"]}',
      right: 'PATCH /tenants/{tenantId}/audiences/{key} {"allowedScopes":["tasks.read","tasks.write"]}',
    },
  ),
  signing_algorithm_unavailable: invalid(
    'The installation has no key for the signing algorithm.',
    'Have the operator configure a key for it, or choose RS256.',
  ),
  ...lowerErrors,
} as const satisfies ErrorTable;

export type ErrorCode = keyof typeof errors;

/** Refuses the request with one of these codes; `reason` goes to the log only. */
export const fail: Fail<ErrorCode> = refuse;
