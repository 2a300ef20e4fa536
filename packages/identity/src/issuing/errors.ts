import { type ErrorTable, type Fail, refuse } from '@baton/kernel/http/refusal';
import { errors as lowerErrors } from '../credentials/errors.ts';
import { code, credential, forbidden } from '../service/error-rows.ts';

/** The codes of this layer, and of those below it: status, when a client meets the code, what it does. */
export const errors = {
  invalid_token: credential(
    'The token is unknown, revoked or expired, or its tenant, membership or principal is not active; an upstream token is malformed, or neither an ID nor an access token.',
  ),
  invalid_client: credential(
    'The client is unknown or revoked, its secret is wrong, or its tenant, membership or principal is not active.',
  ),
  audience_not_allowed: forbidden(
    'The credential does not name the audience, or it is not an active audience of the tenant.',
  ),
  scope_not_allowed: forbidden('A scope that was asked for lies outside of what the credential may have.'),
  unsupported_grant_type: code(
    400,
    'The grant type is neither client_credentials nor token exchange.',
    'Send `grant_type=client_credentials`, or the grant of RFC 8693 with a platform access token.',
  ),
  unsupported_token_type: code(
    400,
    'The token is an access token, which can not be revoked by itself. It expires within minutes.',
    'Revoke the platform access token that it was exchanged for.',
  ),
  ...lowerErrors,
} as const satisfies ErrorTable;

export type ErrorCode = keyof typeof errors;

/** Refuses the request with one of these codes; `reason` goes to the log only. */
export const fail: Fail<ErrorCode> = refuse;
