import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { sql } from '@baton/kernel/database/sql';
import { createLog } from '@baton/kernel/process/log';
import { newId } from '@baton/values/ids';
import { type Answer, listen, startCoordination, type TestCoordination } from '../../testing/coordination.ts';
import { newKey } from './key-material.ts';

let baton: TestCoordination;
/** Processes of the same service that admit different credentials. */
let open: string;
let closed: string;
let withoutEmergency: string;
const logged: string[] = [];
const closers: (() => Promise<void>)[] = [];

before(async () => {
  baton = await startCoordination();
  const log = createLog({
    name: 'coordination',
    level: 'info',
    destination: { write: (line) => logged.push(line) },
  });
  const start = async (env: Record<string, string>) =>
    (await listen({ ...baton.env, ...env }, closers, log)).url;
  open = await start({ CP_LEGACY_API_KEYS_ENABLED: 'true' });
  closed = await start({});
  withoutEmergency = await start({ CP_LEGACY_API_KEYS_ENABLED: 'true', CP_BREAK_GLASS_ENABLED: 'false' });
});
after(async () => {
  for (const close of closers) await close();
  await baton.close();
});

async function send(url: string, key: string, path = '/principals', init: RequestInit = {}): Promise<Answer> {
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
  const response = await fetch(`${url}/api/v1${path}`, { ...init, headers });
  return { status: response.status, body: await response.json(), headers: response.headers };
}

async function refused(url: string, key: string, reason: string): Promise<void> {
  const { status, body } = await send(url, key);
  const { requestId, ...error } = body.error;
  assert.equal(status, 401, JSON.stringify(body));
  assert.deepEqual([error.code, error.details], ['invalid_credentials', {}]);
  const line = logged.map((text) => JSON.parse(text)).find((entry) => entry.requestId === requestId);
  assert.equal(line.reason, reason);
}

async function principal(kind = 'agent'): Promise<string> {
  return (await baton.admin.post('/principals', { kind, displayName: kind })).body.id;
}

async function issue(principalId: string, permissions = ['principals.read']): Promise<Answer['body']> {
  const { status, body } = await baton.admin.post(`/principals/${principalId}/api-keys`, { permissions });
  assert.equal(status, 201);
  return body;
}

/** Creates a key as the operator's command does; see `break-glass.test.ts` for the command itself. */
async function emergencyKey(principalId: string, lifeSeconds: number | null): Promise<string> {
  const { key, prefix, hash } = newKey('emergency');
  await baton.pool.run(sql`
    insert into api_keys (id, tenant_id, principal_id, key_prefix, key_hash, permissions, expires_at)
    values (${newId()}, ${baton.tenantId}, ${principalId}, ${prefix}, ${hash}, array['admin'],
      now() + make_interval(secs => ${lifeSeconds}))`);
  return key;
}

test('a key is admitted only while CP_LEGACY_API_KEYS_ENABLED is set', async () => {
  const { key } = await issue(await principal());
  assert.equal((await send(open, key)).status, 200);
  await refused(closed, key, 'legacy_keys_disabled');
});

test('a key has exactly its own permissions, and events record no identity for it', async () => {
  const id = await principal();
  const { key } = await issue(id, ['principals.write']);
  assert.equal((await send(open, key)).body.error.code, 'permission_denied');
  const body = JSON.stringify({ kind: 'agent', displayName: 'made by a key' });
  const made = await send(open, key, '/principals', { method: 'POST', body });
  assert.equal(made.status, 201);
  const event = await baton.pool.row(sql`
    select actor_id, iam_actor_id from events where entity_id = ${made.body.id}`);
  assert.deepEqual(event, { actor_id: id, iam_actor_id: null });
});

test('a wrong secret, an unknown prefix and a malformed key get the same response', async () => {
  const { key } = await issue(await principal());
  const last = key.at(-1) === 'A' ? 'B' : 'A';
  await refused(open, `${key.slice(0, -1)}${last}`, 'key_unknown');
  await refused(open, `${key}A`, 'key_unknown');
  await refused(open, newKey().key, 'key_unknown');
  await refused(open, key.slice(0, 16), 'key_form');
  await refused(open, `cp_A${key.slice(4)}`, 'key_form');
  await refused(open, 'cp_', 'key_form');
  await refused(open, 'cp_a.b.c', 'key_form');
  await refused(open, `cp_${'0'.repeat(13)}_x`, 'key_form');
});

test('a revoked key is rejected at once, in every process', async () => {
  const { id, key } = await issue(await principal());
  assert.equal((await send(open, key)).status, 200);
  assert.equal((await baton.admin.post(`/api-keys/${id}:revoke`)).status, 200);
  await refused(open, key, 'key_revoked');
});

test("an expired key is refused by the database's clock", async () => {
  const { id, key } = await issue(await principal());
  await baton.pool.run(sql`update api_keys set expires_at = now() - interval '1 ms' where id = ${id}`);
  await refused(open, key, 'key_expired');
});

test('the key of an inactive principal gets 403 principal_not_active, after the check of the key itself', async () => {
  const id = await principal();
  const { id: keyId, key } = await issue(id);
  await baton.admin.post(`/principals/${id}:disable`);
  const { status, body } = await send(open, key);
  assert.deepEqual([status, body.error.code], [403, 'principal_not_active']);
  await baton.pool.run(sql`update api_keys set expires_at = now() - interval '1 ms' where id = ${keyId}`);
  await refused(open, key, 'key_expired');
});

test('lastUsedAt of a key is written at most once per 60 seconds', async () => {
  const { id, key } = await issue(await principal());
  const used = () =>
    baton.pool.row<{ used: string }>(sql`select last_used_at as used from api_keys where id = ${id}`);
  await refused(closed, key, 'legacy_keys_disabled');
  assert.deepEqual(await used(), { used: null });
  await send(open, key);
  const first = await used();
  assert.notEqual(first?.used, null);
  await Promise.all(Array.from({ length: 5 }, () => send(open, key)));
  assert.deepEqual(await used(), first);
  await baton.pool.run(
    sql`update api_keys set last_used_at = now() - interval '61 seconds' where id = ${id}`,
  );
  await send(open, key);
  assert.ok(Date.parse((await used())?.used as string) > Date.now() - 30_000);
});

test('an emergency key is admitted even without CP_LEGACY_API_KEYS_ENABLED, unless emergency keys are disabled', async () => {
  const key = await emergencyKey(await principal('human'), 3600);
  assert.match(key, /^cp_bg[0-9a-f]{10}_/);
  assert.equal((await send(closed, key)).status, 200);
  assert.equal((await send(open, key)).status, 200);
  await refused(withoutEmergency, key, 'break_glass_disabled');
});

test('an emergency key without an expiry, or with too long a lifetime, is refused', async () => {
  const id = await principal('human');
  assert.equal((await send(closed, await emergencyKey(id, 14_400))).status, 200);
  await refused(closed, await emergencyKey(id, 14_401), 'break_glass_life');
  await refused(closed, await emergencyKey(id, null), 'break_glass_life');
  await refused(closed, await emergencyKey(id, -1), 'key_expired');
});

test('no key is written to the log', () => {
  assert.doesNotMatch(logged.join(''), /cp_[0-9a-z]{12}_/);
});
