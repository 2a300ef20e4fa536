import { InvalidRequest } from '@baton/kernel/refusal';
import { type Reply, reply } from '@baton/kernel/service';
import { sortedSet } from '../../service/fields.ts';
import type { Context } from '../context.ts';
import { fail } from '../errors.ts';
import { clientIdLengthMax } from '../exchange/exchange.ts';
import { exchangeClientCredentials } from '../exchange/exchanges.ts';
import type { OauthToken, OauthTokenRequest } from './oauth-token.ts';

/**
 * The standard form of the exchange of client credentials (RFC 6749, section 4.4; contract, section 20).
 * @throws Refusal `unsupported_grant_type`, `invalid_client`, `audience_not_allowed`, `scope_not_allowed`;
 * InvalidRequest for another media type, two ways to name the client, and no audience
 */
export async function grantOauthToken(context: Context, form: OauthTokenRequest): Promise<Reply<OauthToken>> {
  if (!isForm(String(context.headers['content-type'] ?? ''))) refuse('the body is no form');
  if (form.grant_type !== 'client_credentials') fail('unsupported_grant_type');
  const client = clientOf(context, form);
  const audience = form.audience ?? form.resource ?? '';
  if (audience === '' || (form.resource ?? audience) !== audience) refuse('exactly one audience is needed');
  const scopes = sortedSet((form.scope ?? '').split(' ').filter((scope) => scope !== ''));
  const granted = await exchangeClientCredentials(context, { ...client, audience, scopes });
  const token: OauthToken = {
    access_token: granted.accessToken,
    token_type: granted.tokenType,
    expires_in: granted.expiresIn,
    scope: scopes.join(' '),
  };
  // RFC 6749 asks for it beside `Cache-Control: no-store`.
  return reply(200, token, { pragma: 'no-cache' });
}

/** Names and values are escaped to ASCII, so every charset will do in which that is what it is in UTF-8. */
function isForm(contentType: string): boolean {
  const [media, ...parameters] = contentType.toLowerCase().split(';');
  const charset = parameters.map((one) => /^\s*charset\s*=\s*"?([^"]*?)"?\s*$/.exec(one)?.[1]).find(Boolean);
  const isAscii = charset === undefined || ['utf-8', 'us-ascii', 'iso-8859-1'].includes(charset);
  return isAscii && media?.trim() === 'application/x-www-form-urlencoded';
}

/** By client_secret_basic or client_secret_post, never by both. */
function clientOf({ headers }: Context, form: OauthTokenRequest): { clientId: string; clientSecret: string } {
  const { authorization } = headers;
  // Also what is left of two such headers: no client in the form makes up for it.
  if (authorization === '') refuseClient();
  if (typeof authorization !== 'string') {
    const { client_id: clientId = '', client_secret: clientSecret = '' } = form;
    return clientId === '' || clientSecret === '' ? refuseClient() : { clientId, clientSecret };
  }
  if (form.client_id !== undefined || form.client_secret !== undefined) refuse('the client is named twice');
  const encoded = /^Basic +([A-Za-z0-9+/]+=*)$/i.exec(authorization)?.[1] ?? refuseClient();
  const [, id = '', secret = ''] =
    /^([^:]*):(.*)$/s.exec(Buffer.from(encoded, 'base64').toString('utf8')) ?? [];
  const [clientId, clientSecret] = [decoded(id), decoded(secret)];
  // Only printable ASCII: no client has another id, and the database takes no NUL.
  const isClientId = /^[\x20-\x7e]+$/.test(clientId) && clientId.length <= clientIdLengthMax;
  return isClientId && clientSecret !== '' ? { clientId, clientSecret } : refuseClient();
}

function decoded(text: string): string {
  return new URLSearchParams(`x=${text.replaceAll('&', '%26')}`).get('x') ?? '';
}

function refuseClient(): never {
  return fail('invalid_client', {}, { reason: 'no client credentials' });
}

function refuse(message: string): never {
  throw new InvalidRequest([{ in: 'body', path: [], type: 'invalid', message }]);
}
