import {
  conflict,
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
  identity_provider_unavailable: unavailable(
    'The identity provider does not respond, and its keys are too old to use.',
    'Retry after `Retry-After`. If this persists, check that the service can reach the JWKS address of the provider.',
  ),
  ...lowerErrors,
} as const satisfies ErrorTable;

export type ErrorCode = keyof typeof errors;

/** Refuses the request with one of these codes; `reason` goes to the log only. */
export const fail: Fail<ErrorCode> = refuse;
