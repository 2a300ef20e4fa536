import { randomBytes } from 'node:crypto';
import { rm, writeFile } from 'node:fs/promises';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createPool, type Pool } from '@baton/kernel/database/db';
import { sql } from '@baton/kernel/database/sql';
import { createListener, openPort } from '@baton/kernel/listener/listener';
import { createLog } from '@baton/kernel/process/log';
import { createTestDatabase } from '@baton/kernel/testing/database/database';
import { keepMessage, keepSecret } from '@baton/kernel/testing/leaks/leaks';
import { recordTruth } from '@baton/kernel/testing/truth/truth';
import { newId } from '@baton/values/ids';
import { createCoordination } from '../app/app.ts';
import { foundTenant } from '../app/bootstrap/found-tenant.ts';
import { endpoints } from '../app/endpoints.ts';
import { enterEpoch } from '../ledger/epoch/epoch.ts';
import { type Permission, permissionNames } from '../service/permissions.ts';
import { findUndeclaredEvents } from './app/event-catalog.ts';
import { startIssuer, type TestIssuer } from './issuer.ts';
import { journalWaitMsMax } from './ledger/journal-writer.ts';

export interface Answer {
  status: number;
  // A test reads the fields that it expects; a different shape fails its assertion.
  // biome-ignore lint/suspicious/noExplicitAny: the tests inspect the form of the response
  body: any;
  headers: Headers;
}

export interface Actor {
  principalId: string;
  iamPrincipalId: string;
  tenantId: string;
  token: string;
  /** Calls below `/api/v1` with the actor's token. */
  get(path: string, headers?: Record<string, string>): Promise<Answer>;
  post(path: string, body?: unknown, headers?: Record<string, string>): Promise<Answer>;
  put(path: string, body?: unknown, headers?: Record<string, string>): Promise<Answer>;
  patch(path: string, body: unknown, headers?: Record<string, string>): Promise<Answer>;
  delete(path: string, headers?: Record<string, string>): Promise<Answer>;
}

export interface ActorOptions {
  kind?: 'human' | 'agent' | 'service';
  permissions?: readonly Permission[];
  scopes?: readonly string[];
  tenantId?: string;
}

export type SendRequest = (
  method: string,
  path: string,
  init?: { token?: string; body?: unknown; headers?: Record<string, string> },
) => Promise<Answer>;

export interface TestCoordination {
  readonly url: string;
  readonly tenantId: string;
  /** A second tenant, which no endpoint could have created. */
  readonly otherTenantId: string;
  readonly admin: Actor;
  readonly otherAdmin: Actor;
  readonly issuer: TestIssuer;
  /** The database itself, for state that no endpoint can set up or return. */
  readonly pool: Pool;
  readonly databaseUrl: string;
  readonly env: Readonly<Record<string, string>>;
  actor(options?: ActorOptions): Promise<Actor>;
  readonly request: SendRequest;
  /** Another process of the same service on the same store. */
  another(env?: Record<string, string>): Promise<{ url: string; close(): Promise<void> }>;
  close(): Promise<void>;
}

const allScopes = ['control-plane:read', 'control-plane:write', 'control-plane:admin'];
export const migrationsDirectory = join(import.meta.dirname, '../../migrations');
export const bootstrapToken = 'bootstrap-secret-of-the-tests';

/** The whole service over HTTP on its own store, with an administrator in each of two tenants. */
export async function startCoordination(settings: Record<string, string> = {}): Promise<TestCoordination> {
  recordTruth('coordination', endpoints);
  keepSecret('bootstrap secret', bootstrapToken);
  const database = await createTestDatabase(migrationsDirectory);
  const issuer = await startIssuer();
  const keyFile = await makeKeyFile();
  const env = {
    CP_DATABASE_URL: database.url,
    CP_IAM_ISSUER: issuer.issuer,
    CP_IAM_JWKS_URL: issuer.jwksUrl,
    CP_BOOTSTRAP_TOKEN: bootstrapToken,
    CP_LOG_LEVEL: 'error',
    CP_ARTIFACT_FOLDER: join(tmpdir(), `baton-contents-${newId()}`),
    CP_SECRET_STORE_KEY_FILE: keyFile,
    ...settings,
  };
  const pool = createPool({
    url: database.url,
    connectionsMax: 5,
    applicationName: 'test',
    statementTimeoutMs: 30_000,
    lockTimeoutMs: 30_000,
    // A test may wait inside a transaction as long as other databases of the cluster hold back the journal.
    idleInTransactionTimeoutMs: journalWaitMsMax + 10_000,
    transactionTimeoutMs: journalWaitMsMax + 10_000,
    async onConnect(db) {
      await enterEpoch(db);
    },
    onError: () => undefined,
  });
  const closers: (() => Promise<void>)[] = [];
  const { url } = await listen(env, closers);

  const found = (slug: string) =>
    foundTenant(pool, { tenantSlug: slug, tenantName: slug, adminDisplayName: `Administrator of ${slug}` });
  const [first, second] = [await found('first'), await found('second')];
  const request: SendRequest = (method, path, init) => sendRequest(`${url}${path}`, method, init);
  const actors = createActors(pool, issuer, request);

  return {
    url,
    tenantId: first.tenantId,
    otherTenantId: second.tenantId,
    admin: await actors.bind(first.adminPrincipalId, { kind: 'human', tenantId: first.tenantId }),
    otherAdmin: await actors.bind(second.adminPrincipalId, { kind: 'human', tenantId: second.tenantId }),
    issuer,
    pool,
    databaseUrl: database.url,
    env,
    request,
    actor: (options = {}) => actors.create({ tenantId: first.tenantId, ...options }),
    another: (more = {}) => listen({ ...env, ...more }, closers),
    async close() {
      for (const close of closers.reverse()) await close();
      const undeclared = await findUndeclaredEvents(pool);
      await pool.close();
      await issuer.close();
      await database.drop();
      await rm(env.CP_ARTIFACT_FOLDER, { recursive: true, force: true });
      await rm(keyFile);
      if (undeclared.length > 0)
        throw new Error(`Written and declared events differ:\n${undeclared.join('\n')}`);
    },
  };
}

