import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { after, afterEach, before, beforeEach, test } from 'node:test';
import { sql } from '@baton/kernel/database/sql';
import { createLog } from '@baton/kernel/process/log';
import { byDepth } from '@baton/testing/depth';
import { startWorker, type Worker } from '../../app/worker.ts';
import { startCoordination, type TestCoordination } from '../../testing/coordination.ts';
import { writeEvents } from '../../testing/ledger/journal-writer.ts';
import { type Deliver, emptyOutbox, testSink } from '../../testing/ledger/sinks.ts';
import { until } from '../../testing/wait-until.ts';
import { SinkAway } from '../sinks/sink.ts';

let baton: TestCoordination;
const working: Worker[] = [];
/** Longer than any wait in a test, so that a pause never ends during a wait. */
const restSeconds = '60';
before(async () => {
  baton = await startCoordination({ CP_OUTBOX_BATCH_SIZE: '3', CP_OUTBOX_BACKOFF_BASE_SECONDS: restSeconds });
});
after(() => baton.close());
beforeEach(() => emptyOutbox(baton.pool));
afterEach(() => Promise.all(working.splice(0).map((worker) => worker.close())));

async function start(deliver: Deliver, env: Record<string, string> = {}): Promise<void> {
  const log = createLog({ name: 'worker', level: 'silent' });
  working.push(await startWorker({ env: { ...baton.env, ...env }, log, sinks: [testSink(deliver)] }));
}
const write = (tenantId: string, count: number, more: object = {}) =>
  writeEvents(
    baton.pool,
    tenantId,
    Array.from({ length: count }, () => more),
  );
const pause = () => new Promise((done) => setTimeout(done, byDepth(700, 1500)));

test('a sink that refuses the events of one tenant is paused for that tenant only', async () => {
  await write(baton.tenantId, 600);
  const delivered: string[] = [];
  let refused = 0;
  await start(async ({ id, tenantId }) => {
    if (tenantId !== baton.tenantId) return void delivered.push(id);
    refused += 1;
    throw new Error('answered 400');
  });
  await until(() => refused >= 100, '100 consecutive failures');
  for (let n = 0; n < 3; n += 1) {
    const [wanted] = await write(baton.otherTenantId, 1);
    await until(() => delivered.includes(wanted as string), 'the event of the other tenant');
  }
  assert.ok(refused > 100, 'if others succeed, the refused events still use up their attempts');
});

test('if only one tenant has events, they do not use up their attempts on a sink that refuses all', async () => {
  await write(baton.tenantId, 600);
  let refused = 0;
  await start(async () => {
    refused += 1;
    throw new Error('answered 500');
  });
  await until(() => refused >= 100, '100 consecutive failures');
  await pause();
  // Deliveries that were in progress at the hundredth failure fail as well.
  assert.ok(refused <= 100 + 200, `${refused} attempts`);
});

test('a sink that refuses the events of several tenants is paused for all', async () => {
  await write(baton.tenantId, 300);
  await write(baton.otherTenantId, 300);
  const refused: string[] = [];
  await start(async ({ tenantId }) => {
    refused.push(tenantId);
    throw new Error('answered 500');
  });
  await until(() => new Set(refused).size === 2 && refused.length >= 100, 'failures of both tenants');
  // On a busy machine, deliveries in progress may outlast one `pause()`, so this repeats until no new one fails. The
  // pause of the sink is longer than this wait.
  let tries = 0;
  await until(
    async () => {
      tries = refused.length;
      await pause();
      return refused.length === tries;
    },
    'the pause of the sink',
    30_000,
  );
  assert.ok(tries <= 2 * (100 + 200), `${tries} attempts`);
  await pause();
  assert.equal(refused.length, tries);
});

test('a type that the sink does not accept delays no other, and becomes a dead letter once others succeed', async () => {
  const [stray] = await write(baton.tenantId, 1, { type: 'session.closed' });
  const delivered: string[] = [];
  let refused = 0;
  const refuse: Deliver = async ({ id, type }) => {
    if (type !== 'session.closed') return void delivered.push(id);
    refused += 1;
    throw new SinkAway('no stream takes the subject', { blame: 'type' });
  };
  await start(refuse, { CP_OUTBOX_BACKOFF_BASE_SECONDS: '1', CP_OUTBOX_MAX_ATTEMPTS: '2' });
  await until(() => refused >= 2, 'a second try');
  const waits = () =>
    baton.pool.row<{ attempts: number; is_dead: boolean; last_error: string }>(sql`
      select attempts, dead_at is not null as is_dead, last_error from outbox_deliveries d join events e on e.sequence = d.lead
      where e.id = ${stray}`);
  await until(async () => (await waits())?.last_error === 'no stream takes the subject');
  assert.deepEqual((await waits())?.is_dead, false);
  const [wanted] = await write(baton.tenantId, 1);
  await until(() => delivered.includes(wanted as string), 'an event of another type');
  await until(async () => (await waits())?.is_dead === true, 'the dead letter');
  assert.equal((await waits())?.attempts, 2);
});

test('many events of a type that the sink does not accept pause only that type', async () => {
  await write(baton.tenantId, 400, { type: 'session.closed' });
  const delivered: string[] = [];
  let refused = 0;
  await start(async ({ id, type }) => {
    if (type !== 'session.closed') return void delivered.push(id);
    refused += 1;
    throw new SinkAway('no stream takes the subject', { blame: 'type' });
  });
  await until(() => refused >= 100, '100 refusals');
  const [wanted] = await write(baton.tenantId, 1);
  await until(() => delivered.includes(wanted as string), 'an event of another type');
  assert.ok(refused < 400, `${refused} attempts`);
});

test('an event that ends its worker each time becomes a dead letter, and the events delivered with it succeed', async () => {
  const ids = await write(baton.tenantId, 30);
  const poison = ids[7] as string;
  const env = {
    ...baton.env,
    CP_OUTBOX_LOCK_TIMEOUT_SECONDS: '1',
    CP_OUTBOX_BACKOFF_BASE_SECONDS: '1',
    CP_OUTBOX_MAX_ATTEMPTS: '2',
    CP_LOG_LEVEL: 'error',
    POISON: poison,
  };
  const left = () =>
    baton.pool.rows<{ id: string; attempts: number; last_error: string | null; is_dead: boolean }>(sql`
      select e.id, d.attempts, d.last_error, d.dead_at is not null as is_dead
      from outbox_deliveries d cross join lateral unnest(d.event_sequences) as s (sequence)
      join events e on e.sequence = s.sequence`);
  const isOver = async () => {
    const [one, ...others] = await left();
    return others.length === 0 && one?.is_dead === true;
  };
  let lives = 0;
  for (let over = false; !over; lives += 1) {
    assert.ok(lives < 10, `after ${lives} lives: ${JSON.stringify(await left())}`);
    const child = spawn(
      process.execPath,
      [join(import.meta.dirname, '../../testing/programs/crashing-worker.main.ts')],
      {
        env,
        stdio: ['ignore', 'ignore', 'inherit'],
      },
    );
    let isEnded = false;
    const ended = new Promise<void>((done) =>
      child.once('exit', () => {
        isEnded = true;
        done();
      }),
    );
    await until(async () => isEnded || (await isOver()), 'the end of the worker', 60_000);
    over = await isOver();
    child.kill('SIGKILL');
    await ended;
  }
  assert.deepEqual(await left(), [
    {
      id: poison,
      attempts: 2,
      last_error: 'its worker ended during every attempt',
      is_dead: true,
    },
  ]);
});
