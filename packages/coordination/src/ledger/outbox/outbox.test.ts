import assert from 'node:assert/strict';
import { after, afterEach, before, beforeEach, test } from 'node:test';
import { sql } from '@baton/kernel/database/sql';
import { createLog } from '@baton/kernel/process/log';
import { assertTookLess, byDepth } from '@baton/testing/depth';
import { startWorker, type Worker } from '../../app/worker.ts';
import { startCoordination, type TestCoordination } from '../../testing/coordination.ts';
import { writeEvents } from '../../testing/ledger/journal-writer.ts';
import { type Deliver, emptyOutbox, testSink } from '../../testing/ledger/sinks.ts';

let baton: TestCoordination;
const sendMs = 500;
const log = createLog({ name: 'worker', level: 'silent' });

before(async () => {
  baton = await startCoordination({
    CP_OUTBOX_BACKOFF_BASE_SECONDS: '1',
    CP_OUTBOX_BACKOFF_MAX_SECONDS: '1',
    CP_OUTBOX_MAX_ATTEMPTS: '3',
  });
});
after(() => baton.close());
beforeEach(() => emptyOutbox(baton.pool));

interface Waiting {
  id: string;
  attempts: number;
  dead: boolean;
  last_error: string | null;
}
/** Each pending event, in the outbox or for a sink. */
const left = () =>
  baton.pool.rows<Waiting>(sql`
    select e.id, w.attempts, w.dead, w.last_error
    from (
      select event_sequence as sequence, 0 as attempts, false as dead, null as last_error from outbox
      union all
      select unnest(event_sequences), attempts, dead_at is not null, last_error from outbox_deliveries
    ) w join events e using (sequence) order by sequence`);

async function until(holds: () => boolean | Promise<boolean>, waitMs = 60_000): Promise<void> {
  for (const end = performance.now() + waitMs; performance.now() < end; ) {
    if (await holds()) return;
    await new Promise((done) => setTimeout(done, 10));
  }
  throw new Error('the condition was never true');
}

const working: Worker[] = [];
// If a failed test left a worker running, it would deliver the events of the next test.
afterEach(() => Promise.all(working.splice(0).map((worker) => worker.close())));

async function start(deliver?: Deliver, env: Record<string, string> = {}): Promise<Worker> {
  const sinks = deliver === undefined ? [] : [testSink(deliver, { timeoutMs: sendMs })];
  const worker = await startWorker({ env: { ...baton.env, ...env }, log, sinks });
  working.push(worker);
  return worker;
}

test('a change writes its outbox row with its event, and a worker delivers it', async () => {
  const made = await baton.admin.post('/tasks', { title: 'to be delivered' });
  assert.equal(made.status, 201);
  assert.equal((await left()).length, 1);
  const delivered: string[] = [];
  await start(async (event) => void delivered.push(`${event.type} ${event.entityId}`));
  await until(async () => (await left()).length === 0);
  assert.deepEqual(delivered, [`task.created ${made.body.id}`]);
});

test('without a sink outbox rows are deleted, thousands in a second', async () => {
  for (let n = 0; n < 20; n += 1)
    await writeEvents(
      baton.pool,
      baton.tenantId,
      Array.from({ length: 250 }, () => ({})),
    );
  assert.equal((await left()).length, 5000);
  await start();
  const startedAt = performance.now();
  await until(async () => (await left()).length === 0);
  assertTookLess(startedAt, 5000);
});

test('several workers together deliver each event once', async () => {
  const delivered: string[] = [];
  const sink: Deliver = async ({ id }) => void delivered.push(id);
  const written: string[] = [];
  for (let n = 0; n < 10; n += 1)
    written.push(
      ...(await writeEvents(
        baton.pool,
        baton.tenantId,
        Array.from({ length: 60 }, () => ({})),
      )),
    );
  await Promise.all([start(sink), start(sink), start(sink)]);
  await until(async () => (await left()).length === 0);
  assert.deepEqual(delivered.toSorted(), written.toSorted());
});

test('a failed delivery is retried after a delay, and delays no other', async () => {
  const [broken, fine] = await writeEvents(baton.pool, baton.tenantId, [{}, {}]);
  const seen: string[] = [];
  let failuresLeft = 1;
  const deliver: Deliver = async ({ id }) => {
    seen.push(id);
    if (id === broken && failuresLeft-- > 0) throw new Error('receiver is away');
  };
  // These pauses outlast the wait for the failure; a pause of a second could be missed on a busy machine.
  await start(deliver, { CP_OUTBOX_BACKOFF_BASE_SECONDS: '600', CP_OUTBOX_BACKOFF_MAX_SECONDS: '600' });
  let waiting: Waiting | undefined;
  await until(async () => {
    const [one, ...others] = await left();
    waiting = one;
    return others.length === 0 && one?.last_error === 'receiver is away';
  });
  assert.deepEqual([waiting?.attempts, waiting?.dead], [1, false]);
  assert.deepEqual(seen, [broken, fine]);
  await baton.pool.run(sql`update outbox_deliveries set available_at = now() - interval '1 ms'`);
  await until(async () => (await left()).length === 0);
  assert.deepEqual(seen, [broken, fine, broken]);
});