/** A key that encrypts secrets. */
async function makeKeyFile(): Promise<string> {
  const key = randomBytes(32).toString('base64');
  keepSecret('key of the secret store', key);
  const file = join(tmpdir(), `baton-secret-store-keys-${newId()}`);
  await writeFile(file, `${key}\n`, { mode: 0o600 });
  return file;
}

export async function sendRequest(
  url: string,
  method: string,
  { token, body: content, headers: given }: Parameters<SendRequest>[2] = {},
): Promise<Answer> {
  const headers: Record<string, string> = { ...given };
  if (token !== undefined) headers['authorization'] = `Bearer ${token}`;
  if (content !== undefined) headers['content-type'] ??= 'application/json';
  const body = typeof content === 'string' || content === undefined ? content : JSON.stringify(content);
  const response = await fetch(url, { method, headers, ...(body === undefined ? {} : { body }) });
  const text = await response.text();
  keepMessage(headers, body);
  keepMessage({}, text);
  const isJson = response.headers.get('content-type')?.includes('json') === true && text !== '';
  return { status: response.status, body: isJson ? JSON.parse(text) : text, headers: response.headers };
}

/** A person's sign-in is fresh for as long as the longest test takes. */
const usualAuthTime = () => new Date(Date.now() + 3_600_000).toISOString();

type ActorInTenant = ActorOptions & { tenantId: string };

/** Creates principals that call the service with tokens of the test issuer. */
function createActors(pool: Pool, issuer: TestIssuer, request: SendRequest) {
  async function bind(principalId: string, options: ActorInTenant): Promise<Actor> {
    const { tenantId } = options;
    const iamPrincipalId = newId();
    const permissions =
      options.permissions ??
      permissionNames.filter(
        (name) => options.kind === 'human' || !['admin', 'approvals.decide'].includes(name),
      );
    await pool.run(sql`
      insert into iam_bindings (id, tenant_id, principal_id, issuer, iam_tenant_id, iam_principal_id, permissions)
      values (${newId()}, ${tenantId}, ${principalId}, ${issuer.issuer}, ${tenantId}, ${iamPrincipalId}, ${permissions})`);
    const scope = options.scopes ?? allScopes;
    const token = await issuer.sign({
      sub: iamPrincipalId,
      tenant_id: tenantId,
      scope,
      ...(options.kind === 'human' && { credential_id: newId(), auth_time: usualAuthTime() }),
    });
    const call =
      (method: string) =>
      (path: string, body?: unknown, headers: Record<string, string> = {}) =>
        request(method, `/api/v1${path}`, { token, headers, ...(body === undefined ? {} : { body }) });
    return {
      principalId,
      iamPrincipalId,
      tenantId,
      token,
      get: (path, headers) => call('GET')(path, undefined, headers),
      post: call('POST'),
      put: call('PUT'),
      patch: call('PATCH'),
      delete: (path, headers) => call('DELETE')(path, undefined, headers),
    };
  }

  return {
    bind,
    async create({ kind = 'agent', ...options }: ActorInTenant): Promise<Actor> {
      const principalId = newId();
      await pool.run(sql`
        insert into principals (id, tenant_id, kind, display_name)
        values (${principalId}, ${options.tenantId}, ${kind}, ${`${kind} ${principalId.slice(-6)}`})`);
      return bind(principalId, { ...options, kind });
    },
  };
}

/** The leak test gets every line; only errors are printed. */
function printErrors(line: string): void {
  if (line.startsWith('{"level":"error"')) process.stdout.write(line);
}

/** One process of the service. */
export async function listen(
  env: Record<string, string>,
  closers: (() => Promise<void>)[],
  log = createLog({ name: 'coordination', level: 'debug', destination: { write: printErrors } }),
) {
  const service = await createCoordination({ env, log });
  const server = createListener(service);
  await openPort(server, '127.0.0.1', 0);
  let closed = false;
  const close = async () => {
    if (closed) return;
    closed = true;
    server.closeAllConnections();
    // Closing the service ends its open streams, and only then can the server close.
    const ended = new Promise<void>((done) => server.close(() => done()));
    await service.close();
    await ended;
  };
  closers.push(close);
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, close };
}
