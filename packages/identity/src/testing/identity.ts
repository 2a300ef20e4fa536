import { generateKeyPairSync } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Pool } from '@baton/kernel/database/db';
import { createListener, openPort } from '@baton/kernel/listener/listener';
import { createLog } from '@baton/kernel/process/log';
import { createTestDatabase } from '@baton/kernel/testing/database/database';
import { keepMessage, keepPrivateKey, keepSecret } from '@baton/kernel/testing/leaks/leaks';
import { recordTruth } from '@baton/kernel/testing/truth/truth';
import { type Identity, openIdentity } from '../app/app.ts';
import { endpoints } from '../app/endpoints.ts';
import { readIdentitySettings } from '../app/settings.ts';
import { enterEpoch } from '../records/epoch/epoch.ts';
import { migrationsDirectory, poolOf } from '../service/database.ts';

export interface Answer {
  status: number;
  // Tests assert the responses, so a wrong type fails an assertion.
  // biome-ignore lint/suspicious/noExplicitAny: the tests check the types of responses
  body: any;
  headers: Headers;
}

export interface RequestOptions {
  body?: unknown;
  headers?: Record<string, string>;
}

export interface TestIdentity {
  readonly url: string;
  readonly databaseUrl: string;
  readonly env: Readonly<Record<string, string>>;
  /** The database itself, for state that no endpoint can set up or return. */
  readonly pool: Pool;
  /** Every line that was logged. */
  readonly logged: readonly string[];
  readonly service: Identity;
  /** Sends any request, without adding credentials. */
  request(method: string, path: string, options?: RequestOptions): Promise<Answer>;
  /** Sends requests as the administrator, below `/api/v1`. */
  get(path: string, headers?: Record<string, string>): Promise<Answer>;
  post(path: string, body?: unknown, headers?: Record<string, string>): Promise<Answer>;
  patch(path: string, body: unknown): Promise<Answer>;
  /** Another instance of the service on the same database. */
  another(env?: Record<string, string>, onRevocation?: () => Promise<void>): Promise<TestIdentity>;
  close(): Promise<void>;
}

export const adminSecret = 'admin-secret-of-the-tests';
export const adminHeader = { 'x-iam-bootstrap-token': adminSecret };
/** The service credential of coordination. */
export const delegationCredential = 'service-credential-of-the-tests-0123456789';
export const delegationHeader = { authorization: `Bearer ${delegationCredential}` };

let delegationFile: string | undefined;

function writeDelegationFile(): string {
  if (delegationFile !== undefined) return delegationFile;
  const folder = mkdtempSync(join(tmpdir(), 'baton-delegation-'));
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
  delegationFile = join(folder, 'credential');
  writeFileSync(delegationFile, `${delegationCredential}\n`, { mode: 0o600 });
  return delegationFile;
}

let signingKey: string | undefined;

/**
 * A signing key in PEM. The runner provides one for the whole test run, if it can, because generating a key takes up to
 * a second.
 */
export function testSigningKey(): string {
  signingKey ??= readRunKey() ?? makeRsaKey(3072);
  return signingKey;
}

function readRunKey(): string | undefined {
  const file = process.env['BATON_TEST_SIGNING_KEY_FILE'];
  return file && kept(readFileSync(file, 'utf8'));
}

export function makeRsaKey(bits: number): string {
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: bits });
  return kept(privateKey.export({ type: 'pkcs8', format: 'pem' }) as string);
}

/** A key for audiences with another algorithm. */
export function makeCurveKey(algorithm: 'ES256' | 'EdDSA'): string {
  const { privateKey } =
    algorithm === 'ES256'
      ? generateKeyPairSync('ec', { namedCurve: 'P-256' })
      : generateKeyPairSync('ed25519');
  return kept(privateKey.export({ type: 'pkcs8', format: 'pem' }) as string);
}

function kept(pem: string): string {
  keepPrivateKey(pem);
  return pem;
}

/** The whole service over HTTP, on its own database; without a signing key unless the settings contain one. */
export async function startIdentity(settings: Record<string, string> = {}): Promise<TestIdentity> {
  recordTruth('identity', endpoints);
  keepSecret('admin secret', adminSecret);
  keepSecret('service credential', delegationCredential);
  const database = await createTestDatabase(migrationsDirectory);
  const env = {
    IAM_DATABASE_URL: database.url,
    IAM_BOOTSTRAP_TOKEN: adminSecret,
    IAM_DELEGATION_CREDENTIAL_FILE: writeDelegationFile(),
    IAM_LOG_LEVEL: 'debug',
    ...settings,
  };
  const first = await listen(env);
  return {
    ...first,
    async close() {
      await first.close();
      await database.drop();
    },
  };
}

async function listen(
  env: Record<string, string> & { IAM_DATABASE_URL: string },
  onRevocation?: () => Promise<void>,
): Promise<TestIdentity> {
  const logged: string[] = [];
  const log = createLog({
    name: 'identity',
    level: env['IAM_LOG_LEVEL'] ?? 'debug',
    destination: { write: (line) => logged.push(line) },
  });
  const service = await openIdentity(readIdentitySettings(env), log, onRevocation);
  // A long timeout, because a test may wait inside a transaction for as long as `until` waits.
  const patient = { ...readIdentitySettings(env), IAM_STATEMENT_TIMEOUT_SECONDS: 60 };
  const pool = poolOf(patient, log, async (db) => {
    await enterEpoch(db);
  });
  const server = createListener(service);
  await openPort(server, '127.0.0.1', 0);
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const others: TestIdentity[] = [];
  let isClosed = false;

  async function request(
    method: string,
    path: string,
    { body, headers }: RequestOptions = {},
  ): Promise<Answer> {
    const text = body === undefined || typeof body === 'string' ? body : JSON.stringify(body);
    const response = await fetch(`${url}${path}`, {
      method,
      headers: { ...(text === undefined ? {} : { 'content-type': 'application/json' }), ...headers },
      ...(text === undefined ? {} : { body: text }),
    });
    const received = await response.text();
    const isJson = response.headers.get('content-type')?.includes('json') === true && received !== '';
    keepMessage(headers ?? {}, text);
    keepMessage({}, received);
    return {
      status: response.status,
      body: isJson ? JSON.parse(received) : received,
      headers: response.headers,
    };
  }

  const asAdmin = (method: string, path: string, body?: unknown, headers?: Record<string, string>) =>
    request(method, `/api/v1${path}`, { body, headers: { ...adminHeader, ...headers } });

  return {
    url,
    databaseUrl: env.IAM_DATABASE_URL,
    env,
    pool,
    logged,
    service,
    request,
    get: (path, headers) => asAdmin('GET', path, undefined, headers),
    post: (path, body, headers) => asAdmin('POST', path, body, headers),
    patch: (path, body) => asAdmin('PATCH', path, body),
    async another(more = {}, told) {
      const other = await listen({ ...env, ...more }, told);
      others.push(other);
      return other;
    },
    async close() {
      if (isClosed) return;
      isClosed = true;
      for (const other of others) await other.close();
      server.closeAllConnections();
      await new Promise<void>((done) => server.close(() => done()));
      await service.close();
      await pool.close();
    },
  };
}
