import assert from 'node:assert/strict';
import { after, afterEach, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Db } from '@baton/kernel/database/db';
import { sql } from '@baton/kernel/database/sql';
import { byDepth } from '@baton/testing/depth';
import { newId } from '@baton/values/ids';
import { deleteSecretLeftovers, endLeftover } from '../../../access/secret-store/leftovers.ts';
import { startSecretStore, type TestSecretStore } from '../../../testing/access/secret-store.ts';
import { stopClock } from '../../../testing/clock.ts';
import { startCoordination, type TestCoordination } from '../../../testing/coordination.ts';
import { done, eventsOf, refused } from '../../../testing/leases.ts';
import { agentKey, newSecretValue, publishAgent, putAgentSecret } from '../../../testing/registry/agents.ts';
import { makeWorkerTools } from '../../../testing/sweepers.ts';

let vault: TestSecretStore;
/** Runs the tests both with an external store and with the table of sealed values. */
let outside: TestCoordination;
let sealed: TestCoordination;
before(async () => {
  vault = await startSecretStore();
  [outside, sealed] = [await startCoordination(vault.settings), await startCoordination()];
});
after(async () => {
  await outside.close();
  await sealed.close();
  await vault.close();
});
afterEach(() => {
  delete vault.beforeAnswer;
  vault.behave({});
});

const path = (key: string, name: string) => `/agents/${key}/secrets/${name}`;
const pathInStore = ({ tenantId }: TestCoordination, key: string, name: string) =>
  `tenants/${tenantId}/agents/${key}/${name}`;
const namesOf = async (baton: TestCoordination, key: string) =>
  (await done(baton.admin.get(`/agents/${key}/secrets`))).items.map(({ name }: { name: string }) => name);
const said = async (baton: TestCoordination, id: string) =>
  (await eventsOf(baton, id))
    .filter(({ type }) => type.startsWith('agent.secret_'))
    .map(({ type, payload }) => [type, payload]);

/** Makes every recorded path due, and processes it. */
async function workOff(baton: TestCoordination): Promise<void> {
  await baton.pool.run(sql`update secret_leftovers set due_at = now() - interval '1 s'`);
  const { tools, close } = makeWorkerTools(baton);
  try {
    await deleteSecretLeftovers(tools).run();
  } finally {
    await close();
  }
}

/** A write of a secret that is still running in another process, or whose process was killed. */
const noteUse = (key: string, name: string, isKept: boolean) =>
  outside.pool.run(sql`
    insert into secret_leftovers (tenant_id, folder, name, due_at, is_kept)
    values (${outside.tenantId}, ${`agents/${key}`}, ${name}, now() + interval '1 min', ${isKept})`);

const leftovers = (baton: TestCoordination) =>
  baton.pool.rows<{ name: string }>(sql`select name from secret_leftovers`);

for (const kind of ['outside', 'sealed'] as const)
  test(`a secret is set, set again, listed by name and deleted, and its value is in the store alone (${kind})`, async () => {
    const baton = kind === 'outside' ? outside : sealed;
    const { id, key } = await publishAgent(baton.admin);
    const [first, second] = [newSecretValue(), newSecretValue()];
    const made = await done(baton.admin.put(path(key, 'tracker'), { value: first }), 201);
    assert.deepEqual(made, {
      name: 'tracker',
      updatedAt: made.updatedAt,
      updatedBy: baton.admin.principalId,
    });
    await done(baton.admin.put(path(key, 'build'), { value: first }), 201);
    await done(baton.admin.put(path(key, 'tracker'), { value: second }));
    assert.deepEqual(await namesOf(baton, key), ['build', 'tracker']);
    if (kind === 'outside') assert.equal(vault.values.get(pathInStore(baton, key, 'tracker')), second);
    const sealedRows = await baton.pool.rows(
      sql`select from sealed_secrets where folder = ${`agents/${key}`}`,
    );
    assert.equal(sealedRows.length, kind === 'outside' ? 0 : 2);
    await done(baton.admin.delete(path(key, 'tracker')), 204);
    await refused(baton.admin.delete(path(key, 'tracker')), 404, 'not_found');
    assert.deepEqual(await namesOf(baton, key), ['build']);
    assert.equal(vault.values.has(pathInStore(baton, key, 'tracker')), false);
    const told = { agentKey: key, name: 'tracker' };
    assert.deepEqual(await said(baton, id), [
      ['agent.secret_set', { ...told, created: true }],
      ['agent.secret_set', { agentKey: key, name: 'build', created: true }],
      ['agent.secret_set', { ...told, created: false }],
      ['agent.secret_deleted', told],
    ]);
    assert.deepEqual(await leftovers(baton), []);
  });

