import { badRequest, forbidden, unauthenticated } from '@baton/kernel/http/error-rows';
import { type ErrorTable, type Fail, refuse } from '@baton/kernel/http/refusal';
import { errors as lowerErrors } from '../credentials/errors.ts';

/** The codes of this layer and of those below it. */
export const errors = {
  invalid_token: unauthenticated(
    'The token is unknown, revoked or expired, or its tenant, membership or principal is not active; or an upstream token is malformed, or neither an ID nor an access token.',
    'Get a new token. For security, only the audit records of the tenant contain the reason.',
  ),
  invalid_assertion: unauthenticated(
    'No workload rule accepts the assertion: it is malformed or expired, has another issuer, audience, key or claims than a rule requires, was used before, or two rules accept it; or the rule, its provider, its tenant or its principal is not active.',
    'Get a new token from the platform with the audience of the identity provider, and compare its claims with the rules. For security the response gives no reason; the audit records of the tenant do.',
  ),
  invalid_client: unauthenticated(
    'The client is unknown or revoked, its secret is wrong, or its tenant, membership or principal is not active.',
    'Check the client id and its secret, or create a new service account. The audit records of the tenant show the reason.',
  ),
  audience_not_allowed: forbidden(
    'The credential does not allow the audience, or the audience is not active in the tenant.',
    'Request one of the audiences of the credential, or issue a credential that includes this one.',
  ),
  scope_not_allowed: forbidden(
    'A requested scope exceeds what the credential allows.',
    'Request fewer scopes, or issue a credential with a wider scope ceiling.',
  ),
  invalid_grant: badRequest(
    'The authorization code, refresh token or device code is unknown, expired or used, is of another client, or its grant was revoked; or the session in which the person decided has ended; or the code verifier or the redirect address is wrong.',
    'Request access again. A code that is used twice revokes its grant. So does a refresh token, unless its response was lost and you repeat the request within 30 s; store the new refresh token of every response.',
  ),
  authorization_pending: badRequest(
    'The person has not decided about the device yet.',
    'Poll again after `interval` seconds, until the code expires.',
  ),
  slow_down: badRequest(
    'The device polls faster than `interval` allows.',
    'Wait 5 seconds longer between two polls from now on (RFC 8628, section 3.5).',
  ),
  expired_token: badRequest(
    'The device code has expired before the person decided.',
    'Request a new device code and show its user code.',
  ),
  access_denied: badRequest(
    'The person refused the request of the device.',
    'Stop polling; request access again only when the person wants it.',
  ),
  unsupported_grant_type: badRequest(
    'The grant type is not one that the metadata of the authorization server lists.',
    'Send `grant_type=client_credentials`, the grant of RFC 8693 with a platform access token, or that of RFC 7523 with a token of a workload.',
    {
      refused: 'POST /oauth2/token grant_type=password&username=ada&password=…',
      right: 'POST /oauth2/token grant_type=client_credentials&client_id=…&client_secret=…',
    },
  ),
  unsupported_token_type: badRequest(
    'The token is an access token, which cannot be revoked by itself. It expires within minutes.',
    'Revoke the platform access token that it was exchanged for.',
  ),
  ...lowerErrors,
} as const satisfies ErrorTable;

export type ErrorCode = keyof typeof errors;

/** Refuses the request with one of these codes; `reason` goes to the log only. */
export const fail: Fail<ErrorCode> = refuse;
