import { createHash, randomBytes } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { keepSecret } from '@baton/kernel/testing/leaks/leaks';

/** The token endpoint's response instead of tokens. */
export interface ProviderBehaviour {
  readonly status?: number;
  readonly body?: string;
  readonly headers?: Record<string, string>;
  readonly delayMs?: number;
  readonly hangsUp?: boolean;
  readonly tricklesEveryMs?: number;
  /** Fields in addition to the access token. */
  readonly more?: object;
}

/**
 * A provider that issues tokens by authorization code with PKCE, and rejects all requests that RFC 6749 and 7636 don't
 * allow.
 */
export interface TestProvider {
  readonly url: string;
  readonly host: string;
  readonly clientId: string;
  readonly clientSecret: string;
  readonly redirectUri: string;
  /** The settings of a service that uses it. */
  readonly settings: Record<string, string>;
  /** The issued tokens. */
  readonly given: string[];
  /** The paths of the requests to the token endpoint. */
  readonly asked: string[];
  behave(behaviour: ProviderBehaviour): void;
  /** Delays the responses of the provider until the promise resolves. */
  beforeAnswer?: () => Promise<void>;
  /** Simulates the person's consent at the address of the redirect. @returns the query of the redirect back */
  agree(authorizeUrl: string): { query: string; state: string; code: string };
  /** A connection type for this provider. */
  spec(more?: object): Record<string, unknown>;
  close(): Promise<void>;
}

export async function startProvider(style: 'in_params' | 'in_header' = 'in_params'): Promise<TestProvider> {
  const clientId = 'baton client: é&1';
  const clientSecret = `s+ %:${randomBytes(24).toString('base64url')}`;
  keepSecret('client secret', clientSecret);
  const redirectUri = 'http://127.0.0.1:9/api/v1/connections:callback';
  const codes = new Map<string, string>();
  const given: string[] = [];
  const asked: string[] = [];
  let behaviour: ProviderBehaviour = {};
  const server = createServer((req, res) => void answer(req, res).catch(() => res.destroy()));
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  const host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  const url = `http://${host}`;

  const provider: TestProvider = {
    url,
    host,
    clientId,
    clientSecret,
    redirectUri,
    settings: {
      CP_OUTBOUND_ALLOWED_HOSTS: JSON.stringify([host]),
      CP_OAUTH_REDIRECT_URI: redirectUri,
      CP_OAUTH_TIMEOUT_SECONDS: '1',
    },
    given,
    asked,
    behave(next) {
      behaviour = next;
    },
    agree(authorizeUrl) {
      const { searchParams: sent, origin, pathname } = new URL(authorizeUrl);
      const wanted = { response_type: 'code', client_id: clientId, redirect_uri: redirectUri };
      for (const [name, value] of Object.entries(wanted))
        if (sent.get(name) !== value) throw new Error(`${name} is ${sent.get(name)}`);
      if (sent.get('code_challenge_method') !== 'S256') throw new Error('no S256');
      if (origin !== url || pathname !== '/authorize') throw new Error(`sent to ${origin}${pathname}`);
      const [code, state] = [randomBytes(24).toString('base64url'), sent.get('state') as string];
      keepSecret('code of a provider', code);
      codes.set(code, sent.get('code_challenge') as string);
      return { query: `?${new URLSearchParams({ state, code, session_state: 'theirs' })}`, state, code };
    },
    spec: (more = {}) => ({
      displayName: 'Tracker',
      auth: ['oauth2', 'token'],
      oauth2: {
        authorizeUrl: `${url}/authorize?theirs=1`,
        tokenUrlTemplate: `${url}/token`,
        authStyle: style,
        scopes: ['read', 'write:issues'],
      },
      ...more,
    }),
    async close() {
      server.closeAllConnections();
      await new Promise((done) => server.close(done));
    },
  };
  return provider;

  async function answer(req: IncomingMessage, res: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of req) chunks.push(chunk as Buffer);
    asked.push(req.url ?? '');
    await provider.beforeAnswer?.();
    const { status, body, headers, delayMs, hangsUp, tricklesEveryMs, more } = behaviour;
    if (delayMs !== undefined) await sleep(delayMs, undefined, { ref: false });
    if (hangsUp) return void res.destroy();
    if (tricklesEveryMs !== undefined) {
      res.writeHead(200, { 'content-type': 'application/json' });
      const timer = setInterval(() => res.write(' '), tricklesEveryMs).unref();
      return void res.once('close', () => clearInterval(timer));
    }
    if (body !== undefined || status !== undefined)
      return send(res, status ?? 200, body ?? '{"error":"invalid_grant"}', headers);
    const fault = faultOf(req, new URLSearchParams(Buffer.concat(chunks).toString()));
    if (fault !== undefined) return send(res, 400, JSON.stringify({ error: 'invalid_grant', fault }));
    const token = randomBytes(32).toString('base64url');
    given.push(token);
    keepSecret('access token of a provider', token);
    return send(res, 200, JSON.stringify({ access_token: token, token_type: 'bearer', ...more }));
  }

  function faultOf(req: IncomingMessage, form: URLSearchParams): string | undefined {
    if (req.method !== 'POST') return 'method';
    if (req.headers['content-type'] !== 'application/x-www-form-urlencoded') return 'content type';
    if (req.headers.accept !== 'application/json') return 'accept';
    const basic = Buffer.from((req.headers.authorization ?? '').replace(/^Basic /, ''), 'base64').toString();
    const [id, secret] =
      style === 'in_header'
        ? basic.split(':').map((text) => new URLSearchParams(`x=${text}`).get('x'))
        : [form.get('client_id'), form.get('client_secret')];
    if (id !== clientId || secret !== clientSecret) return 'client';
    if (style === 'in_header' && form.has('client_secret')) return 'the secret is sent twice';
    if (form.get('grant_type') !== 'authorization_code') return 'grant type';
    if (form.get('redirect_uri') !== redirectUri) return 'redirect uri';
    const challenge = codes.get(form.get('code') ?? '');
    codes.delete(form.get('code') ?? '');
    if (challenge === undefined) return 'code';
    const verifier = form.get('code_verifier') ?? '';
    if (verifier.length < 43 || createHash('sha256').update(verifier).digest('base64url') !== challenge)
      return 'verifier';
    return undefined;
  }
}

function send(res: ServerResponse, status: number, body: string, headers: Record<string, string> = {}): void {
  res.writeHead(status, { 'content-type': 'application/json', ...headers }).end(body);
}