test('names, permissions and the agent are validated in the documented order', async () => {
  const { admin } = sealed;
  const { key } = await publishAgent(admin);
  const value = newSecretValue();
  for (const name of ['Tracker', '-a', 'a_b', 'a'.repeat(64), 'a'.repeat(1000)])
    await refused(admin.put(path(agentKey(), name), { value }), 422, 'invalid_secret_name');
  await refused(admin.put(path(agentKey(), 'a'), { value }), 404, 'not_found');
  await refused(sealed.otherAdmin.put(path(key, 'a'), { value }), 404, 'not_found');
  await refused(sealed.otherAdmin.get(`/agents/${key}/secrets`), 404, 'not_found');
  for (const wrong of ['', 'a'.repeat(65_537)])
    await refused(admin.put(path(key, 'a'), { value: wrong }), 400, 'invalid_request');
  const reader = await sealed.actor({ permissions: ['agents.read', 'agents.manage'] });
  await refused(reader.put(path(key, 'a'), { value }), 403, 'permission_denied');
  await refused(reader.delete(path(key, 'a')), 403, 'permission_denied');
  assert.deepEqual((await done(reader.get(`/agents/${key}/secrets`))).items, []);
  await done(admin.put(path(key, 'a'), { value }, { 'if-none-match': '*' }), 201);
  await refused(admin.put(path(key, 'a'), { value }, { 'if-none-match': '*' }), 409, 'agent_secret_exists');
});

test('of concurrent requests that create one secret with If-None-Match, one succeeds', async () => {
  for (const baton of [outside, sealed]) {
    const { key } = await publishAgent(baton.admin);
    const answers = await Promise.all(
      Array.from({ length: 8 }, () =>
        baton.admin.put(path(key, 'one'), { value: newSecretValue() }, { 'if-none-match': '*' }),
      ),
    );
    const taken = answers.map(({ status }) => status).sort();
    assert.deepEqual(taken, [201, 409, 409, 409, 409, 409, 409, 409]);
  }
});

test('an agent has at most a hundred secrets; a new value for one of them is accepted', async () => {
  const { key } = await publishAgent(sealed.admin);
  const value = newSecretValue();
  for (let n = 0; n < 100; n += 1) await done(sealed.admin.put(path(key, `s${n}`), { value }), 201);
  const details = await refused(sealed.admin.put(path(key, 'more'), { value }), 422, 'payload_too_large');
  assert.equal(details.secretsMax, 100);
  await done(sealed.admin.put(path(key, 's1'), { value }));
  const page = await done(sealed.admin.get(`/agents/${key}/secrets?limit=60`));
  const rest = await done(sealed.admin.get(`/agents/${key}/secrets?limit=60&cursor=${page.nextCursor}`));
  assert.equal(page.items.length + rest.items.length, 100);
  assert.equal(rest.nextCursor, null);
  await refused(sealed.admin.get(`/agents/${key}/secrets?cursor=x`), 422, 'invalid_cursor');
});

test('a repeated request under a key returns the first response regardless of the value, and the store keeps the first value', async () => {
  const { key } = await publishAgent(outside.admin);
  const [first, second] = [newSecretValue(), newSecretValue()];
  const headers = { 'idempotency-key': newId() };
  const made = await done(outside.admin.put(path(key, 'once'), { value: first }, headers), 201);
  assert.deepEqual(await done(outside.admin.put(path(key, 'once'), { value: second }, headers), 201), made);
  assert.equal(vault.values.get(pathInStore(outside, key, 'once')), first);
});

test('retiring an agent deletes its secrets, also from an external store, and none can be set afterwards', async () => {
  for (const baton of [outside, sealed]) {
    const { id, key } = await publishAgent(baton.admin);
    const names = [await putAgentSecret(baton.admin, key), await putAgentSecret(baton.admin, key)].sort();
    await done(baton.admin.post(`/agents/${key}:retire`, { reason: 'x' }));
    assert.deepEqual(await namesOf(baton, key), []);
    const deleted = (await said(baton, id)).filter(([type]) => type === 'agent.secret_deleted');
    assert.deepEqual(
      deleted.map(([, payload]) => payload),
      names.map((name) => ({ agentKey: key, name })),
    );
    await workOff(baton);
    for (const name of names) assert.equal(vault.values.has(pathInStore(baton, key, name)), false);
    const rows = await baton.pool.rows(sql`select from sealed_secrets where folder = ${`agents/${key}`}`);
    assert.deepEqual(rows, []);
    await refused(baton.admin.put(path(key, 'a'), { value: newSecretValue() }), 409, 'agent_retired');
    await refused(baton.admin.delete(path(key, names[0] as string)), 409, 'agent_retired');
  }
});

