import assert from 'node:assert/strict';
import { after, afterEach, before, beforeEach, test } from 'node:test';
import { sql } from '@baton/kernel/database/sql';
import { createLog } from '@baton/kernel/process/log';
import { startWorker, type Worker } from '../../app/worker.ts';
import { startCoordination, type TestCoordination } from '../../testing/coordination.ts';
import { writeEvents } from '../../testing/ledger/journal-writer.ts';
import { emptyOutbox, testSink } from '../../testing/ledger/sinks.ts';
import { until } from '../../testing/wait-until.ts';
import { createDistribution } from '../outbox/distribution.ts';
import { deliverOutbox } from '../outbox/outbox.ts';
import { declare } from './declared-sinks.ts';
import type { Sink } from './sink.ts';

let baton: TestCoordination;
const working: Worker[] = [];
before(async () => {
  baton = await startCoordination();
});
after(() => baton.close());
beforeEach(() => emptyOutbox(baton.pool));
afterEach(() => Promise.all(working.splice(0).map((worker) => worker.close())));
async function end(worker: Worker): Promise<void> {
  working.splice(working.indexOf(worker), 1);
  await worker.close();
}

const lines: string[] = [];
const log = createLog({ name: 'worker', level: 'warn', destination: { write: (line) => lines.push(line) } });
const startWith = async (sinks: readonly Sink[]): Promise<Worker> => {
  const worker = await startWorker({ env: baton.env, log, sinks });
  working.push(worker);
  return worker;
};
const write = (count: number, more: object = {}) =>
  writeEvents(
    baton.pool,
    baton.tenantId,
    Array.from({ length: count }, () => more),
  );
const isEmpty = async () => (await baton.pool.row(sql`select 1 from outbox limit 1`)) === undefined;
/** The parts of a worker, which the test runs on demand. */
const tools = () => ({
  pool: baton.pool,
  log,
  settings: {
    CP_OUTBOX_BATCH_SIZE: 50,
    CP_OUTBOX_LOCK_TIMEOUT_SECONDS: 60,
    CP_OUTBOX_DROPPED_AGE_SECONDS: 60,
  } as Parameters<typeof deliverOutbox>[0]['settings'],
});
const waiting = () =>
  baton.pool.rows<{ sink: string; id: string }>(sql`
    select d.sink, e.id from outbox_deliveries d cross join lateral unnest(d.event_sequences) as s (sequence)
    join events e on e.sequence = s.sequence order by d.sink, e.sequence`);
const idsFor = async (name: string) =>
  (await waiting()).filter(({ sink }) => sink === name).map(({ id }) => id);

test("a worker distributes events to a sink even if its file doesn't list it, or it has no file", async () => {
  const delivered: string[] = [];
  const one = testSink(async ({ id }) => void delivered.push(id), { name: 'one' });
  const first = await startWith([one]);
  await startWith([]);
  await startWith([testSink(async () => undefined, { name: 'two' })]);
  const ids: string[] = [];
  for (let n = 0; n < 20; n += 1) ids.push(...(await write(20)));
  await until(() => delivered.length === 400, 'all events');
  await end(first);
  // No worker delivers to the sink now, so its events stay pending.
  ids.push(...(await write(50)));
  await until(isEmpty, 'the outbox to be empty');
  await startWith([one]);
  await until(() => delivered.length === 450, 'the pending events');
  assert.deepEqual(delivered.toSorted(), ids.toSorted());
});

test('while workers declare different filters for a sink, it gets each event that matches one of them, once', async () => {
  const filterOf = (types: string[]) => ({ tenants: null, typePatterns: types });
  const old = declare(tools(), [
    testSink(async () => undefined, { filter: filterOf(['session.opened%', 'session.expired%']) }),
  ]);
  const young = declare(tools(), [
    testSink(async () => undefined, { filter: filterOf(['session.closed%', 'session.expired%']) }),
  ]);
  await old.made();
  await young.made();
  const types = ['session.opened', 'session.closed', 'session.expired', 'session.heartbeat'];
  const [opened, closed, expired] = await writeEvents(
    baton.pool,
    baton.tenantId,
    types.map((type) => ({ type })),
  );
  await createDistribution(tools(), young.made)();
  assert.deepEqual(await idsFor('test'), [opened, closed, expired]);
  // The last worker with the old filter ended ten minutes ago.
  await baton.pool.run(sql`
    update outbox_sinks set seen_at = now() - interval '11 minutes' where 'session.opened%' = any (type_patterns)`);
  await write(1);
  await createDistribution(tools(), young.made)();
  assert.equal((await waiting()).length, 3);
  // Without any worker, the last filters stay in force.
  await baton.pool.run(sql`update outbox_sinks set seen_at = now() - interval '2 days'`);
  const [late] = await write(1, { type: 'session.closed' });
  await createDistribution(tools(), async () => undefined)();
  assert.equal((await idsFor('test')).at(-1), late);
});

test('a filter that no worker has declared for an hour is deleted, a sink never is', async () => {
  const named = (patterns: string[]) =>
    declare(tools(), [
      testSink(async () => undefined, { filter: { tenants: null, typePatterns: patterns } }),
    ]);
  await named(['a%']).made();
  await baton.pool.run(sql`update outbox_sinks set seen_at = now() - interval '2 hours'`);
  const count = async () =>
    (await baton.pool.row<{ n: number }>(sql`select count(*) as n from outbox_sinks`))?.n;
  await declare(tools(), []).job.run();
  assert.equal(await count(), 1);
  await named(['b%']).job.run();
  assert.deepEqual(await baton.pool.rows(sql`select type_patterns from outbox_sinks`), [
    { type_patterns: ['b%'] },
  ]);
});

test('a sink that a file discards gets no more events, although the file of a running worker lists it', async () => {
  const delivered: string[] = [];
  const worker = await startWith([testSink(async ({ id }) => void delivered.push(id))]);
  await write(1);
  await until(() => delivered.length === 1);
  await end(worker);
  await write(1);
  const { made } = declare(tools(), [testSink(async () => undefined)]);
  await made();
  await createDistribution(tools(), made)();
  assert.equal((await waiting()).length, 1);
  const jobs = deliverOutbox(tools(), { open: [], discarded: ['test'] });
  await jobs.find(({ name }) => name === 'outbox discard')?.run();
  assert.deepEqual(await waiting(), []);
  await write(1);
  await createDistribution(tools(), made)();
  assert.deepEqual(await waiting(), []);
});

test("the log lists sinks with pending events that are in no worker's file, whatever happened to the events", async () => {
  const insert = (sink: string, isNew: boolean) =>
    baton.pool.run(sql`
      insert into outbox_deliveries (lead, sink, tenant_id, event_sequences, oldest_position, is_new)
      values (-1, ${sink}, ${baton.tenantId}, array[-1], 1, ${isNew})`);
  await insert('fresh', true);
  await insert('tried', false);
  await insert('known', false);
  await declare(tools(), [
    testSink(async () => undefined, { name: 'ended' }),
    testSink(async () => undefined, { name: 'elsewhere' }),
  ]).made();
  await baton.pool.run(
    sql`update outbox_sinks set seen_at = now() - interval '11 minutes' where name = 'ended'`,
  );
  lines.length = 0;
  const jobs = deliverOutbox(tools(), {
    open: [testSink(async () => undefined, { name: 'known' })],
    discarded: [],
  });
  await jobs.find(({ name }) => name === 'outbox forgotten')?.run();
  const [warning] = lines.map((line) => JSON.parse(line) as { sinks: string[] });
  assert.deepEqual(warning?.sinks.toSorted(), ['ended', 'fresh', 'tried']);
});
