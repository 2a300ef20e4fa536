import { InvalidRequest } from '@baton/kernel/http/refusal';
import type { Context } from '../context.ts';
import { fail } from '../errors.ts';
import type { ClientRow } from '../exchange/credential.ts';
import { clientIdLengthMax } from '../exchange/exchange.ts';
import { presentClient, resolveCredential } from '../exchange/resolve.ts';

/** The client credentials in a form or a header (RFC 6749, section 2.3.1). */
export interface PresentedClient {
  readonly clientId: string;
  readonly clientSecret: string;
}

interface ClientForm {
  readonly client_id?: string | undefined;
  readonly client_secret?: string | undefined;
}

/**
 * The client that authenticates with client_secret_basic or client_secret_post, never with both.
 * @throws Refusal `invalid_client` when none does; InvalidRequest when it uses both
 */
export function requireClient(context: Context, form: ClientForm): PresentedClient {
  return findClient(context, form) ?? refuseClient();
}

/**
 * The client of an endpoint at which authentication is optional; undefined if none is attempted. A public client sends
 * only a `client_id`.
 */
export function findClient({ headers }: Context, form: ClientForm): PresentedClient | undefined {
  const { authorization } = headers;
  // Two headers arrive as an empty one, too: client credentials in the form don't replace a header that is rejected.
  if (authorization === '') refuseClient();
  if (typeof authorization !== 'string') {
    const { client_id: clientId = '', client_secret: clientSecret = '' } = form;
    if (clientSecret === '') return undefined;
    // Checked only here: the id of a public client, which has no secret, may be longer.
    if (clientId.length > clientIdLengthMax) refuseForm('the client_id is too long');
    return clientId === '' ? refuseClient() : { clientId, clientSecret };
  }
  if (form.client_id !== undefined || form.client_secret !== undefined)
    refuseForm('the client authenticates twice');
  const encoded = /^Basic +([A-Za-z0-9+/]+=*)$/i.exec(authorization)?.[1] ?? refuseClient();
  const [, id = '', secret = ''] =
    /^([^:]*):(.*)$/s.exec(Buffer.from(encoded, 'base64').toString('utf8')) ?? [];
  const [clientId, clientSecret] = [decoded(id), decoded(secret)];
  // Only printable ASCII: client ids contain nothing else, and the database rejects NUL.
  const isClientId = /^[\x20-\x7e]+$/.test(clientId) && clientId.length <= clientIdLengthMax;
  return isClientId && clientSecret !== '' ? { clientId, clientSecret } : refuseClient();
}

/**
 * Checks the secret of a client that doesn't request a token for itself.
 * @throws Refusal `invalid_client`, `rate_limited`
 */
export function authenticateClient(context: Context, client: PresentedClient): Promise<ClientRow> {
  const presented = {
    ...presentClient(context, { ...client, audience: '', scopes: [] }),
    action: 'clients.authenticate' as const,
    reasonPrefix: 'oauth2',
  };
  // An empty key, which no audience has, means that no audience is requested.
  return resolveCredential(
    context,
    presented,
    context.clients.call({ clientId: client.clientId, audience: '' }),
  );
}

/** @throws InvalidRequest for a body whose media type is not that of a form */
export function requireForm({ headers }: Context): void {
  if (!isForm(String(headers['content-type'] ?? ''))) refuseForm('the body is not a form');
}

/** Names and values are escaped to ASCII, so every charset is accepted that contains ASCII unchanged. */
function isForm(contentType: string): boolean {
  const [media, ...parameters] = contentType.toLowerCase().split(';');
  const charset = parameters.map((one) => /^\s*charset\s*=\s*"?([^"]*?)"?\s*$/.exec(one)?.[1]).find(Boolean);
  const isAscii = charset === undefined || ['utf-8', 'us-ascii', 'iso-8859-1'].includes(charset);
  return isAscii && media?.trim() === 'application/x-www-form-urlencoded';
}

function decoded(text: string): string {
  return new URLSearchParams(`x=${text.replaceAll('&', '%26')}`).get('x') ?? '';
}

function refuseClient(): never {
  return fail('invalid_client', {}, { reason: 'no client credentials' });
}

export function refuseForm(message: string): never {
  throw new InvalidRequest([{ in: 'body', path: [], type: 'invalid', message }]);
}
