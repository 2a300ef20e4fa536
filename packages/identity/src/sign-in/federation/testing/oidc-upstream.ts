import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import Provider, { type Configuration } from 'oidc-provider';
import { type SigningPair, upstreamAudience } from './upstream.ts';

/** A user of the provider, and how the user signs in. */
export interface OidcUser {
  readonly accountId: string;
  readonly acr?: string;
  readonly amr?: string[];
  readonly groups?: string[];
}

/** A real OpenID provider (the package `oidc-provider`), which runs in this process. */
export interface OidcUpstream {
  readonly issuer: string;
  /** Runs the authorization code flow as a browser would. @returns the tokens that the client gets */
  signIn(user: OidcUser, more?: Record<string, string>): Promise<{ id_token: string; access_token: string }>;
  /** Replaces the signing key; the key document contains only the new one. */
  rotate(pair: SigningPair): void;
  close(): Promise<void>;
}

const redirectUri = 'https://baton.example/callback';
const clientSecret = 'secret-of-the-client-at-upstream';
export const resource = 'urn:baton:resource';

function configurationOf({ kid, alg, privateKey }: SigningPair, users: Map<string, OidcUser>): Configuration {
  const jwk = { ...privateKey.export({ format: 'jwk' }), kid, alg, use: 'sig' };
  return {
    jwks: { keys: [jwk] },
    clients: [
      {
        client_id: upstreamAudience,
        client_secret: clientSecret,
        redirect_uris: [redirectUri],
        id_token_signed_response_alg: alg as 'RS256',
      },
    ],
    ttl: { Interaction: 60, Grant: 60, Session: 60, AccessToken: 60, IdToken: 60, AuthorizationCode: 60 },
    cookies: { keys: ['a key of the tests'] },
    claims: { openid: ['sub', 'acr', 'amr', 'auth_time', 'groups'] },
    conformIdTokenClaims: false,
    pkce: { required: () => false },
    interactions: { url: (_ctx, interaction) => `/interaction/${interaction.uid}` },
    features: {
      devInteractions: { enabled: false },
      resourceIndicators: {
        enabled: true,
        getResourceServerInfo: () => ({
          scope: 'openid',
          audience: upstreamAudience,
          accessTokenFormat: 'jwt',
        }),
      },
    },
    findAccount: (_ctx, accountId) => ({
      accountId,
      claims: () => ({ sub: accountId, groups: users.get(accountId)?.groups }),
    }),
    // Grants consent without a dialogue.
    async loadExistingGrant({ oidc }) {
      const { client, session, provider } = oidc;
      const grant = new provider.Grant({
        ...(client && { clientId: client.clientId }),
        ...(session?.accountId && { accountId: session.accountId }),
      });
      grant.addOIDCScope('openid');
      grant.addResourceScope(resource, 'openid');
      await grant.save();
      return grant;
    },
  };
}

export async function startOidcUpstream(first: SigningPair): Promise<OidcUpstream> {
  const users = new Map<string, OidcUser>();
  let user: OidcUser = { accountId: 'nobody' };
  let provider: Provider;
  const server = createServer((req, res) => void serve(req, res));
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const rotate = (pair: SigningPair) => {
    provider = new Provider(issuer, configurationOf(pair, users));
  };
  rotate(first);

  async function serve(req: IncomingMessage, res: ServerResponse): Promise<void> {
    if (!req.url?.startsWith('/interaction/')) return provider.callback()(req, res);
    const { accountId, acr, amr } = user;
    const login = { accountId, ...(acr && { acr }), ...(amr && { amr }) };
    await provider.interactionFinished(req, res, { login }, { mergeWithLastSubmission: false });
  }

  /** Follows redirects with cookies. @returns the first address outside the provider */
  async function browse(start: string): Promise<URL> {
    const cookies = new Map<string, string>();
    let at = new URL(start);
    for (let step = 0; step < 10; step += 1) {
      const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ');
      const response = await fetch(at, { redirect: 'manual', headers: { cookie } });
      for (const line of response.headers.getSetCookie()) {
        const [name = '', value = ''] = (line.split(';', 1)[0] as string).split(/=(.*)/s);
        cookies.set(name, value);
      }
      const location = response.headers.get('location');
      if (location === null) throw new Error(`${response.status} ${at.pathname} ${await response.text()}`);
      at = new URL(location, at);
      if (at.origin !== issuer) return at;
    }
    throw new Error('too many redirects');
  }

  return {
    issuer,
    rotate,
    async signIn(who, more = {}) {
      user = who;
      users.set(who.accountId, who);
      const query = new URLSearchParams({
        client_id: upstreamAudience,
        redirect_uri: redirectUri,
        response_type: 'code',
        scope: 'openid',
        ...more,
      });
      const code = (await browse(`${issuer}/auth?${query}`)).searchParams.get('code') ?? '';
      const basic = Buffer.from(`${upstreamAudience}:${clientSecret}`).toString('base64');
      const response = await fetch(`${issuer}/token`, {
        method: 'POST',
        headers: { authorization: `Basic ${basic}` },
        body: new URLSearchParams({
          grant_type: 'authorization_code',
          code,
          redirect_uri: redirectUri,
          ...more,
        }),
      });
      if (!response.ok) throw new Error(await response.text());
      return (await response.json()) as { id_token: string; access_token: string };
    },
    close() {
      server.closeAllConnections();
      return new Promise((done) => server.close(() => done()));
    },
  };
}
