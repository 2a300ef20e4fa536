import { conflict, errorRow, invalid, notFound } from '@baton/kernel/http/error-rows';
import { type ErrorTable, type Fail, refuse } from '@baton/kernel/http/refusal';
import { errors as lowerErrors } from '../directory/errors.ts';

/** The codes of this layer and of those below it. */
export const errors = {
  credential_not_found: notFound(
    'The tenant has no such token.',
    'Check the id with `GET …/platform-access-tokens`; provisioning tokens are listed under their source.',
  ),
  credential_not_active: conflict(
    'The token is revoked or expired.',
    'Issue a new token; only a valid one can be rotated.',
  ),
  credential_conflict: conflict(
    'Another token was issued at the same time.',
    'Retry with the same Idempotency-Key.',
  ),
  credential_exists: conflict(
    'A token with this prefix or hash already exists.',
    'No action is needed if this import is a retry; otherwise check that the key was not issued twice.',
  ),
  principal_kind_not_allowed: invalid(
    'Only humans and agents get tokens; services use client credentials.',
    'Create a service account for the service: `POST …/service-accounts`.',
  ),
  expiry_too_long: invalid(
    'The token would live longer than allowed.',
    'Send an earlier expiry; the operator sets the maximum as `IAM_PAT_MAX_TTL_SECONDS`.',
  ),
  invalid_credential_material: invalid(
    'The prefix or the hash of the key is not hexadecimal.',
    'Send the SHA-256 of the key as 64 hexadecimal digits, and never the key itself.',
  ),
  compatibility_window_too_long: invalid(
    'The imported key would live longer than allowed.',
    'Send an earlier expiry: imported keys are meant for the transition only.',
  ),
  rate_limited: errorRow(
    429,
    'Too many wrong secrets were presented for this credential, or from this address.',
    'Wait for `Retry-After`, and stop the client that presents the wrong secret: each attempt extends the wait.',
  ),
  ...lowerErrors,
} as const satisfies ErrorTable;

export type ErrorCode = keyof typeof errors;

/** Refuses the request with one of these codes; `reason` goes to the log only. */
export const fail: Fail<ErrorCode> = refuse;