test('after the last attempt it becomes a dead letter and is not retried', async () => {
  await writeEvents(baton.pool, baton.tenantId, [{}]);
  let attempts = 0;
  await start(async () => {
    attempts += 1;
    throw new Error('never');
  });
  await until(async () => (await left())[0]?.dead === true);
  await new Promise((done) => setTimeout(done, byDepth(500, 1500)));
  assert.equal(attempts, 3);
  assert.equal((await left())[0]?.attempts, 3);
});

test('an error whose text the database cannot store only affects its own event', async () => {
  const [broken, torn, fine] = await writeEvents(baton.pool, baton.tenantId, [{}, {}, {}]);
  const delivered: string[] = [];
  const lines: string[] = [];
  const visible = createLog({
    name: 'worker',
    level: 'error',
    destination: { write: (line) => lines.push(line) },
  });
  const worker = await startWorker({
    env: baton.env,
    log: visible,
    sinks: [
      testSink(async ({ id }) => {
        if (id === broken) throw new Error('no \u0000 room');
        // The 500th character of the message is the first half of a surrogate pair.
        if (id === torn) throw new Error(`${'x'.repeat(499)}\u{1f600}`);
        delivered.push(id);
      }),
    ],
  });
  working.push(worker);
  await until(async () => (await left()).length === 2 && (await left()).every(({ dead }) => dead));
  assert.deepEqual(delivered, [fine]);
  assert.deepEqual(
    (await left()).map(({ attempts }) => attempts),
    [3, 3],
  );
  assert.equal(lines.filter((line) => line.includes('became a dead letter')).length, 2);
});

test('events that a crashed worker had locked become due again', async () => {
  const [id] = await writeEvents(baton.pool, baton.tenantId, [{}]);
  await baton.pool.run(sql`
    with gone as (delete from outbox returning event_sequence, tenant_id)
    insert into outbox_deliveries (lead, sink, tenant_id, event_sequences, oldest_position, is_new, attempts, available_at)
    select event_sequence, 'test', tenant_id, array[event_sequence], 1, false, 1, now() + interval '1 second' from gone`);
  const delivered: string[] = [];
  await start(async (event) => void delivered.push(event.id));
  await until(() => delivered.length > 0);
  assert.deepEqual(delivered, [id]);
});

/** A sink that never responds for some events, even after its signal has aborted. */
function silentFor(ids: readonly (string | undefined)[], delivered: string[]) {
  const signals: AbortSignal[] = [];
  const sink: Deliver = ({ id }, signal: AbortSignal) => {
    if (!ids.includes(id)) return Promise.resolve(void delivered.push(id));
    signals.push(signal);
    return new Promise(() => undefined);
  };
  return { sink, signals };
}

test('a delivery without a response fails after the timeout of its sink, is retried, and becomes a dead letter', async () => {
  const [silent, fine] = await writeEvents(baton.pool, baton.tenantId, [{}, {}]);
  const delivered: string[] = [];
  const { sink, signals } = silentFor([silent], delivered);
  await start(sink);
  await until(async () => (await left())[0]?.dead === true);
  const [row, ...others] = await left();
  assert.deepEqual([row?.attempts, row?.last_error], [3, `no response within ${sendMs} ms`]);
  assert.deepEqual([others, delivered], [[], [fine]]);
  assert.deepEqual(
    signals.map(({ aborted }) => aborted),
    [true, true, true],
  );
});

test('100 deliveries without a response delay no other, and the worker can be closed meanwhile', async () => {
  const silent = await writeEvents(
    baton.pool,
    baton.tenantId,
    Array.from({ length: 100 }, () => ({})),
  );
  const delivered: string[] = [];
  const { sink } = silentFor(silent, delivered);
  const beganAt = performance.now();
  await start(sink);
  const behind = await writeEvents(baton.pool, baton.tenantId, [{}, {}]);
  await until(async () => (await left()).length === silent.length);
  assert.deepEqual(delivered, behind);
  await Promise.all(working.splice(0).map((worker) => worker.close()));
  // Waiting until the silent deliveries are abandoned would take 10 s.
  assertTookLess(beganAt, 9000);
});

test('a worker delivers no event of an uncommitted change, and does not wait for it', async () => {
  const delivered: string[] = [];
  await start(async ({ id }) => void delivered.push(id));
  await baton.pool.transaction(async (tx) => {
    const [open] = await writeEvents(tx, baton.tenantId, [{}]);
    const [done] = await writeEvents(baton.pool, baton.tenantId, [{}]);
    await until(() => delivered.includes(done as string));
    assert.ok(!delivered.includes(open as string));
  });
  await until(() => delivered.length === 2);
});
