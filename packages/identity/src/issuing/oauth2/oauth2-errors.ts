import type { RenderedError } from '@baton/kernel/http/refusal';

/** Baton's codes mapped to those of RFC 6749 (5.2), RFC 8707, RFC 8693 (2.2.2) and RFC 7009 (2.2.1). */
const names: Readonly<Record<string, string>> = {
  invalid_client: 'invalid_client',
  // The token to exchange.
  invalid_token: 'invalid_request',
  // RFC 7521, section 4.1.1.
  invalid_assertion: 'invalid_grant',
  invalid_grant: 'invalid_grant',
  authorization_pending: 'authorization_pending',
  slow_down: 'slow_down',
  expired_token: 'expired_token',
  access_denied: 'access_denied',
  too_many_device_codes: 'slow_down',
  unsupported_grant_type: 'unsupported_grant_type',
  unsupported_token_type: 'unsupported_token_type',
  audience_not_allowed: 'invalid_target',
  scope_not_allowed: 'invalid_scope',
  rate_limited: 'temporarily_unavailable',
  unavailable: 'temporarily_unavailable',
};

/** The refusal in the format of RFC 6749, which uses status 400 where other endpoints use 403 or 422. */
export function oauthError({ status, body, headers }: RenderedError): RenderedError {
  const { detail, docs } = body as { detail: unknown; docs?: string };
  const known = typeof detail === 'string' ? names[detail] : 'invalid_request';
  const isPresented = detail === 'invalid_token' || detail === 'invalid_assertion';
  const isMalformed = status === 403 || status === 422 || isPresented;
  return {
    status: isMalformed ? 400 : status,
    body: {
      error: known ?? (status < 500 ? 'invalid_request' : 'server_error'),
      ...(docs !== undefined && { error_uri: docs }),
    },
    headers: {
      ...headers,
      ...(status === 401 && !isMalformed && { 'www-authenticate': 'Basic realm="iam"' }),
      'cache-control': 'no-store',
    },
  };
}
