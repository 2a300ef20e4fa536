import assert from 'node:assert/strict';
import { after, afterEach, before, test } from 'node:test';
import { sql } from '@baton/kernel/database/sql';
import { newId } from '@baton/values/ids';
import { startSecretStore, type TestSecretStore } from '../../testing/access/secret-store.ts';
import { startCoordination, type TestCoordination } from '../../testing/coordination.ts';
import { done, eventsOf, refused } from '../../testing/leases.ts';
import { makeConnection, makeType, newToken, tokenSpec } from '../../testing/registry/connections.ts';
import { makeWorkerTools } from '../../testing/sweepers.ts';
import { expireDueConnections } from './expire-connections.ts';

let baton: TestCoordination;
let vault: TestSecretStore;
before(async () => {
  vault = await startSecretStore();
  baton = await startCoordination(vault.settings);
});
after(async () => {
  await baton.close();
  await vault.close();
});
afterEach(() => vault.behave({}));

const settingsSchema = {
  type: 'object',
  properties: { project: { type: 'string' }, limit: { type: 'integer' } },
  required: ['project'],
  additionalProperties: false,
};
const told = async (id: string) =>
  (await eventsOf(baton, id)).map(({ type, payload }) => ({ type, payload }));
const storedFor = (id: string) => [...vault.values].filter(([at]) => at.includes(`/connections/${id}/`));

test('a connection uses the newest active version of its type, and is pending', async () => {
  const type = await makeType(baton.admin, { ...tokenSpec, settingsSchema, defaultKey: `d${newId()}` });
  await done(
    baton.admin.post('/connection-types', { key: type, version: 5, spec: { ...tokenSpec, settingsSchema } }),
    201,
  );
  const settings = { project: 'BATON' };
  const made = await baton.admin.post('/connections', { type, settings });
  assert.equal(made.status, 201);
  const { id, createdAt: _createdAt, updatedAt: _updatedAt, ...rest } = made.body;
  assert.deepEqual(rest, {
    key: type,
    type,
    typeVersion: 5,
    displayName: 'Tracker',
    account: null,
    auth: null,
    status: 'pending',
    statusReason: null,
    statusMessage: null,
    settings,
    secretRef: null,
    expiresAt: null,
    connectedBy: null,
    connectedAt: null,
    lastCheckedAt: null,
    createdBy: baton.admin.principalId,
    version: 1,
  });
  assert.equal(made.headers.get('etag'), '"connection-1"');
  assert.deepEqual(await done(baton.admin.get(`/connections/${type}`)), { ...made.body, agents: [] });
  const payload = { key: type, type, typeVersion: 5, status: 'pending' };
  assert.deepEqual(await told(id), [{ type: 'connection.created', payload }]);
  await refused(baton.admin.post('/connections', { type, settings }), 409, 'connection_key_taken');
  await refused(baton.otherAdmin.get(`/connections/${type}`), 404, 'not_found');
});

test("without a key it has the type's default key", async () => {
  const defaultKey = `d${newId()}`;
  const type = await makeType(baton.admin, { ...tokenSpec, defaultKey });
  assert.equal((await done(baton.admin.post('/connections', { type }), 201)).key, defaultKey);
});

test('a missing type, and one without an active version, is unknown', async () => {
  await refused(baton.admin.post('/connections', { type: 'absent' }), 422, 'unknown_connection_type');
  const type = await makeType(baton.admin);
  const headers = { 'if-match': 'connection-type-1' };
  await done(baton.admin.patch(`/connection-types/${type}@1`, { status: 'deprecated' }, headers));
  await refused(baton.admin.post('/connections', { type }), 422, 'unknown_connection_type');
});

