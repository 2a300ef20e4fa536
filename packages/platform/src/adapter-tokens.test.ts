import assert from 'node:assert/strict';
import { createPublicKey, type JsonWebKey, randomUUID, verify } from 'node:crypto';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { foundTenant } from '@baton/coordination/app/bootstrap/found-tenant';
import { startContextAdapter } from '@baton/coordination/app/context-adapter/context-adapter';
import { writeEvents } from '@baton/coordination/testing/ledger/journal-writer';
import { startMemoryService } from '@baton/coordination/testing/memory/memory-service';
import { createIdentity } from '@baton/identity/app/app';
import { createPool } from '@baton/kernel/database/db';
import { sql } from '@baton/kernel/database/sql';
import { createListener, openPort } from '@baton/kernel/listener/listener';
import { createLog } from '@baton/kernel/process/log';
import { createTestDatabase } from '@baton/kernel/testing/database/database';
import { keepSecret } from '@baton/kernel/testing/leaks/leaks';
import { projectRoot } from './config.ts';
import { openHome } from './home.ts';
import { ensureSecrets } from './secrets.ts';
import { privateFolder } from './testing/private-folder.ts';

// The adapter's own tests use a fake identity service; here both services are real.

const log = createLog({ name: 'test', level: 'silent' });
const issuer = 'http://identity.test/iam';
const closers: (() => Promise<unknown>)[] = [];
let identityUrl: string;
let bootstrapToken: string;
let databaseUrl: string;

