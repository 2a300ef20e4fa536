import {
  badRequest,
  conflict,
  errorRow,
  invalid,
  notFound,
  unauthenticated,
  unavailable,
} from '@baton/kernel/http/error-rows';
import type { ErrorTable } from '@baton/kernel/http/refusal';

/** The codes that every layer may use. */
export const errors = {
  idempotency_key_required: badRequest(
    'Issuing and rotating a token needs an Idempotency-Key.',
    'Generate a key, for instance a UUID, and send the same one with each retry.',
    {
      refused: 'POST /tenants/{tenantId}/platform-access-tokens/{credentialId}:rotate {}',
      right:
        'POST /tenants/{tenantId}/platform-access-tokens/{credentialId}:rotate {}\nIdempotency-Key: 0b1e6a5c-9d7f-4a53-8a0e-5d6f0c1b2a3e',
    },
  ),
  not_found: notFound(
    'The path does not exist.',
    'Check the address: paths start with `/api/v1` (in the default run `/iam/api/v1`), `/oauth2` or `/scim/v2`.',
  ),
  method_not_allowed: errorRow(
    405,
    'The path exists, but does not support this method.',
    'Use one of the methods in the `Allow` header.',
  ),
  idempotency_key_reused: conflict(
    'The Idempotency-Key was used for a different request.',
    'Generate a new key for each token, and reuse it only to retry the unchanged request.',
  ),
  request_too_large: errorRow(
    413,
    'The body is larger than the route accepts: 1 MiB, 64 KiB for a sign-in, 16 KiB on other routes without a credential in a header.',
    'Send a smaller body. Split a SCIM request into several.',
  ),
  invalid_request: invalid(
    'The request does not match the declared schema; `detail` is a list of the problems.',
    'Correct each problem: `loc` is the location and `msg` the rule. Unknown fields are rejected, so check the spelling.',
    {
      refused: 'POST /tenants {"slug":"acme"}',
      right: 'POST /tenants {"slug":"acme","name":"Acme"}',
    },
  ),
  validation_error: invalid(
    'A string contains a character that cannot be stored; `detail` is a list of the problems.',
    'Remove NUL characters and unpaired surrogates from the value at `loc`.',
  ),
  internal_error: errorRow(
    500,
    'The service failed unexpectedly, or has no signing key. `detail` is not a code.',
    'Report the `X-Request-Id` of the response, with which the operator can find the cause in the log.',
  ),
  unavailable: unavailable(
    'The database is unavailable, or too many signatures are queued.',
    'Wait for `Retry-After`, then send the request again.',
  ),
  unauthorized: unauthenticated(
    'The admin secret is missing or wrong.',
    'Send the admin secret (`IAM_BOOTSTRAP_TOKEN`) as `X-IAM-Bootstrap-Token`.',
    { refused: 'GET /tenants', right: 'GET /tenants\nX-IAM-Bootstrap-Token: …' },
  ),
} as const satisfies ErrorTable;

export type ErrorCode = keyof typeof errors;