test('settings are refused by size, then for secrets, then by the schema of the type', async () => {
  const type = await makeType(baton.admin, { ...tokenSpec, settingsSchema });
  const post = (settings: unknown) => baton.admin.post('/connections', { type, settings });
  await refused(post({ password: 'x'.repeat(70_000) }), 422, 'payload_too_large');
  const details = await refused(post({ apiKey: 'x' }), 422, 'secret_material_rejected');
  assert.deepEqual(details, { field: 'settings', path: '/apiKey' });
  await refused(post({ project: `ghp_${'a1B2'.repeat(8)}` }), 422, 'secret_material_rejected');
  const wrong = await refused(post({ limit: 'many' }), 422, 'invalid_connection_settings');
  assert.equal(wrong.field, 'settings');
  assert.deepEqual(
    wrong.errors.map(({ path, code }: { path: string; code: string }) => [path, code]),
    [
      ['', 'schema'],
      ['/limit', 'schema'],
    ].sort(),
  );
  const plain = await makeType(baton.admin);
  await refused(
    baton.admin.post('/connections', { type: plain, settings: { a: 1 } }),
    422,
    'invalid_connection_settings',
  );
});

test('settings that are too large, too deep, or contain a rounded integer are refused on creation and change', async () => {
  const type = await makeType(baton.admin);
  const { key } = await makeConnection(baton.admin, type);
  let nested: object = {};
  for (let level = 0; level < 20; level += 1) nested = { nested };
  for (const [code, settings] of [
    ['invalid_document', { rounded: 2 ** 60 }],
    ['payload_too_large', { long: 'x'.repeat(70_000) }],
    ['payload_too_deep', { nested }],
  ] as const) {
    await refused(baton.admin.post('/connections', { type, settings }), 422, code);
    const ifMatch = { 'if-match': 'connection-1' };
    await refused(baton.admin.patch(`/connections/${key}`, { settings }, ifMatch), 422, code);
  }
});

test('a change raises the version and lists the changed fields; equal values change nothing', async () => {
  const type = await makeType(baton.admin, { ...tokenSpec, settingsSchema });
  const { id, key } = await makeConnection(baton.admin, type, { settings: { project: 'A' } });
  const patch = (change: unknown, version = 1) =>
    baton.admin.patch(`/connections/${key}`, change, { 'if-match': `"connection-${version}"` });
  const same = await patch({ displayName: 'Tracker', settings: { project: 'A' }, typeVersion: 1 });
  assert.deepEqual([same.status, same.body.version], [200, 1]);
  await refused(patch({ displayName: 'B' }, 2), 409, 'version_conflict');
  await refused(patch({}), 422, 'empty_update');
  for (const field of ['displayName', 'settings', 'typeVersion'])
    await refused(patch({ [field]: null }), 400, 'invalid_request');
  await refused(patch({ typeVersion: 2 }), 422, 'unknown_connection_type');
  await refused(patch({ settings: {} }), 422, 'invalid_connection_settings');
  await refused(patch({ settings: { token: 'x' } }), 422, 'secret_material_rejected');
  const changed = await done(patch({ displayName: 'B', settings: { project: 'B' } }));
  assert.deepEqual([changed.version, changed.displayName, changed.settings], [2, 'B', { project: 'B' }]);
  const payload = { key, version: 2, changes: ['displayName', 'settings'] };
  assert.deepEqual((await told(id)).slice(1), [{ type: 'connection.updated', payload }]);
  await refused(
    baton.admin.patch('/connections/absent', { displayName: 'B' }, { 'if-match': 'connection-1' }),
    404,
    'not_found',
  );
  await refused(baton.admin.patch(`/connections/${key}`, { displayName: 'B' }), 428, 'if_match_required');
});

test('another version of the type validates the settings again, and a disabled one is unknown', async () => {
  const type = await makeType(baton.admin);
  await done(
    baton.admin.post('/connection-types', { key: type, version: 2, spec: { ...tokenSpec, settingsSchema } }),
    201,
  );
  const { key } = await makeConnection(baton.admin, type, { settings: { project: 'A' } });
  const patch = (change: unknown) =>
    baton.admin.patch(`/connections/${key}`, change, { 'if-match': 'connection-1' });
  await refused(patch({ typeVersion: 1 }), 422, 'invalid_connection_settings');
  const headers = { 'if-match': 'connection-type-1' };
  await done(baton.admin.patch(`/connection-types/${type}@1`, { status: 'disabled' }, headers));
  await refused(patch({ typeVersion: 1, settings: {} }), 422, 'unknown_connection_type');
});