before(async () => {
  const folder = privateFolder();
  closers.push(folder.remove);
  const home = openHome(join(folder.path, 'home'));
  closers.push(async () => home.release());
  const secrets = await ensureSecrets(home);
  bootstrapToken = secrets.iamBootstrapToken;
  keepSecret('bootstrap secret', bootstrapToken);
  const databaseOf = async (name: string) => {
    const database = await createTestDatabase(join(projectRoot, 'packages', name, 'migrations'));
    closers.push(database.drop);
    return database.url;
  };
  databaseUrl = await databaseOf('coordination');
  const env = {
    IAM_DATABASE_URL: await databaseOf('identity'),
    IAM_BOOTSTRAP_TOKEN: bootstrapToken,
    IAM_SIGNING_KEY_FILE: secrets.signingKeyFile,
    IAM_SIGNING_KEY_ID: secrets.signingKeyId,
    IAM_ISSUER: issuer,
  };
  const identity = await createIdentity({ env, log });
  closers.push(identity.close);
  const server = createListener(identity);
  await openPort(server, '127.0.0.1', 0);
  closers.push(async () => {
    server.closeAllConnections();
    server.close();
  });
  identityUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
after(async () => {
  for (const close of closers.toReversed()) await close();
});

async function asOperator(path: string, body: object): Promise<Record<string, string>> {
  const response = await fetch(`${identityUrl}/api/v1${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-iam-bootstrap-token': bootstrapToken },
    body: JSON.stringify(body),
  });
  const answer = (await response.json()) as Record<string, string>;
  assert.ok(response.ok, `${path}: ${response.status} ${JSON.stringify(answer)}`);
  return answer;
}

/** Verifies the signature with the published keys of identity. @returns the claims */
async function claimsOf(authorization: string | undefined): Promise<Record<string, unknown>> {
  const token = (authorization ?? '').replace('Bearer ', '');
  const [head = '', payload = '', signature = ''] = token.split('.');
  const read = (part: string) =>
    JSON.parse(Buffer.from(part, 'base64url').toString()) as Record<string, unknown>;
  const published = await fetch(`${identityUrl}/.well-known/jwks.json`);
  const { keys } = (await published.json()) as { keys: (JsonWebKey & { kid: string })[] };
  const key = keys.find(({ kid }) => kid === read(head)['kid']);
  assert.ok(key !== undefined);
  const isSigned = verify(
    'sha256',
    Buffer.from(`${head}.${payload}`),
    createPublicKey({ key, format: 'jwk' }),
    Buffer.from(signature, 'base64url'),
  );
  assert.ok(isSigned, 'signed by identity');
  return read(payload);
}

test('the context adapter delivers with tokens of its own service account, and reports why it gets none', async () => {
  const { id: tenantId = '' } = await asOperator('/tenants', { slug: `t-${randomUUID()}`, name: 'Tools' });
  const scopes = ['memory:read', 'memory:service', 'memory:tenants', 'memory:write'];
  await asOperator(`/tenants/${tenantId}/audiences`, { key: 'memory-service', allowedScopes: scopes });
  const account = await asOperator(`/tenants/${tenantId}/service-accounts`, {
    displayName: 'Context adapter',
    audiences: ['memory-service'],
    scopeCeiling: scopes,
  });
  keepSecret('client secret', account['clientSecret'] as string);

  const pool = createPool({
    url: databaseUrl,
    connectionsMax: 4,
    applicationName: 'test',
    statementTimeoutMs: 10_000,
    lockTimeoutMs: 10_000,
    idleInTransactionTimeoutMs: 10_000,
    onError: () => undefined,
  });
  const memory = await startMemoryService();
  const founded = await foundTenant(pool, { tenantSlug: 'work', tenantName: 'Work', adminDisplayName: 'A' });
  const adapter = await startContextAdapter({
    isWatched: false,
    log,
    env: {
      CP_DATABASE_URL: databaseUrl,
      CP_IAM_ISSUER: issuer,
      CP_IAM_JWKS_URL: `${identityUrl}/.well-known/jwks.json`,
      CP_IAM_BASE_URL: identityUrl,
      CP_IAM_CLIENT_ID: account['clientId'],
      CP_IAM_CLIENT_SECRET: account['clientSecret'],
      CP_CONTEXT_PROVIDER: 'http',
      CP_CONTEXT_BASE_URL: memory.url,
      CP_CONTEXT_AUTH: 'iam',
      CP_CONTEXT_POLL_INTERVAL_SECONDS: '1',
      CP_CONTEXT_RETRY_BACKOFF_BASE_SECONDS: '1',
      CP_CONTEXT_RETRY_BACKOFF_MAX_SECONDS: '1',
    },
  });
  const reason = async () =>
    (
      await pool.row<{ text: string | null }>(sql`
        select parked_reason as text from event_consumers where tenant_id = ${founded.tenantId}`)
    )?.text;
  const until = async (holds: () => Promise<boolean> | boolean, what: string) => {
    for (const deadline = performance.now() + 60_000; !(await holds()); await sleep(20))
      assert.ok(performance.now() < deadline, `never ${what}; the tenant is on hold: ${await reason()}`);
  };
  const write = async () => {
    const draft = { type: 'capability.created', entity_type: 'capability', payload: { name: 'welding' } };
    const [id] = await writeEvents(pool, founded.tenantId, [draft]);
    return id as string;
  };
  const keeps = (id: string) => memory.keptIds(`tenant:${founded.tenantId}`).includes(id);
  const credentials = () => new Set(memory.arrived.map(({ headers }) => headers.authorization));
  try {
    const first = await write();
    await until(() => keeps(first), 'the first delivery');
    const [authorization] = credentials();
    const { aud, iss, sub, scope, tenant_id } = await claimsOf(authorization);
    assert.deepEqual(
      [[aud].flat(), iss, sub, tenant_id],
      [['memory-service'], issuer, account['principalId'], tenantId],
    );
    assert.deepEqual([scope].flat().join(' ').split(' ').toSorted(), scopes);

    // The memory service no longer accepts the token, so the adapter requests another one.
    memory.behave({ answer: { status: 401 } });
    const second = await write();
    await until(() => credentials().size > 1, 'another token');
    memory.behave({});
    await until(() => keeps(second), 'the delivery under another token');

    // The account is disabled, so it gets no token, and the reason is visible to operators.
    await asOperator(`/tenants/${tenantId}/principals/${account['principalId']}:disable`, {});
    memory.behave({ answer: { status: 401 } });
    await write();
    await until(
      async () => (await reason()) === 'no token of identity: identity returned 401 to the token request',
      'the reason',
    );
  } finally {
    await adapter.close();
    await memory.close();
    await pool.close();
  }
});
