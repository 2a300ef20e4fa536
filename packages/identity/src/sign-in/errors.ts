import { type ErrorTable, type Fail, refuse } from '@baton/kernel/http/refusal';
import { errors as lowerErrors } from '../issuing/errors.ts';
import { absent, code, exists, invalid, upstream } from '../service/error-rows.ts';

/** The codes of this layer, and of those below it: status, when a client meets the code, what it does. */
export const errors = {
  unsupported_algorithm: upstream('The upstream token is signed by an algorithm that is not accepted.'),
  unknown_signing_key: upstream('The upstream token names no key of its provider.'),
  invalid_signature: upstream('The signature of the upstream token does not fit.'),
  token_expired: upstream('The upstream token has expired.'),
  invalid_audience: upstream('The upstream token is meant for somebody else.'),
  missing_subject_claim: upstream('The upstream token does not say whom it is about.'),
  step_up_required: code(
    403,
    'The sign-in lacks an `acr` or `amr` that the provider is registered with.',
    'Sign in at the identity provider by a stronger method.',
  ),
  claim_not_allowed: code(
    403,
    'The upstream token lacks a claim that the provider is registered with (`requiredClaims`), or has another value.',
    'Use a token of an account, group or repository that the provider is registered for.',
  ),
  identity_disabled: code(403, 'The external identity is disabled.', 'Ask an administrator.'),
  principal_not_in_tenant: code(
    403,
    'The person is known, but not as a member of this tenant.',
    'Sign in to a tenant that has the person as a member.',
  ),
  identity_provider_not_found: absent(
    'The tenant has no such identity provider; for a sign-in: no active one.',
  ),
  external_identity_conflict: code(
    409,
    'The subject and the external id of the upstream token belong to different identities.',
    'Find out which of the two identities is the person; only an administrator can.',
  ),
  identity_provider_exists: exists('The tenant has an identity provider with this key or this issuer.'),
  population_managed_by_directory: code(
    409,
    "A `read_only` provider's people are kept by its own directory, not by a SCIM source.",
    'Let one of them keep the people: make the provider `managed`, or disable its SCIM source.',
  ),
  invalid_issuer: {
    ...invalid('The issuer of an identity provider is an http or https address.'),
    // An upstream token of another issuer.
    otherStatus: 401,
  },
  identity_provider_unavailable: code(
    503,
    'The identity provider does not answer, and its keys are too old to be used.',
    'Retry after the seconds that Retry-After names.',
  ),
  ...lowerErrors,
} as const satisfies ErrorTable;

export type ErrorCode = keyof typeof errors;

/** Refuses the request with one of these codes; `reason` goes to the log only. */
export const fail: Fail<ErrorCode> = refuse;