test('an agent that retires during the request to the store keeps no secret there', async () => {
  const { key } = await publishAgent(outside.admin);
  vault.beforeAnswer = async () => {
    delete vault.beforeAnswer;
    await done(outside.admin.post(`/agents/${key}:retire`, { reason: 'x' }));
  };
  await refused(outside.admin.put(path(key, 'late'), { value: newSecretValue() }), 409, 'agent_retired');
  assert.equal(vault.values.has(pathInStore(outside, key, 'late')), false);
  const { key: other } = await publishAgent(outside.admin);
  await putAgentSecret(outside.admin, other);
  const name = await putAgentSecret(outside.admin, other);
  vault.beforeAnswer = async () => {
    delete vault.beforeAnswer;
    await done(outside.admin.post(`/agents/${other}:retire`, { reason: 'x' }));
  };
  await refused(outside.admin.put(path(other, name), { value: newSecretValue() }), 409, 'agent_retired');
  await workOff(outside);
  assert.equal(vault.values.has(pathInStore(outside, other, name)), false);
});

test('a secret whose agent retires at the end of a write is deleted from the store', async () => {
  const { key } = await publishAgent(outside.admin);
  const name = await putAgentSecret(outside.admin, key);
  await noteUse(key, name, true);
  const secret = { tenantId: outside.tenantId, folder: `agents/${key}`, name };
  const due = await outside.pool.row<{ due_at: string }>(
    sql`select due_at from secret_leftovers where name = ${name}`,
  );
  const { tools, close } = makeWorkerTools(outside);
  const db: Db = {
    ...tools.pool,
    rows: (statement) => tools.pool.rows(statement),
    run: (statement) => tools.pool.run(statement),
    async row(statement) {
      const taken = await tools.pool.row(statement);
      // The entry still has a row when it is read, and loses that row before it is deleted.
      await done(outside.admin.post(`/agents/${key}:retire`, { reason: 'x' }));
      return taken;
    },
  };
  assert.equal(await endLeftover({ db, secrets: tools.secrets }, secret, due?.due_at ?? ''), 1);
  await close();
  assert.equal(vault.values.has(pathInStore(outside, key, name)), false);
  assert.deepEqual(await leftovers(outside), []);
});

test('while the store is unavailable no secret can be set; a deletion is accepted, and executed when the store is back', async () => {
  const { key } = await publishAgent(outside.admin);
  const name = await putAgentSecret(outside.admin, key);
  vault.behave({ answer: { status: 503 } });
  await refused(
    outside.admin.put(path(key, 'new'), { value: newSecretValue() }),
    503,
    'secret_store_unavailable',
  );
  await done(outside.admin.delete(path(key, name)), 204);
  assert.deepEqual(await namesOf(outside, key), []);
  await workOff(outside);
  assert.equal((await leftovers(outside)).length, 2, 'they are pending');
  vault.behave({});
  await workOff(outside);
  assert.deepEqual(await leftovers(outside), []);
  assert.equal(vault.values.has(pathInStore(outside, key, name)), false);
});

test('while one write of a secret is running, another waits and is then refused', async (t) => {
  const passTime = stopClock(t);
  const { key } = await publishAgent(outside.admin);
  const name = await putAgentSecret(outside.admin, key);
  await noteUse(key, name, true);
  const acts = [
    outside.admin.put(path(key, name), { value: newSecretValue() }),
    outside.admin.delete(path(key, name)),
  ];
  let answered = 0;
  for (const act of acts) void act.then(() => (answered += 1));
  for (; answered < acts.length; await sleep(10)) passTime(250);
  for (const act of acts) await refused(act, 503, 'secret_store_unavailable');
  await workOff(outside);
  await done(outside.admin.delete(path(key, name)), 204);
});

test('after concurrent writes and deletions the store has a secret if and only if the agent has one', async () => {
  const { key } = await publishAgent(outside.admin);
  for (let round = 0; round < byDepth(3, 10); round += 1) {
    const acts = Array.from({ length: 6 }, (_, n) =>
      n % 2 === 0
        ? outside.admin.put(path(key, 'fought'), { value: newSecretValue() })
        : outside.admin.delete(path(key, 'fought')),
    );
    for (const { status } of await Promise.all(acts))
      assert.ok([200, 201, 204, 404].includes(status), `${status}`);
    const isNamed = (await namesOf(outside, key)).includes('fought');
    assert.equal(vault.values.has(pathInStore(outside, key, 'fought')), isNamed);
  }
  assert.deepEqual(await leftovers(outside), []);
});

test('a value left by a killed process is deleted if the agent has no such secret, and kept otherwise', async () => {
  const { key } = await publishAgent(outside.admin);
  const name = await putAgentSecret(outside.admin, key);
  vault.beforeAnswer = async () => {
    delete vault.beforeAnswer;
    // The command commits after the worker has taken over the path.
    await workOff(outside);
  };
  await refused(
    outside.admin.put(path(key, 'slow'), { value: newSecretValue() }),
    503,
    'secret_store_unavailable',
  );
  await noteUse(key, name, true);
  await noteUse(key, 'slow', false);
  await workOff(outside);
  assert.ok(!vault.values.has(pathInStore(outside, key, 'slow')));
  assert.ok(vault.values.has(pathInStore(outside, key, name)));
  assert.deepEqual(await leftovers(outside), []);
});
