// Runs the package `oidc-provider` in a separate process for browser tests: people sign in by clicking their name.
import { randomBytes } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import Provider, { type Configuration } from 'oidc-provider';

const { REDIRECT_URI = '', CLIENT_SECRET = '', ID_TOKEN_SECONDS = '300', HAS_REFRESH = '' } = process.env;
const people = ['ada', 'bob', 'eve'];

console.info = console.error;
console.warn = console.error;

const client = { redirect_uris: [REDIRECT_URI], grant_types: ['authorization_code', 'refresh_token'] };
const configuration: Configuration = {
  clients: [
    { ...client, client_id: 'console', client_secret: CLIENT_SECRET },
    { ...client, client_id: 'console-public', token_endpoint_auth_method: 'none' },
  ],
  ttl: { Interaction: 60, Grant: 600, Session: 600, RefreshToken: 600, IdToken: Number(ID_TOKEN_SECONDS) },
  cookies: { keys: [randomBytes(32).toString('hex')] },
  claims: { openid: ['sub'], profile: ['name'], email: ['email', 'email_verified'] },
  conformIdTokenClaims: false,
  pkce: { required: () => true },
  issueRefreshToken: () => HAS_REFRESH !== '',
  interactions: { url: (_ctx, { uid }) => `/interaction/${uid}` },
  features: { devInteractions: { enabled: false } },
  findAccount: (_ctx, accountId) => ({
    accountId,
    claims: () => ({
      sub: accountId,
      name: accountId,
      email: `${accountId}@example.com`,
      email_verified: true,
    }),
  }),
  // Grants consent without a dialogue.
  async loadExistingGrant({ oidc: { client, session, provider: own } }) {
    const grant = new own.Grant({
      ...(client && { clientId: client.clientId }),
      ...(session?.accountId && { accountId: session.accountId }),
    });
    grant.addOIDCScope('openid profile email');
    await grant.save();
    return grant;
  },
};

let provider: Provider;
async function serve(req: IncomingMessage, res: ServerResponse): Promise<void> {
  const url = new URL(req.url ?? '/', 'http://provider');
  const [, uid] = /^\/interaction\/([\w-]+)/.exec(url.pathname) ?? [];
  if (uid === undefined) return provider.callback()(req, res);
  const who = url.searchParams.get('as');
  if (who !== null)
    return provider.interactionFinished(
      req,
      res,
      people.includes(who)
        ? { login: { accountId: who, amr: ['pwd'] } }
        : { error: 'access_denied', error_description: 'refused' },
    );
  const links = [...people, 'nobody'].map(
    (name) => `<p><a href="/interaction/${uid}?as=${name}">${name}</a>`,
  );
  res.setHeader('content-type', 'text/html; charset=utf-8');
  res.end(`<!doctype html><title>Provider</title><h1>Who are you?</h1>${links.join('')}`);
}

const server = createServer((req, res) => void serve(req, res));
server.listen(0, '127.0.0.1', () => {
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  provider = new Provider(issuer, configuration);
  console.log(`issuer ${issuer}`);
});
process.once('SIGTERM', () => {
  server.close();
  server.closeAllConnections();
});
