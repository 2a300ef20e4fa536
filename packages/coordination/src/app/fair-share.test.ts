import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { createPool, type Pool } from '@baton/kernel/database/db';
import { sql } from '@baton/kernel/database/sql';
import { assertTookLess } from '@baton/testing/depth';
import { newKey } from '../access/authn/key-material.ts';
import { startCoordination, type TestCoordination } from '../testing/coordination.ts';
import { until } from '../testing/wait-until.ts';

const parallel = 40;

let baton: TestCoordination;
let holder: Pool;
before(async () => {
  baton = await startCoordination({ CP_DATABASE_CONNECTIONS_MAX: '20', CP_LEGACY_API_KEYS_ENABLED: 'true' });
  holder = createPool({
    url: baton.databaseUrl,
    connectionsMax: 1,
    applicationName: 'holder',
    statementTimeoutMs: 30_000,
    lockTimeoutMs: 30_000,
    idleInTransactionTimeoutMs: 30_000,
    onError: () => undefined,
  });
});
after(async () => {
  await holder.close();
  await baton.close();
});

/** While `tasks` is locked, every search in it takes as long as its timeout: the worst possible search. */
test('40 searches that reach their timeout leave connections for another tenant, and end soon', async () => {
  assert.equal((await baton.otherAdmin.get('/principals')).status, 200);
  await holder.transaction(async (tx) => {
    await tx.run(sql`lock table tasks in access exclusive mode`);
    const startedAt = performance.now();
    const searches = Array.from({ length: parallel }, () => baton.admin.get('/tasks?q=a+b+c+d+e+f+g+h+i+j'));
    const all = Promise.all(searches);
    await untilWaiting();
    const bystander = await baton.otherAdmin.get('/principals');
    assertTookLess(startedAt, 2500, 'the bystander');
    assert.equal(bystander.status, 200);
    assert.equal(
      (await baton.admin.post('/sessions', { clientName: 'own', controlLevel: 'observed' })).status < 500,
      true,
    );
    for (const { status, headers } of await all) {
      assert.equal(status, 503);
      assert.equal(headers.get('retry-after'), '1');
    }
    assertTookLess(startedAt, 9000);
  });
  assert.equal((await baton.admin.get('/tasks?q=a')).status, 200);
});

test('40 concurrent unknown API keys use a quarter of the connections, and their queue delays no other request', async () => {
  const unread = await baton.actor();
  const answers = await holder.transaction(async (tx) => {
    await tx.run(sql`lock table api_keys in access exclusive mode`);
    const strangers = Array.from({ length: parallel }, () =>
      baton.request('GET', '/api/v1/principals', { token: newKey().key }),
    );
    await until(async () => (await waitingFor('api_keys')) >= 5, '5 keys are being read');
    const startedAt = performance.now();
    for (const { get } of [baton.otherAdmin, unread])
      assert.equal((await get('/principals')).status, 200, 'known or not, a token is admitted');
    assertTookLess(startedAt, 3000);
    assert.equal(await waitingFor('api_keys'), 5);
    return { strangers: Promise.all(strangers) };
  });
  for (const { status } of await answers.strangers) assert.equal(status, 401);
});

/** Waits until at least 4 searches wait for the lock, which is the maximum that one principal may run. */
async function untilWaiting(): Promise<void> {
  await until(async () => (await waitingFor('tasks')) >= 4, '4 searches wait');
}

async function waitingFor(table: string): Promise<number> {
  const row = await baton.pool.row(sql<{ n: number }>`
    select count(*)::integer as n from pg_locks join pg_stat_activity using (pid)
    where not granted and relation = ${table}::regclass and datname = current_database()`);
  return row?.n ?? 0;
}
