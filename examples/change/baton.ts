import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

/** A Baton for an example, in a separate folder, and calls of its HTTP API. */

const waitMs = 90_000;
const root = dirname(dirname(import.meta.dirname));

// biome-ignore lint/suspicious/noExplicitAny: answers of many forms
export type Answer = any;
/** One call of coordination as the owner of the token. @throws Error with the error response */
export type Call = (method: string, path: string, body?: unknown) => Promise<Answer>;

/**
 * Polls several times a second until there is a result. @throws Error after 90 seconds, with the missing result
 */
export async function until<Value>(what: string, look: () => Promise<Value | undefined>): Promise<Value> {
  for (const endMs = performance.now() + waitMs; performance.now() < endMs; await sleep(200)) {
    const found = await look();
    if (found !== undefined) return found;
  }
  throw new Error(`${what}: it did not happen within ${waitMs / 1000} seconds`);
}

export interface Baton {
  /** The administrator's calls of coordination. */
  readonly admin: Call;
  /** Creates a person or an agent at identity, with a token for coordination. */
  enrol(kind: 'human' | 'agent', displayName: string): Promise<{ binding: object; call: Call }>;
}

/** Starts a Baton in a folder of its own, lets `tell` use it, and always stops it and removes the folder. */
export async function withBaton(tell: (baton: Baton) => Promise<void>): Promise<void> {
  const home = mkdtempSync(join(tmpdir(), 'baton-example-'));
  const child = spawn(process.execPath, [join(root, 'bin', 'baton.mjs'), 'start'], {
    env: { ...process.env, BATON_HOME: home, PORT: '0', IAM_DATABASE_URL: '', CP_DATABASE_URL: '' },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let printed = '';
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk: Buffer) => {
      printed += chunk.toString();
    });
  const ended = new Promise((resolve) => child.once('exit', resolve));
  try {
    await until('the start of Baton', async () => {
      if (child.exitCode !== null) throw new Error(`Baton did not start:\n${printed}`);
      return /Baton is ready/.test(printed) && existsSync(join(home, 'connection.json')) ? true : undefined;
    });
    await tell(await connect(JSON.parse(readFileSync(join(home, 'connection.json'), 'utf8'))));
  } finally {
    child.kill('SIGTERM');
    await ended;
    rmSync(home, { recursive: true, force: true, maxRetries: 3 });
  }
}

async function connect(connection: Answer): Promise<Baton> {
  const { identityUrl, coordinationUrl, tenantId, issuer, iamBootstrapToken, adminToken } = connection;
  const asBootstrap = { 'x-iam-bootstrap-token': iamBootstrapToken };
  const identity = (path: string, body: object) =>
    send(`${identityUrl}/api/v1/tenants/${tenantId}${path}`, 'POST', body, {
      ...asBootstrap,
      'idempotency-key': crypto.randomUUID(),
    });
  /** The access token is valid for 300 seconds, longer than an example takes. */
  const callerOf = async (token: string): Promise<Call> => {
    const exchange = `${identityUrl}/api/v1/platform-access-tokens:exchange`;
    const { accessToken } = await send(exchange, 'POST', { token, audience: 'control-plane' }, {});
    return (method, path, body) =>
      send(`${coordinationUrl}/api/v1${path}`, method, body, { authorization: `Bearer ${accessToken}` });
  };
  return {
    admin: await callerOf(adminToken),
    async enrol(kind, displayName) {
      const { id } = await identity('/principals', { kind, displayName });
      if (kind === 'human') await identity(`/principals/${id}/authentication-contexts`, { issuer });
      const { token } = await identity(`/principals/${id}/platform-access-tokens`, {
        name: 'example',
        audiences: ['control-plane'],
        scopeCeiling: ['control-plane:read', 'control-plane:write'],
        expiresInSeconds: 3600,
      });
      return { binding: { issuer, iamTenantId: tenantId, iamPrincipalId: id }, call: await callerOf(token) };
    },
  };
}

async function send(
  url: string,
  method: string,
  body: unknown,
  headers: Record<string, string>,
): Promise<Answer> {
  const answer = await fetch(url, {
    method,
    headers: { 'content-type': 'application/json', ...headers },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await answer.text();
  if (!answer.ok) throw new Error(`${method} ${new URL(url).pathname}: ${answer.status} ${text}`);
  return text === '' ? null : JSON.parse(text);
}
