import {
  conflict,
  errorRow,
  forbidden,
  invalid,
  notFound,
  unauthenticated,
  unavailable,
} from '@baton/kernel/http/error-rows';
import { type ErrorTable, type Fail, refuse } from '@baton/kernel/http/refusal';
import { errors as lowerErrors } from '../issuing/errors.ts';

/** The codes of this layer and of those below it. */
export const errors = {
  unsupported_algorithm: unauthenticated(
    'The upstream token is signed with an algorithm that is not accepted.',
    'Configure the identity provider to sign with RS256 or another algorithm that docs/reference/providers.md lists.',
  ),
  unknown_signing_key: unauthenticated(
    'The `kid` of the upstream token does not match a key of its provider.',
    'Sign in again: the provider may have rotated its keys. If this persists, check the registered JWKS address.',
  ),
  invalid_signature: unauthenticated(
    'The signature of the upstream token is wrong.',
    'Present the token exactly as the identity provider issued it.',
  ),
  token_expired: unauthenticated(
    'The upstream token has expired.',
    'Sign in at the identity provider again and present the new token at once.',
  ),
  invalid_audience: unauthenticated(
    'The upstream token has another audience.',
    'Request a token for the client id with which the provider is registered in Baton.',
  ),
  missing_subject_claim: unauthenticated(
    'The upstream token does not contain the claim that identifies the subject.',
    'Have the identity provider include the claim with which it is registered (`subjectClaim`).',
  ),
  step_up_required: forbidden(
    'The sign-in lacks an `acr` or `amr` that the registration of the provider requires.',
    'Sign in at the identity provider with a stronger method, for instance a second factor.',
  ),
  claim_not_allowed: forbidden(
    'The upstream token lacks a claim that the registration of the provider requires (`requiredClaims`), or has another value.',
    'Use a token of an account, group or repository that the registration allows.',
  ),
  identity_disabled: forbidden(
    'The external identity is disabled.',
    'Have an administrator or the directory enable the person again.',
  ),
  principal_not_in_tenant: forbidden(
    'The person is known, but is not a member of this tenant.',
    'Sign in to a tenant of which the person is a member, or have it added to this one.',
  ),
  identity_provider_not_found: notFound(
    'The tenant has no such identity provider or, for a sign-in, no active one.',
    'Check the key with `GET …/identity-providers`, and enable the provider if it is disabled.',
  ),
  external_identity_conflict: conflict(
    'The subject and the external id of the upstream token belong to different identities.',
    'Have an administrator determine which identity belongs to the person, and remove the other.',
  ),
  identity_provider_exists: conflict(
    'The tenant already has an identity provider with this key or this issuer.',
    'Change the existing one with `PATCH …/identity-providers/{key}`; an issuer can be registered only once.',
  ),
  too_many_identity_providers: conflict(
    'The tenant already has 200 identity providers, disabled ones included.',
    'Change one that is not used any more with `PATCH …/identity-providers/{key}`: its issuer can change while its `principalKind` is `human`.',
  ),
  population_managed_by_directory: conflict(
    'The people of a `read_only` provider are managed by its own directory, not by a SCIM source.',
    'Choose one of them: make the provider `managed`, or disable its SCIM source.',
  ),
  invalid_issuer: {
    ...invalid(
      'The issuer of an identity provider must be an http or https address.',
      'Register the issuer exactly as in the `iss` claim of its tokens. For a sign-in, present a token of the registered issuer.',
    ),
    // The status for an upstream token of another issuer.
    otherStatus: 401,
  },
  admission_pending: forbidden(
    'The person is unknown here: an administrator has to admit them. The response is the same for a new, a pending and a refused request.',
    'Wait until an administrator has admitted you, then sign in again. Administrators see requests in the inbox of the console, or with `GET …/sign-in-requests`.',
  ),
  sign_in_request_not_found: notFound(
    'The tenant has no such sign-in request.',
    'Check the id with `GET …/sign-in-requests`. A request that has ended is deleted when the person signs in again, which makes a new one.',
  ),
  sign_in_request_decided: conflict(
    'The sign-in request has already been decided differently.',
    'Read the request. A refused person can make another request after `expiresAt`; disable an admitted one with `POST …/principals/{principalId}:disable`.',
  ),
  sign_in_request_expired: conflict(
    'The sign-in request has expired.',
    'Have the person sign in again, which makes a new request.',
  ),
  sign_in_request_outdated: conflict(
    'The identity provider of the sign-in request is disabled, or its issuer has changed since.',
    'Enable the provider, or have the person sign in again at its new issuer.',
  ),
  linked_people_undecided: conflict(
    'The identity provider has linked people, and this request changes its issuer.',
    'Send `linkedPeople` as `move` if the new issuer is the same authority with the same subjects, else as `detach`.',
  ),
  issuer_not_changeable: conflict(
    'The issuer of an identity provider for programs cannot change, because its workload rules were checked for it.',
    'Register a provider for the new issuer, and create its rules there.',
  ),
  workload_rule_not_found: notFound(
    'The identity provider has no such workload rule.',
    'Check the keys of provider and rule with `GET …/identity-providers/{key}/workload-rules`.',
  ),
  workload_rule_exists: conflict(
    'The identity provider already has a workload rule with this key.',
    'Change the existing one with `PATCH …/workload-rules/{ruleKey}`, or choose another key.',
  ),
  too_many_workload_rules: conflict(
    'The identity provider already has 100 workload rules.',
    'Delete rules that are not used, or let one rule accept several values of a claim (`oneOf`).',
  ),
  workload_rules_too_wide: conflict(
    "After the change, strangers' tokens could match workload rules of the identity provider: their conditions fix no owner.",
    'Add a condition to each rule that fixes a subject or an owner (docs/reference/workload-identity.md#owners), or delete the rules, then change the provider.',
  ),
  workload_provider_required: conflict(
    'The tokens of the identity provider belong to people, not to workloads.',
    'Register a provider with `principalKind` `none`, or change this one, and add the rule there.',
  ),
  workload_principal_required: invalid(
    'A workload rule names an agent, a workload or a service account, never a person.',
    'Create a principal for the pipeline, and name that.',
  ),
  invalid_passkey: unauthenticated(
    'The passkey is unknown or was removed, its response is not valid, or its person may not sign in.',
    'Request new options and sign in again. For security the response gives no reason; the audit records of the tenant do.',
  ),
  invalid_invitation: unauthenticated(
    'The link is unknown, was used or revoked, or has expired; or its person may not sign in.',
    'Request a new link from the person who sent it. For security the response gives no reason; `GET …/invitations` shows it to an administrator.',
  ),
  fresh_sign_in_required: forbidden(
    'The person did not sign in with a passkey or through a provider within the last 300 seconds, or that session has ended.',
    'Have the person sign in again, and request the token within 300 seconds. A provider must state the time of the sign-in (`auth_time`); a personal access token does not count as a sign-in.',
  ),
  administration_token_not_found: notFound(
    'There is no such administration token.',
    'Check the id. An expired token is deleted, and needs no revocation.',
  ),
  passkey_not_found: notFound(
    'The person has no such passkey.',
    'Check the id with `GET …/principals/{principalId}/passkeys`; a removed passkey is not listed.',
  ),
  browser_session_not_found: notFound(
    'The person has no such browser session.',
    'Check the id with `GET …/principals/{principalId}/browser-sessions`; sessions that expired long ago are deleted.',
  ),
  invitation_not_found: notFound(
    'The tenant has no such invitation or recovery link.',
    'Check the id with `GET /tenants/{tenantId}/invitations`.',
  ),
  invitation_accepted: conflict(
    'The link was accepted, so it can no longer be revoked.',
    'Disable the person with `POST …/principals/{principalId}:disable`, or end their sessions and remove their passkeys.',
  ),
  too_many_invitations: conflict(
    'The tenant has as many open invitations and recovery links as allowed.',
    'Revoke those that are no longer needed; the operator sets the maximum as `IAM_INVITATIONS_OPEN_MAX`.',
  ),
  passkey_exists: conflict(
    'The passkey is registered already.',
    'Sign in with it, or create another one with new options.',
  ),
  too_many_passkeys: conflict(
    'The person has as many passkeys as allowed.',
    'Remove one that is no longer used; the operator sets the maximum as `IAM_PASSKEYS_PER_PERSON_MAX`.',
  ),
  last_passkey: conflict(
    'The passkey is the only way for the person to sign in.',
    'Add another passkey first. An administrator can remove it with `withLast=true`.',
  ),
  passkey_rejected: invalid(
    'The new passkey is not acceptable: its options have expired or were used, or it was created for another page, or without verification of the user.',
    'Request new options and create the passkey again, on a page whose origin is in `IAM_PASSKEY_ORIGINS`.',
  ),
  invalid_authorization_request: invalid(
    'The authorization request is unknown or has expired, is of a client of another tenant, or was decided before.',
    'Start again from the client: a request can be decided once, within 10 minutes.',
  ),
  invalid_user_code: invalid(
    'No device is waiting for this user code: it is unknown, has expired or has been decided.',
    'Compare the code with what the device shows, or have the device request a new one.',
  ),
  agent_not_connectable: forbidden(
    'The person may not connect clients as this agent.',
    'Have an administrator add the person with `PUT …/principals/{principalId}/connectors/{personId}`.',
  ),
  agent_connector_not_found: notFound(
    'The person is not a connector of the agent.',
    'Check the ids with `GET …/principals/{principalId}/connectors`.',
  ),
  agent_principal_required: invalid(
    'Connectors belong to an agent, and must be people.',
    'Name a principal of kind `agent` in the path, and a person as the connector.',
  ),
  too_many_connectors: conflict(
    'The agent already has 100 connectors.',
    'Remove people who no longer connect clients as the agent.',
  ),
  oauth_grant_not_found: notFound(
    'The person has granted nothing with this id to an OAuth client.',
    'Check the id with `POST /oauth-grants:list`.',
  ),
  oauth_client_not_found: notFound(
    'The tenant has no such registered OAuth client.',
    'Check the id with `GET /tenants/{tenantId}/oauth-clients`.',
  ),
  too_many_oauth_clients: conflict(
    'The tenant already has 100 registered OAuth clients.',
    'Delete clients that are no longer used.',
  ),
  too_many_device_codes: errorRow(
    429,
    'Too many device codes are pending for this address, or in total.',
    'Wait for `Retry-After`; a pending code expires after 10 minutes.',
  ),
  identity_provider_unavailable: unavailable(
    'The identity provider does not respond, and its keys are too old to use.',
    'Retry after `Retry-After`. If this persists, check that the service can reach the JWKS address of the provider.',
  ),
  ...lowerErrors,
} as const satisfies ErrorTable;

export type ErrorCode = keyof typeof errors;

/** Refuses the request with one of these codes; `reason` goes to the log only. */
export const fail: Fail<ErrorCode> = refuse;
