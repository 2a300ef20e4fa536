import { type ErrorTable, type Fail, refuse } from '@baton/kernel/http/refusal';
import { errors as lowerErrors } from '../directory/errors.ts';
import { absent, code, exists, invalid } from '../service/error-rows.ts';

/** The codes of this layer, and of those below it: status, when a client meets the code, what it does. */
export const errors = {
  credential_not_found: absent('The tenant has no such token.'),
  credential_not_active: code(409, 'The token is revoked or expired.', 'Issue another token.'),
  credential_conflict: code(
    409,
    'Another token got in the way while this one was made.',
    'Retry with the same Idempotency-Key.',
  ),
  credential_exists: exists('A token with this prefix or this hash exists.'),
  principal_kind_not_allowed: invalid('Only humans and agents get tokens; services use client credentials.'),
  expiry_too_long: invalid('The token would live longer than the allowed maximum.'),
  invalid_credential_material: invalid('The prefix or the hash of the key is not hexadecimal.'),
  compatibility_window_too_long: invalid('The imported key would live longer than the allowed maximum.'),
  rate_limited: code(
    429,
    'Too many wrong secrets were presented for this credential, or from this address.',
    'Retry after the seconds that Retry-After names.',
  ),
  ...lowerErrors,
} as const satisfies ErrorTable;

export type ErrorCode = keyof typeof errors;

/** Refuses the request with one of these codes; `reason` goes to the log only. */
export const fail: Fail<ErrorCode> = refuse;
