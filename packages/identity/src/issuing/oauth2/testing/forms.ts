import type { Answer, TestIdentity } from '../../../testing/identity.ts';

export const accessTokenType = 'urn:ietf:params:oauth:token-type:access_token';
export const exchangeGrant = 'urn:ietf:params:oauth:grant-type:token-exchange';

/** Sends a form to an endpoint below `/oauth2`. */
export function sendForm(
  identity: TestIdentity,
  path: string,
  form: Record<string, string>,
  headers: Record<string, string> = {},
): Promise<Answer> {
  return identity.request('POST', `/oauth2/${path}`, {
    body: new URLSearchParams(form).toString(),
    headers: { 'content-type': 'application/x-www-form-urlencoded', ...headers },
  });
}

/** The header of client_secret_basic. */
export function basicOf({ clientId, clientSecret }: { clientId: string; clientSecret: string }) {
  const pair = `${encodeURIComponent(clientId)}:${encodeURIComponent(clientSecret)}`;
  return { authorization: `Basic ${Buffer.from(pair).toString('base64')}` };
}
