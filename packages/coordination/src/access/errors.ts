import {
  conflict,
  errorRow,
  forbidden,
  invalid,
  unauthenticated,
  unavailable,
} from '@baton/kernel/http/error-rows';
import { type ErrorTable, type Fail, refuse } from '@baton/kernel/http/refusal';
import { errors as lowerErrors } from '../leases/errors.ts';

/** The codes of this layer and of those below it. */
export const errors = {
  invalid_credentials: unauthenticated(
    'The credential is missing, wrong, expired, or not accepted here.',
    'Get a new access token from identity and send it as `Authorization: Bearer`. For security, the reason is only in the log of the service.',
  ),
  scope_not_granted: forbidden(
    'The token has no scope of this service.',
    'Request a scope of this service when you exchange the credential, or have its scope ceiling raised.',
  ),
  purpose_ref_required: forbidden(
    'A token for a single decision does not specify its approval.',
    'Exchange the credential again with the id of the approval as `purpose_ref`.',
  ),
  not_entitled: forbidden(
    'The license does not cover this part of the service.',
    'Have `details.feature` added to the license, or use the service without it.',
  ),
  outside_purpose: forbidden(
    'The token only allows approving or rejecting one approval.',
    'Use an ordinary access token for everything else.',
  ),
  not_a_person: forbidden(
    'The call is for people only, and the caller is an agent or a service.',
    'Call it with an access token of the person whom it concerns.',
  ),
  permission_escalation: forbidden(
    'A caller cannot grant permissions that it lacks, nor take them from others.',
    'Grant less, or have a principal with `details.missing` do it.',
  ),
  visibility_escalation: forbidden(
    'A caller that sees only its own workspaces cannot grant visibility of the whole tenant, remove its limit, or add permissions that apply in the whole tenant.',
    'Send `visibility` as `members`, or have a caller that sees the whole tenant make the change.',
    {
      refused:
        'POST /principals/{id}/iam-bindings {"issuer":"https://iam.example.com","iamTenantId":"<iamTenantId>","iamPrincipalId":"<iamPrincipalId>","permissions":["tasks.read"],"visibility":"tenant"}',
      right:
        'POST /principals/{id}/iam-bindings {"issuer":"https://iam.example.com","iamTenantId":"<iamTenantId>","iamPrincipalId":"<iamPrincipalId>","permissions":["tasks.read"],"visibility":"members"}',
    },
  ),
  principal_not_active: {
    ...forbidden(
      'The principal is paused or disabled.',
      'Have an administrator enable it (`POST /principals/{id}:enable`); a registry agent becomes active again when it is published.',
    ),
    otherStatus: 422,
  },
  bootstrap_disabled: forbidden(
    'No bootstrap secret is configured.',
    'Have the operator set `CP_BOOTSTRAP_TOKEN` and restart the service; it is needed only once.',
  ),
  iam_identity_bound_elsewhere: conflict(
    'The identity is bound in another tenant.',
    'Revoke the other binding first, or use an identity of this tenant.',
  ),
  cannot_disable_self: conflict(
    'A principal cannot disable or retire itself.',
    'Have another administrator do it.',
  ),
  access_role_key_conflict: conflict(
    'An access role with this key exists, or it is the key of a built-in role.',
    'Choose another key, or change the existing role with `PATCH /access-roles/{id}`.',
  ),
  access_role_limit: conflict(
    'The tenant has the maximum number of access roles of its own.',
    'Delete roles that nobody has, or change an existing one; `details.max` is the maximum.',
  ),
  access_role_built_in: conflict(
    'Built-in access roles belong to the release and cannot be changed or deleted.',
    'Create a role of your own with the permissions that you want, and grant that one.',
  ),
  access_role_in_use: conflict(
    'Bindings or admission rules still name the access role.',
    'Give another role to the `details.bindings` bindings and `details.admissionRules` rules first; `GET /people?accessRole=KEY` lists who has it, and `GET /admission-rules` the rules.',
  ),
  last_administrator: conflict(
    'Nobody else could administer the tenant after this change.',
    'Make another active person administrator first, have them sign in once, then repeat the request.',
  ),
  principal_not_bound: conflict(
    'The principal has no identity, so there is no access to change.',
    'Bind an identity with `POST /principals/{id}/iam-bindings`; an access role can be granted there.',
  ),
  use_agent_retire: conflict(
    'The principal belongs to a registry agent, which is retired instead.',
    'Call `POST /agents/{key}:retire` with the key in `details.agent`.',
  ),
  use_agent_publish: conflict(
    'The principal belongs to a registry agent, and the registry decides whether it is active.',
    'Publish the agent `details.agent` with the state `running`.',
  ),
  agent_identity_conflict: conflict(
    'The identity or the principal belongs to an agent of the registry.',
    'Use another identity, or release this one with `POST /agents/{key}/identity:replace` for `details.agent`.',
  ),
  principal_managed_by_registry: conflict(
    'The principal belongs to an agent of the registry, which determines its name and its permissions.',
    'Publish the agent with the new `displayName` or the new `identity.permissions`.',
  ),
  principal_kind_not_disableable: invalid(
    'A service principal cannot be disabled by this call.',
    'Revoke its bindings and API keys instead.',
  ),
  principal_kind_not_enableable: invalid(
    'A service principal cannot be enabled by this call.',
    'Bind its identity again with `POST /principals/{id}/iam-bindings`.',
  ),
  permissions_not_allowed_for_kind: invalid(
    'Only humans can have the permissions admin and approvals.decide.',
    'Remove `details.forbidden` from the permissions.',
  ),
  visibility_requires_human: invalid(
    'Agents and services always see the whole tenant.',
    'Omit `visibility` for them.',
  ),
  iam_issuer_untrusted: invalid(
    'The issuer is not the trusted one.',
    'Send the issuer in the `iss` claim of your access tokens; the operator sets it as `CP_IAM_ISSUER`.',
  ),
  invalid_kind: invalid('The kind of principal is unknown.', 'Send `human`, `agent` or `service`.', {
    refused: 'POST /principals {"kind":"bot","displayName":"CI"}',
    right: 'POST /principals {"kind":"service","displayName":"CI"}',
  }),
  invalid_permissions: invalid(
    'A permission is unknown.',
    'Correct `details.unknown`; docs/permissions.md lists all permissions.',
    {
      refused: 'POST /principals/{id}/api-keys {"permissions":["task.read"]}',
      right: 'POST /principals/{id}/api-keys {"permissions":["tasks.read"]}',
    },
  ),
  invalid_display_name: invalid(
    'The display name is blank.',
    'Send a name with at least one visible character.',
  ),
  invalid_delegation: invalid(
    'The delegation is not from a human to an agent, or ends before it starts.',
    'Correct `details.field`.',
    {
      refused:
        'POST /delegations {"humanPrincipalId":"<humanId>","agentPrincipalId":"<agentId>","startsAt":"2026-12-02","expiresAt":"2026-12-01"}',
      right:
        'POST /delegations {"humanPrincipalId":"<humanId>","agentPrincipalId":"<agentId>","startsAt":"2026-12-01","expiresAt":"2026-12-02"}',
    },
  ),
  rate_limited: errorRow(
    429,
    'Too many requests.',
    'Wait for `Retry-After`, then retry with the same Idempotency-Key and at a lower rate.',
  ),
  policy_unavailable: unavailable(
    'The external decision point cannot be reached.',
    'Retry after `Retry-After`; nothing was changed. The cause is in the log.',
  ),
  verification_unavailable: unavailable(
    'The signing keys of identity cannot be loaded.',
    'Retry after `Retry-After` with the same token. If this persists, have the operator check that identity is reachable.',
  ),
  secret_store_unavailable: unavailable(
    'The secret store does not respond, or none is set up.',
    'Retry later. If none is set up, have the operator set `CP_SECRET_STORE_URL`.',
  ),
  entitlement_unavailable: unavailable(
    'The license service does not respond.',
    'Retry later with the same Idempotency-Key.',
  ),
  fresh_sign_in_required: forbidden(
    'The caller did not sign in with a passkey or through a provider within the last 300 seconds, or that session has ended.',
    'Sign in again, and repeat the call with the new access token. A personal access token or an API key does not count as a sign-in, and a provider must state the time of the sign-in (`auth_time`).',
  ),
  identity_administration_not_configured: conflict(
    "No service credential for identity's administration is configured.",
    'Use the admin secret, or have the operator set `CP_IDENTITY_ADMIN_CREDENTIAL_FILE` and `IAM_DELEGATION_CREDENTIAL_FILE`.',
  ),
  identity_administration_unavailable: unavailable(
    'Identity did not issue the token: it does not respond, or rejects the service credential of coordination.',
    'Retry after `Retry-After`. If the problem persists, compare `CP_IDENTITY_ADMIN_CREDENTIAL_FILE` with `IAM_DELEGATION_CREDENTIAL_FILE`; the log of the service contains the reason.',
  ),
  already_admitted: conflict(
    'The identity is or was bound to a principal, with another access role or with a binding or principal that is no longer active.',
    'Change the access of `details.principalId` with `PUT /principals/{id}/access`, or bind the identity again with `POST /principals/{id}/iam-bindings`.',
  ),
  self_admission_refused: forbidden(
    'No rule of the tenant admits this person: none exists for the provider and role, or the person was admitted before and lost their access.',
    'Contact an administrator, who can allow a provider to admit people with `PUT /admission-rules/{identityProvider}`.',
  ),
  identity_token_required: conflict(
    'The rule applies to the tenant of the caller in identity, and the caller has none.',
    'Use an access token of identity instead of an API key.',
  ),
  admission_role_not_allowed: invalid(
    'People whom a provider admits automatically cannot get `admin`.',
    'Choose an access role without `admin`, and give it to administrators by hand.',
  ),
  admission_rule_elsewhere: conflict(
    'Another tenant already has a rule for this provider of the same tenant in identity.',
    'Remove the rule there first: the people of a provider are admitted to one tenant.',
  ),
  admission_rule_limit: conflict(
    'The tenant has the maximum number of admission rules.',
    'Delete a rule that is no longer needed; `details.max` is the maximum.',
  ),
  ...lowerErrors,
} as const satisfies ErrorTable;

export type ErrorCode = keyof typeof errors;

/** Refuses the request with one of these codes; `reason` goes to the log only. */
export const fail: Fail<ErrorCode> = refuse;
