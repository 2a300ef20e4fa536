import { randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { keepSecret } from '@baton/kernel/testing/leaks/leaks';
import { until } from '../../../testing/waiting.ts';

/** A fake Keycloak with both interfaces and a token endpoint, whose responses can be overridden. */

export interface Account {
  readonly id: string;
  readonly userName: string;
  active: boolean;
  createdMs: number;
  /** The fields as they were sent. */
  readonly sent: Record<string, unknown>;
}

export interface Outcome {
  readonly status: number;
  readonly headers?: Record<string, string>;
  readonly json?: unknown;
}

export type Interface = 'token' | 'scim' | 'admin';
/** Responds instead of the directory; `act` executes the request and returns the usual response. */
export type Override = (res: ServerResponse, act: () => Outcome) => unknown;

export interface Keycloak {
  readonly address: string;
  readonly host: string;
  readonly realm: string;
  readonly clientId: string;
  readonly clientSecret: string;
  readonly accounts: Account[];
  /** `POST scim`, `PUT admin`, `POST token`, in this order. */
  readonly requests: string[];
  /** Every access token that was issued. */
  readonly tokens: string[];
  /** The lifetime of the next access tokens. */
  expiresIn: number;
  /** Externally issued tokens that are also accepted. */
  readonly otherTokens: Set<string>;
  /** The responses of the interfaces from now on; an interface without one sends its usual response. */
  overrides: Partial<Record<Interface, Override>>;
  /** Refuses all access tokens that were issued so far. */
  revokeTokens(): void;
  accountOf(userName: string): Account | undefined;
  close(): Promise<void>;
}

export async function startKeycloak(): Promise<Keycloak> {
  const live = new Set<string>();
  const server = createServer((req, res) => void answer(req, res));
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  const host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  const keycloak: Keycloak = {
    address: `http://${host}/auth`,
    host,
    realm: 'people & co',
    clientId: 'baton',
    clientSecret: `secret/${randomUUID()}`,
    accounts: [],
    requests: [],
    tokens: [],
    expiresIn: 60,
    otherTokens: new Set(),
    overrides: {},
    revokeTokens: () => live.clear(),
    accountOf: (userName) => keycloak.accounts.find((account) => account.userName === userName),
    async close() {
      server.closeAllConnections();
      await new Promise<void>((done) => server.close(() => done()));
    },
  };
  keepSecret('client secret', keycloak.clientSecret);
  return keycloak;

  async function answer(req: IncomingMessage, res: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of req) chunks.push(chunk as Buffer);
    const body = Buffer.concat(chunks).toString();
    const url = new URL(req.url ?? '', 'http://keycloak');
    const realm = encodeURIComponent(keycloak.realm);
    const interfaces: [string, Interface, (rest: string) => Outcome][] = [
      [`/auth/realms/${realm}/protocol/openid-connect/token`, 'token', () => giveToken(req, body)],
      [`/auth/realms/${realm}/scim/v2/Users`, 'scim', (rest) => actScim(req, url, rest, body)],
      [`/auth/admin/realms/${realm}/users`, 'admin', (rest) => actAdmin(req, url, rest, body)],
    ];
    const [path, name, act] = interfaces.find(([start]) => url.pathname.startsWith(start)) ?? [];
    if (path === undefined || name === undefined || act === undefined) {
      keycloak.requests.push(`${req.method} ${url.pathname}`);
      return send(res, { status: 404 });
    }
    keycloak.requests.push(`${req.method} ${name}`);
    const rest = decodeURIComponent(url.pathname.slice(path.length).replace(/^\//, ''));
    const isOpen = () => {
      const token = (req.headers.authorization ?? '').replace(/^Bearer /, '');
      return live.has(token) || keycloak.otherTokens.has(token);
    };
    const perform = () => (name === 'token' || isOpen() ? act(rest) : { status: 401 });
    const override = keycloak.overrides[name];
    if (override === undefined) return send(res, perform());
    override(res, perform);
  }

  function giveToken(req: IncomingMessage, body: string): Outcome {
    const [id = '', secret = ''] = Buffer.from((req.headers.authorization ?? '').slice(6), 'base64')
      .toString()
      .split(':')
      .map(decodeURIComponent);
    const isRight = id === keycloak.clientId && secret === keycloak.clientSecret;
    if (!isRight || body !== 'grant_type=client_credentials')
      return { status: 401, json: { error: 'invalid_client' } };
    const token = `upstream-token-${randomUUID()}`;
    live.add(token);
    keycloak.tokens.push(token);
    return { status: 200, json: { access_token: token, expires_in: keycloak.expiresIn } };
  }

  function actScim(req: IncomingMessage, url: URL, id: string, body: string): Outcome {
    if (req.method === 'GET') {
      const name = JSON.parse(url.searchParams.get('filter')?.replace(/^userName eq /, '') ?? '""');
      const found = keycloak.accounts.filter(({ userName }) => userName === name);
      const resources = found.map(({ createdMs, ...account }) => ({
        ...account,
        meta: { created: new Date(createdMs).toISOString() },
      }));
      return { status: 200, json: { Resources: resources } };
    }
    const sent = JSON.parse(body);
    if (req.method === 'PATCH') return setActive(id, sent.Operations[0].value);
    const made = make(sent.userName, sent.active, sent);
    return made === undefined ? { status: 409 } : { status: 201, json: { id: made.id } };
  }

  function actAdmin(req: IncomingMessage, url: URL, id: string, body: string): Outcome {
    if (req.method === 'GET') {
      const found = keycloak.accounts.filter(({ userName }) => userName === url.searchParams.get('username'));
      const list = found.map((one) => ({
        id: one.id,
        username: one.userName,
        createdTimestamp: one.createdMs,
      }));
      return { status: 200, json: list };
    }
    const sent = JSON.parse(body);
    if (req.method === 'PUT') return setActive(id, sent.enabled);
    const made = make(sent.username, sent.enabled, sent);
    if (made === undefined) return { status: 409, json: { errorMessage: 'User exists with same username' } };
    return { status: 201, headers: { location: `http://${host}${url.pathname}/${made.id}` } };
  }

  function make(userName: string, active: boolean, sent: Record<string, unknown>): Account | undefined {
    if (keycloak.accountOf(userName) !== undefined) return undefined;
    const account = { id: randomUUID(), userName, active, createdMs: Date.now(), sent };
    keycloak.accounts.push(account);
    return account;
  }

  function setActive(id: string, active: boolean): Outcome {
    const account = keycloak.accounts.find((one) => one.id === id);
    if (account === undefined) return { status: 404 };
    account.active = active;
    return { status: 204 };
  }
}

export interface Barrier {
  /** Executes the request, and responds when the barrier is open. */
  readonly override: Override;
  /** Resolves when this many requests are queued. */
  reached(): Promise<void>;
  pass(): Promise<void>;
  open(): void;
}

/** Blocks requests until it is opened. It must open within five seconds, the timeout of an outgoing request. */
export function barrier(requests = 1): Barrier {
  const opened = Promise.withResolvers<void>();
  let waiting = 0;
  function pass(): Promise<void> {
    waiting += 1;
    return opened.promise;
  }
  return {
    reached: () => until(() => waiting >= requests, `${requests} requests at the barrier`),
    open: opened.resolve,
    pass,
    async override(res, act) {
      const outcome = act();
      await pass();
      send(res, outcome);
    },
  };
}

export function send(res: ServerResponse, { status, headers, json }: Outcome): void {
  res.writeHead(status, { 'content-type': 'application/json', ...headers });
  res.end(json === undefined ? undefined : JSON.stringify(json));
}
