import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { after, before, beforeEach, test } from 'node:test';
import pg from 'pg';
import { createLog } from '@baton/kernel/process/log';
import { createTestDatabase } from '@baton/kernel/testing/database/database';
import { recordTruth } from '@baton/kernel/testing/truth/truth';
import { newId } from '@baton/values/ids';
import { permissionNames } from '../../service/permissions.ts';
import { type Answer, bootstrapToken, listen, migrationsDirectory } from '../../testing/coordination.ts';
import { startIssuer, type TestIssuer } from '../../testing/issuer.ts';
import { endpoints } from '../endpoints.ts';

let issuer: TestIssuer;
let databaseUrl: string;
let store: pg.Client;
let logged: string[];
const closers: (() => Promise<void>)[] = [];

before(async () => {
  recordTruth('coordination', endpoints);
  issuer = await startIssuer();
});
after(async () => {
  for (const close of closers.splice(0).reverse()) await close();
  await issuer.close();
});
beforeEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
  const database = await createTestDatabase(migrationsDirectory);
  databaseUrl = database.url;
  store = new pg.Client({ connectionString: databaseUrl });
  await store.connect();
  closers.push(database.drop, () => store.end());
  logged = [];
});

async function start(env: Record<string, string> = {}) {
  const log = createLog({
    name: 'coordination',
    level: 'info',
    destination: { write: (line) => logged.push(line) },
  });
  const settings = {
    CP_DATABASE_URL: databaseUrl,
    CP_IAM_ISSUER: issuer.issuer,
    CP_IAM_JWKS_URL: issuer.jwksUrl,
    CP_BOOTSTRAP_TOKEN: bootstrapToken,
    ...env,
  };
  return (await listen(settings, closers, log)).url;
}