test('the list is filtered by type and status; an unknown status and cursor are refused', async () => {
  const type = await makeType(baton.admin);
  const [first, second] = [await makeConnection(baton.admin, type), await makeConnection(baton.admin, type)];
  await done(baton.admin.put(`/connections/${first.key}/token`, { account: 'a', token: newToken() }));
  const keys = async (query: string) =>
    (await done(baton.admin.get(`/connections?type=${type}${query}`))).items.map(
      ({ key }: { key: string }) => key,
    );
  assert.deepEqual(await keys(''), [second.key, first.key]);
  assert.deepEqual(
    [await keys('&status=active'), await keys('&status=pending')],
    [[first.key], [second.key]],
  );
  const details = await refused(baton.admin.get('/connections?status=lost'), 422, 'invalid_status');
  assert.deepEqual(details.allowed, ['pending', 'active', 'expired', 'revoked']);
  await refused(baton.admin.get('/connections?cursor=nonsense'), 422, 'invalid_cursor');
});

test('a token connects, is only in the store, and is replaced by a later one', async () => {
  const { id, key, type } = await makeConnection(baton.admin);
  const [first, second] = [newToken(), newToken()];
  const put = (token: string, more: object = {}) =>
    baton.admin.put(`/connections/${key}/token`, { account: 'acme', token, ...more });
  const active = await done(put(first));
  assert.deepEqual(
    [active.status, active.auth, active.account, active.connectedBy, active.version],
    ['active', 'token', 'acme', baton.admin.principalId, 2],
  );
  const [[path, stored] = []] = storedFor(id);
  assert.equal(path, active.secretRef);
  assert.deepEqual(JSON.parse(stored as string), { auth: 'token', account: 'acme', token: first });
  const expiresAt = '2090-01-01T00:00:00.000Z';
  const later = await done(put(second, { expiresAt }));
  assert.equal(later.expiresAt, expiresAt);
  assert.notEqual(later.secretRef, active.secretRef);
  const common = { key, type, auth: 'token', connectedBy: baton.admin.principalId };
  assert.deepEqual(
    (await told(id)).slice(1).map(({ payload }) => payload),
    [
      { ...common, previousStatus: 'pending' },
      { ...common, previousStatus: 'active' },
    ],
  );
  assert.ok(!JSON.stringify([active, later]).includes(first));
});

test('a token is refused if the type accepts none, for an invalid account, an expiry in the past, and without the store', async () => {
  const oauth2 = { authorizeUrl: 'https://p.example/a', tokenUrlTemplate: 'https://p.example/t' };
  const only = await makeConnection(
    baton.admin,
    await makeType(baton.admin, { displayName: 'O', auth: ['oauth2'], oauth2 }),
  );
  const accountField = { title: 'Shop', pattern: '[a-z]+\\.shop' };
  const { key } = await makeConnection(
    baton.admin,
    await makeType(baton.admin, { ...tokenSpec, accountField }),
  );
  const put = (account: string, more: object = {}, at = key) =>
    baton.admin.put(`/connections/${at}/token`, { account, token: newToken(), ...more });
  await refused(put('a', {}, 'absent'), 404, 'not_found');
  await refused(put('a', {}, only.key), 422, 'auth_not_supported');
  for (const account of ['a', 'x.a.shop', 'a.shop\n', 'a.shopx', 'A.shop'])
    await refused(put(account), 422, 'invalid_account');
  await refused(put('a.shop', { expiresAt: '2020-01-01T00:00:00Z' }), 422, 'invalid_expiry');
  vault.behave({ answer: { status: 503, body: '{"errors":["sealed"]}' } });
  await refused(put('a.shop'), 503, 'secret_store_unavailable');
  vault.behave({});
  await refused(put('x'.repeat(254)), 400, 'invalid_request');
  await refused(put('a.shop', { token: 'x'.repeat(8193) }), 400, 'invalid_request');
  assert.equal((await done(baton.admin.get(`/connections/${key}`))).status, 'pending');
});

