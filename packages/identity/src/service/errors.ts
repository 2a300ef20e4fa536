import type { ErrorTable } from '@baton/kernel/http/refusal';
import { absent, code, invalid, malformed } from './error-rows.ts';

/** The codes that every layer may use: status, when a client meets the code, what it does. */
export const errors = {
  idempotency_key_required: malformed('Issuing and rotating a token needs an Idempotency-Key.'),
  not_found: absent('There is no such path here.'),
  method_not_allowed: code(
    405,
    'The path exists, but not for this method.',
    'Use a method that Allow names.',
  ),
  idempotency_key_reused: code(409, 'The key was used for another request.', 'Use a new key.'),
  request_too_large: code(
    413,
    'The body is larger than the route reads: 1 MiB, 64 KiB for a sign-in, 16 KiB on other routes without a credential in a header.',
    'Send less.',
  ),
  invalid_request: invalid(
    'The request has another form than the declared one; `detail` is a list of the problems.',
  ),
  validation_error: invalid(
    'A text holds a character that can not be stored; `detail` is a list of the problems.',
  ),
  internal_error: code(
    500,
    'A failure of ours, or no signing key is configured. `detail` holds no code.',
    'Report it with the request id.',
  ),
  unavailable: code(
    503,
    'The database can not be used now, or too many signatures are waiting.',
    'Retry after the seconds that Retry-After names.',
  ),
  unauthorized: code(401, 'The admin header is missing, empty or wrong.', 'Send the admin secret.'),
} as const satisfies ErrorTable;

export type ErrorCode = keyof typeof errors;
