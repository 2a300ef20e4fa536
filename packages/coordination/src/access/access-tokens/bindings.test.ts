import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { Db } from '@baton/kernel/database/db';
import { sql } from '@baton/kernel/database/sql';
import { assertTookLess } from '@baton/testing/depth';
import { newId } from '@baton/values/ids';
import { stopClock } from '../../testing/clock.ts';
import { type Actor, listen, startCoordination, type TestCoordination } from '../../testing/coordination.ts';
import { createBindings } from './bindings.ts';
import type { EntryRow } from './entry.ts';

const readAtOnce = <T>(read: () => Promise<T>) => read();

/** A store whose responses the test provides, one by one. */
function fakeStore() {
  const asked: { answer(entry: EntryRow | undefined): void; fail(): void }[] = [];
  const db = {
    row: () =>
      new Promise((resolve, reject) => {
        asked.push({ answer: resolve, fail: () => reject(new Error('the store is down')) });
      }),
  } as unknown as Db;
  return { db, asked };
}

const entry = (status = 'active') => ({ binding_status: status }) as EntryRow;

async function loaded(options: { ttlMs: number; staleAfterMs: number }, first: EntryRow | undefined) {
  const { db, asked } = fakeStore();
  const bindings = createBindings(db, readAtOnce, options);
  const found = bindings.find('issuer', 'who');
  asked[0]?.answer(first);
  assert.equal(await found, first);
  return { bindings, asked };
}

test('a binding is read once per period, and concurrent callers share the read', async (t) => {
  const passTime = stopClock(t);
  const { db, asked } = fakeStore();
  const bindings = createBindings(db, readAtOnce, { ttlMs: 300, staleAfterMs: 600 });
  const waiting = Promise.all(Array.from({ length: 10 }, () => bindings.find('issuer', 'who')));
  const known = entry();
  asked[0]?.answer(known);
  assert.deepEqual(new Set(await waiting), new Set([known]));
  await bindings.find('issuer', 'who');
  assert.equal(asked.length, 1);
  passTime(320);
  void bindings.find('issuer', 'who');
  assert.equal(asked.length, 2);
});

test('absence is cached up to the stale bound', async (t) => {
  const passTime = stopClock(t);
  const { bindings, asked } = await loaded({ ttlMs: 10, staleAfterMs: 400 }, undefined);
  passTime(20);
  assert.equal(await bindings.find('issuer', 'who'), undefined);
  assert.equal(asked.length, 1);
  passTime(420);
  void bindings.find('issuer', 'who');
  assert.equal(asked.length, 2);
});

test('if a binding cannot be read again, the cached one is used up to the stale bound; later requests are refused', async (t) => {
  const passTime = stopClock(t);
  const known = entry();
  const { bindings, asked } = await loaded({ ttlMs: 10, staleAfterMs: 400 }, known);
  passTime(20);
  const served = bindings.find('issuer', 'who');
  asked[1]?.fail();
  assert.equal(await served, known);
  passTime(420);
  const closed = bindings.find('issuer', 'who');
  asked[2]?.fail();
  await assert.rejects(closed, /the store is down/);
});

test('a load that began before a change does not restore the old binding', async () => {
  const { db, asked } = fakeStore();
  const bindings = createBindings(db, readAtOnce, { ttlMs: 60_000, staleAfterMs: 60_000 });
  const before = bindings.find('issuer', 'who');
  bindings.forget('issuer', 'who');
  const afterChange = bindings.find('issuer', 'who');
  assert.equal(asked.length, 2, 'the load in progress is not shared');
  asked[1]?.answer(entry('revoked'));
  assert.equal((await afterChange)?.binding_status, 'revoked');
  asked[0]?.answer(entry());
  await before;
  assert.equal((await bindings.find('issuer', 'who'))?.binding_status, 'revoked');
});

test('identities with different issuers or principals have separate entries', async () => {
  const { bindings, asked } = await loaded({ ttlMs: 60_000, staleAfterMs: 60_000 }, entry());
  void bindings.find('other issuer', 'who');
  void bindings.find('issuer', 'who else');
  bindings.forget('issuer', 'who else');
  assert.equal(asked.length, 3);
  await bindings.find('issuer', 'who');
  assert.equal(asked.length, 3);
});

let baton: TestCoordination;
let agent: Actor;
before(async () => {
  baton = await startCoordination({ CP_IAM_BINDING_STALE_AFTER_SECONDS: '1' });
  agent = await baton.actor();
});
after(() => baton.close());

const lastUse = () =>
  baton.pool.row<{ used: string | null }>(sql`
    select last_used_at as used from iam_bindings where principal_id = ${agent.principalId}`);

test('lastUsedAt of a binding is only written when the binding is read', async () => {
  assert.equal((await lastUse())?.used, null);
  await agent.get('/principals');
  const first = await lastUse();
  assert.notEqual(first?.used, null);
  await new Promise((passed) => setTimeout(passed, 5));
  await agent.get('/principals');
  assert.deepEqual(await lastUse(), first);
});

test('a binding that was inserted directly into the database takes effect after the cache period', async (t) => {
  const passTime = stopClock(t);
  const iamPrincipalId = newId();
  const { issuer } = baton.issuer;
  const token = await baton.issuer.sign({
    sub: iamPrincipalId,
    tenant_id: baton.tenantId,
    scope: 'control-plane:read',
  });
  const enter = async () => (await baton.request('GET', '/api/v1/principals', { token })).status;
  assert.equal(await enter(), 401);
  await baton.pool.run(sql`
    insert into iam_bindings (id, tenant_id, principal_id, issuer, iam_tenant_id, iam_principal_id, permissions)
    values (${newId()}, ${baton.tenantId}, ${agent.principalId}, ${issuer}, ${baton.tenantId}, ${iamPrincipalId},
      array['principals.read'])`);
  assert.equal(await enter(), 401);
  passTime(1050);
  assert.equal(await enter(), 200);
});

test('a request does not wait for a command that has locked the binding', async () => {
  const closers: (() => Promise<void>)[] = [];
  const { url } = await listen({ ...baton.env }, closers);
  const started = performance.now();
  await baton.pool.transaction(async (tx) => {
    await tx.run(sql`select id from iam_bindings where principal_id = ${agent.principalId} for update`);
    const headers = { authorization: `Bearer ${agent.token}` };
    assert.equal((await fetch(`${url}/api/v1/principals`, { headers })).status, 200);
  });
  assertTookLess(started, 3000);
  for (const close of closers) await close();
});
