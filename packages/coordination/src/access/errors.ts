import { type ErrorTable, type Fail, refuse } from '@baton/kernel/http/refusal';
import { errors as lowerErrors } from '../leases/errors.ts';
import { conflict, forbidden, invalid, renewCredential, retryLater, row } from '../service/error-rows.ts';

/** The codes of this layer, and of those below it: status, when a client meets the code, what it does. */
export const errors = {
  invalid_credentials: row(
    401,
    renewCredential,
  )('The credential is missing, wrong, over, or not admitted here.'),
  scope_not_granted: forbidden('The token carries no scope of this service.'),
  purpose_ref_required: forbidden('A token for decisions names the approval that it is for.'),
  not_entitled: forbidden('The licence does not cover this part of the service.'),
  outside_purpose: forbidden('The token is for approving or rejecting one approval, and for nothing else.'),
  permission_escalation: forbidden('Nobody grants permissions that they lack themselves.'),
  visibility_escalation: forbidden('Who sees own workspaces only lets nobody see the whole tenant.'),
  principal_not_active: { ...forbidden('The principal is paused or disabled.'), otherStatus: 422 },
  bootstrap_disabled: forbidden('No bootstrap secret is configured.'),
  iam_identity_bound_elsewhere: conflict('The identity is bound in another tenant.'),
  cannot_disable_self: conflict('Nobody disables themselves.'),
  use_agent_retire: conflict('The principal is an agent of the registry, which is retired instead.'),
  use_agent_publish: conflict('The principal is an agent of the registry, which decides whether it acts.'),
  agent_identity_conflict: conflict('The identity or the principal belongs to an agent of the registry.'),
  principal_managed_by_registry: conflict('The principal is named by the registry of agents.'),
  principal_kind_not_disableable: invalid('A service principal is not disabled by this call.'),
  principal_kind_not_enableable: invalid('A service principal is not enabled by this call.'),
  permissions_not_allowed_for_kind: invalid('admin and approvals.decide are for humans only.'),
  visibility_requires_human: invalid('Agents and services always see the whole tenant.'),
  iam_issuer_untrusted: invalid('The issuer is not the configured one.'),
  invalid_kind: invalid('The kind of principal is unknown.'),
  invalid_permissions: invalid('A permission is unknown.'),
  invalid_display_name: invalid('The display name is blank.'),
  invalid_delegation: invalid('A delegation goes from a human to an agent and ends after it starts.'),
  rate_limited: row(429, retryLater)('Too many requests.'),
  policy_unavailable: row(503, retryLater)('The decision point cannot be asked who may do this.'),
  verification_unavailable: row(503, retryLater)('The signing keys of identity cannot be had.'),
  secret_store_unavailable: row(503, retryLater)('The store of secrets gives no answer, or none is set up.'),
  entitlement_unavailable: row(503, retryLater)('The licence service gives no answer.'),
  ...lowerErrors,
} as const satisfies ErrorTable;

export type ErrorCode = keyof typeof errors;

/** Refuses the request with one of these codes; `reason` goes to the log only. */
export const fail: Fail<ErrorCode> = refuse;
