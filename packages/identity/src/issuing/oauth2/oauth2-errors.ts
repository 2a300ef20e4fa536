import type { RenderedError } from '@baton/kernel/refusal';

/** What RFC 6749, section 5.2, and RFC 8707 call our refusals. */
const names: Readonly<Record<string, string>> = {
  invalid_client: 'invalid_client',
  unsupported_grant_type: 'unsupported_grant_type',
  audience_not_allowed: 'invalid_target',
  scope_not_allowed: 'invalid_scope',
  rate_limited: 'temporarily_unavailable',
  unavailable: 'temporarily_unavailable',
};

/** The same refusal in the envelope of RFC 6749. What it says is 400 there is 400 here. */
export function oauthError({ status, body, headers }: RenderedError): RenderedError {
  const { detail } = body as { detail: unknown };
  const known = typeof detail === 'string' ? names[detail] : 'invalid_request';
  return {
    status: status === 403 || status === 422 ? 400 : status,
    body: { error: known ?? (status < 500 ? 'invalid_request' : 'server_error') },
    headers: {
      ...headers,
      ...(status === 401 && { 'www-authenticate': 'Basic realm="iam"' }),
      'cache-control': 'no-store',
    },
  };
}