async function bootstrap(url: string, body: object, token = bootstrapToken): Promise<Answer> {
  const response = await fetch(`${url}/api/v1/bootstrap`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  return { status: response.status, body: await response.json(), headers: response.headers };
}

const request = { tenantSlug: 'acme', tenantName: 'Acme', adminDisplayName: 'Ada' };

function identity() {
  return { issuer: issuer.issuer, iamTenantId: newId(), iamPrincipalId: newId() };
}

test('it creates the tenant with an administrator, a key, a binding, the task type and the journal floor', async () => {
  const url = await start();
  const iamBinding = identity();
  const tenantId = newId();
  const { status, body } = await bootstrap(url, { ...request, tenantId, iamBinding });
  assert.equal(status, 201);
  assert.equal(body.tenant.id, tenantId);
  assert.deepEqual([body.tenant.slug, body.tenant.name], ['acme', 'Acme']);
  assert.deepEqual(
    [body.adminPrincipal.kind, body.adminPrincipal.displayName, body.adminPrincipal.status],
    ['human', 'Ada', 'active'],
  );
  assert.match(body.apiKey.key, /^cp_[0-9a-f]{12}_[A-Za-z0-9_-]{43}$/);
  assert.deepEqual(body.apiKey.permissions, ['admin']);
  assert.equal(body.iamBinding.status, 'active');
  assert.deepEqual(body.iamBinding.permissions, permissionNames.toSorted());

  const { rows: types } = await store.query('select key, version from task_types');
  assert.deepEqual(types, [{ key: 'task', version: 1 }]);
  const { rows: floors } = await store.query('select tenant_id from journal_floors');
  assert.deepEqual(floors, [{ tenant_id: tenantId }]);
  const { rows: keys } = await store.query('select key_hash from api_keys');
  assert.deepEqual(keys, [{ key_hash: createHash('sha256').update(body.apiKey.key).digest('hex') }]);
});

test('tenant.bootstrapped and iam_binding.created are written in this order, without an actor', async () => {
  const url = await start();
  const iamBinding = identity();
  const { body } = await bootstrap(url, { ...request, iamBinding });
  const { rows } = await store.query(`
    select type, schema_version, entity_id, tenant_id, actor_id, iam_actor_id, payload from events
    order by position, sequence`);
  assert.deepEqual(
    rows.map(({ type, schema_version: version }) => [type, version]),
    [
      ['tenant.bootstrapped', 1],
      ['iam_binding.created', 2],
    ],
  );
  assert.ok(rows.every((row) => row.actor_id === null && row.iam_actor_id === null));
  assert.ok(rows.every((row) => row.tenant_id === body.tenant.id));
  assert.deepEqual(rows[0].payload, {
    slug: 'acme',
    adminPrincipalId: body.adminPrincipal.id,
    apiKeyId: body.apiKey.id,
    apiKeyPrefix: body.apiKey.keyPrefix,
    iamBindingId: body.iamBinding.id,
    iamPrincipalId: iamBinding.iamPrincipalId,
  });
  assert.equal(rows[1].payload.principalId, body.adminPrincipal.id);
  const { rows: outbox } = await store.query('select count(*)::int as rows from outbox');
  assert.deepEqual(outbox, [{ rows: 2 }]);
});

test('an identity that was refused before the bootstrap is admitted immediately after it', async () => {
  const url = await start();
  const iamBinding = identity();
  const token = await issuer.sign({
    sub: iamBinding.iamPrincipalId,
    tenant_id: iamBinding.iamTenantId,
    scope: ['control-plane:read', 'control-plane:write'],
  });
  const sessions = () =>
    fetch(`${url}/api/v1/sessions`, { headers: { authorization: `Bearer ${token}` } }).then(
      (response) => response.status,
    );
  assert.equal(await sessions(), 401);
  assert.equal((await bootstrap(url, { ...request, iamBinding })).status, 201);
  // A token with these scopes never has `admin`, so this also shows that every permission is granted by name.
  assert.equal(await sessions(), 200);
});

test('without CP_BOOTSTRAP_TOKEN it returns 403 bootstrap_disabled', async () => {
  const url = await start({ CP_BOOTSTRAP_TOKEN: '' });
  const { status, body } = await bootstrap(url, request);
  assert.deepEqual([status, body.error.code], [403, 'bootstrap_disabled']);
});

test('a wrong secret gets 401 before any check of the body', async () => {
  const url = await start();
  for (const token of ['wrong', `${bootstrapToken}x`, bootstrapToken.slice(1)]) {
    const { status, body } = await bootstrap(url, { zebra: 1 }, token);
    assert.deepEqual([status, body.error.code], [401, 'invalid_credentials']);
  }
});

test('a malformed body gets 400', async () => {
  const url = await start();
  const wrong = [
    { tenantSlug: 'a' },
    { tenantSlug: '-acme' },
    { tenantSlug: 'Acme' },
    { tenantSlug: 'a'.repeat(64) },
    { tenantName: '' },
    { tenantName: 'a'.repeat(201) },
    { adminDisplayName: '' },
    { tenantId: 'acme' },
    { iamBinding: {} },
    { zebra: 1 },
  ];
  for (const change of wrong) {
    const { status, body } = await bootstrap(url, { ...request, ...change });
    assert.deepEqual([status, body.error.code], [400, 'invalid_request'], JSON.stringify(change));
  }
});

test('a second run returns 409 already_bootstrapped', async () => {
  const url = await start();
  assert.equal((await bootstrap(url, request)).status, 201);
  const { status, body } = await bootstrap(url, request);
  assert.deepEqual([status, body.error.code], [409, 'already_bootstrapped']);
});

test('of two concurrent runs one returns 201, even through two processes', async () => {
  const urls = [await start(), await start()];
  const answers = await Promise.all(
    Array.from({ length: 16 }, (_, n) =>
      bootstrap(urls[n % 2] as string, { ...request, tenantSlug: `t${n}` }),
    ),
  );
  assert.equal(answers.filter(({ status }) => status === 201).length, 1);
  const others = answers.filter(({ status }) => status !== 201);
  assert.ok(others.every(({ body }) => body.error.code === 'already_bootstrapped'));
  const { rows } = await store.query('select count(*)::int as tenants from tenants');
  assert.deepEqual(rows, [{ tenants: 1 }]);
});

test("the administrator's key expires after 24 hours, unless legacy keys are enabled", async () => {
  const closed = await bootstrap(await start(), request);
  const lifeMs = Date.parse(closed.body.apiKey.expiresAt) - Date.parse(closed.body.apiKey.createdAt);
  assert.equal(lifeMs, 86_400_000);
});

test("the administrator's key has no expiry while legacy keys are enabled", async () => {
  const open = await bootstrap(await start({ CP_LEGACY_API_KEYS_ENABLED: 'true' }), request);
  assert.equal(open.body.apiKey.expiresAt, null);
});

test('a bootstrap without iamBinding logs a warning, and no secret is ever logged', async () => {
  const url = await start();
  const { body } = await bootstrap(url, { ...request, iamBinding: null });
  assert.equal(body.iamBinding, null);
  const lines = logged.join('');
  assert.match(lines, /"level":"warn".*without iamBinding/);
  assert.ok(!lines.includes(bootstrapToken) && !lines.includes(body.apiKey.key));
});