test('a revocation first deletes the credential; repeating it changes nothing; a token connects again', async () => {
  const { id, key, type } = await makeConnection(baton.admin);
  const put = () => baton.admin.put(`/connections/${key}/token`, { account: 'a', token: newToken() });
  await done(put());
  vault.behave({ hangsUp: true });
  await refused(baton.admin.post(`/connections/${key}:revoke`, {}), 503, 'secret_store_unavailable');
  assert.equal((await done(baton.admin.get(`/connections/${key}`))).status, 'active');
  vault.behave({});
  const revoked = await done(baton.admin.post(`/connections/${key}:revoke`, { reason: 'No longer needed.' }));
  assert.deepEqual(
    [revoked.status, revoked.statusMessage, revoked.secretRef],
    ['revoked', 'No longer needed.', null],
  );
  assert.deepEqual(storedFor(id), []);
  vault.behave({ hangsUp: true });
  const again = await done(baton.admin.post(`/connections/${key}:revoke`));
  assert.equal(again.version, revoked.version);
  vault.behave({});
  assert.equal((await done(put())).status, 'active');
  assert.deepEqual(
    (await told(id)).slice(2).map(({ payload }) => payload),
    [
      { key, type, previousStatus: 'active' },
      { key, type, auth: 'token', previousStatus: 'revoked', connectedBy: baton.admin.principalId },
    ],
  );
  await refused(baton.admin.post('/connections/absent:revoke', {}), 404, 'not_found');
});

test('a pending connection can be revoked while the store is unavailable: it has no credential', async () => {
  const { key } = await makeConnection(baton.admin);
  vault.behave({ hangsUp: true });
  assert.equal((await done(baton.admin.post(`/connections/${key}:revoke`, {}))).status, 'revoked');
});

test('suspected secrets in the reason of a revocation are not stored', async () => {
  const { key } = await makeConnection(baton.admin);
  const reason = `leaked ghp_${'a1B2'.repeat(8)}`;
  const { statusMessage } = await done(baton.admin.post(`/connections/${key}:revoke`, { reason }));
  assert.equal(statusMessage, 'leaked [redacted]');
});

test('an expired credential makes the connection expired, once, by the worker', async () => {
  const { id, key, type } = await makeConnection(baton.admin);
  const expiresAt = '2090-01-01T00:00:00.000Z';
  await done(baton.admin.put(`/connections/${key}/token`, { account: 'a', token: newToken(), expiresAt }));
  await baton.pool.run(sql`update connections set expires_at = now() - interval '1 s' where id = ${id}`);
  const [one, two] = [makeWorkerTools(baton), makeWorkerTools(baton)];
  try {
    await Promise.all([expireDueConnections(one.tools).run(), expireDueConnections(two.tools).run()]);
    await expireDueConnections(one.tools).run();
  } finally {
    await Promise.all([one.close(), two.close()]);
  }
  const expired = await done(baton.admin.get(`/connections/${key}`));
  assert.deepEqual([expired.status, expired.statusReason], ['expired', 'expired_by_time']);
  const connectedBy = baton.admin.principalId;
  const payload = { key, type, from: 'active', to: 'expired', reason: 'expired_by_time', connectedBy };
  assert.deepEqual((await told(id)).slice(2), [{ type: 'connection.status_changed', payload }]);
  await done(baton.admin.put(`/connections/${key}/token`, { account: 'a', token: newToken() }));
  assert.equal((await done(baton.admin.get(`/connections/${key}`))).statusReason, null);
});
