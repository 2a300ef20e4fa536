import assert from 'node:assert/strict';
import { after, afterEach, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { sql } from '@baton/kernel/database/sql';
import { createLog } from '@baton/kernel/process/log';
import { longTest } from '@baton/testing/depth';
import { startWorker, type Worker } from '../../app/worker.ts';
import { startCoordination, type TestCoordination } from '../../testing/coordination.ts';
import { writeEvents } from '../../testing/ledger/journal-writer.ts';
import {
  archiveThrough,
  confirmJournal,
  makeTenant,
  pruneThrough,
  storedEvents,
} from '../../testing/ledger/retention.ts';
import { until } from '../../testing/wait-until.ts';

let baton: TestCoordination;
const log = createLog({ name: 'worker', level: 'silent' });
const workers: Worker[] = [];

before(async () => {
  baton = await startCoordination();
});
after(() => baton.close());
afterEach(() => Promise.all(workers.splice(0).map((worker) => worker.close())));

const start = async (env: Record<string, string> = {}) => {
  workers.push(await startWorker({ env: { ...baton.env, ...env }, log }));
};
const write = async (tenantId: string, count: number) => {
  const ids = await writeEvents(
    baton.pool,
    tenantId,
    Array.from({ length: count }, () => ({})),
  );
  await confirmJournal(baton.pool, tenantId);
  return ids;
};
const hasStored = async (tenantId: string, hot: number, archived: number) => {
  const now = await storedEvents(baton.pool, tenantId);
  return now.hot === hot && now.archived === archived;
};
const archivings = (tenantId: string) =>
  baton.pool.rows<{
    archived: number;
    actor_id: string | null;
    request_id: string;
    correlation_id: string;
  }>(sql`
    select (payload ->> 'archived')::int as archived, actor_id, request_id, correlation_id from events
    where tenant_id = ${tenantId} and type = 'event_journal.archived' order by position, sequence`);

test('a worker moves and deletes the rows that a call left when its process died', async () => {
  const tenants = [await makeTenant(baton.pool), await makeTenant(baton.pool)];
  for (const tenantId of tenants) {
    const ids = await write(tenantId, 20);
    await archiveThrough(baton.pool, tenantId, ids[14], 5);
    await pruneThrough(baton.pool, tenantId, ids[3], 1);
  }
  await start();
  for (const tenantId of tenants) await until(() => hasStored(tenantId, 5, 11));
});

test('a worker moves the others while one tenant is locked', async () => {
  const [locked, free] = [await makeTenant(baton.pool), await makeTenant(baton.pool)].toSorted() as [
    string,
    string,
  ];
  for (const tenantId of [locked, free]) {
    const ids = await write(tenantId, 3);
    await archiveThrough(baton.pool, tenantId, ids[1], 0);
  }
  await baton.pool.transaction(async (tx) => {
    await tx.row(sql`select tenant_id from journal_floors where tenant_id = ${locked} for update`);
    await start();
    await until(() => hasStored(free, 1, 2));
    assert.ok(await hasStored(locked, 3, 0));
  });
  await until(() => hasStored(locked, 1, 2));
});

test('nothing is archived automatically without CP_JOURNAL_ARCHIVE_INTERVAL_SECONDS', async () => {
  const tenantId = await makeTenant(baton.pool);
  await write(tenantId, 2);
  await start({ CP_JOURNAL_RETENTION_MIN_AGE_SECONDS: '0', CP_WORKER_POLL_INTERVAL_SECONDS: '1' });
  await sleep(1500);
  assert.ok(await hasStored(tenantId, 2, 0));
});

test('on schedule each tenant is archived once per interval, by one of several workers', async () => {
  const tenants = [await makeTenant(baton.pool), await makeTenant(baton.pool)];
  const without = await makeTenant(baton.pool);
  for (const tenantId of tenants) await write(tenantId, 4);
  await writeEvents(baton.pool, without, [{}]);
  const env = { CP_JOURNAL_RETENTION_MIN_AGE_SECONDS: '0', CP_JOURNAL_ARCHIVE_INTERVAL_SECONDS: '3600' };
  await Promise.all([start(env), start(env), start(env)]);
  for (const tenantId of tenants) {
    await until(() => hasStored(tenantId, 1, 4));
    assert.deepEqual(await archivings(tenantId), [
      { archived: 4, actor_id: null, request_id: 'worker', correlation_id: 'worker-journal-archive' },
    ]);
  }
  assert.ok(await hasStored(without, 1, 0), 'a tenant without a consumer is skipped');
  // No tenant is due for another hour; then all are, longest due first.
  await write(tenants[0] as string, 1);
  await sleep(1200);
  assert.equal((await archivings(tenants[0] as string)).length, 1);
  await baton.pool.run(
    sql`update journal_floors set archive_due_at = now() - interval '1 s' where tenant_id = ${tenants[0]}`,
  );
  await until(async () => (await archivings(tenants[0] as string)).length === 2);
});

longTest('a tenant with more than 10,000 events to archive is due again immediately', async () => {
  const tenantId = await makeTenant(baton.pool);
  await baton.pool.run(sql`
    insert into events (id, tenant_id, type, schema_version, entity_type, entity_id, request_id, payload)
    select gen_random_uuid(), ${tenantId}, 'session.opened', 1, 'session', gen_random_uuid(), 'test', '{}'
    from generate_series(1, 10005)`);
  await confirmJournal(baton.pool, tenantId);
  await start({ CP_JOURNAL_RETENTION_MIN_AGE_SECONDS: '0', CP_JOURNAL_ARCHIVE_INTERVAL_SECONDS: '3600' });
  await until(async () => (await archivings(tenantId)).length === 2);
  assert.deepEqual(
    (await archivings(tenantId)).map(({ archived }) => archived),
    [10_000, 5],
  );
});
