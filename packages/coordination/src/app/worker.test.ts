import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { sql } from '@baton/kernel/database/sql';
import { createLog } from '@baton/kernel/process/log';
import { assertTookLess, byDepth } from '@baton/testing/depth';
import { startCoordination, type TestCoordination } from '../testing/coordination.ts';
import { until } from '../testing/wait-until.ts';
import { runJobs, startWorker } from './worker.ts';

const lines: { msg: string; job: string; waitMs: number }[] = [];
const log = createLog({
  name: 'worker',
  level: 'error',
  destination: { write: (line) => lines.push(JSON.parse(line)) },
});
const sleep = (ms: number) => new Promise((done) => setTimeout(done, ms));

let baton: TestCoordination;
before(async () => {
  baton = await startCoordination();
});
after(() => baton.close());

test('a full batch is followed at once by another run, and a shorter one after the pause', async () => {
  const ranAt: number[] = [];
  const begin = (answers: number[], pauseMs: number) =>
    runJobs(
      [
        {
          name: 'busy',
          batchMax: 5,
          run: async () => {
            ranAt.push(performance.now());
            return answers.shift() ?? 0;
          },
        },
      ],
      { pauseMs, log },
    );
  // A pause that is longer than the test's timeout.
  const full = begin([5, 5, 5, 0], 600_000);
  await until(() => ranAt.length === 4);
  await sleep(100);
  assert.equal(ranAt.length, 4);
  await full.close();

  ranAt.length = 0;
  const short = begin([0], 200);
  await until(() => ranAt.length === 2);
  assertTookLess(ranAt[0] as number, 400);
  // A timer may fire a fraction of a millisecond early.
  assert.ok((ranAt[1] as number) - (ranAt[0] as number) >= 199);
  await short.close();
});

test('a failing job is logged, is retried with a doubled pause each time, and delays no other', async () => {
  lines.length = 0;
  let healthyRuns = 0;
  const jobs = runJobs(
    [
      { name: 'failing', batchMax: 1, run: () => Promise.reject(new Error('no')) },
      {
        name: 'healthy',
        batchMax: 1,
        run: async () => {
          healthyRuns += 1;
          return 0;
        },
      },
    ],
    { pauseMs: 20, log },
  );
  await until(() => lines.filter(({ job }) => job === 'failing').length >= 4);
  assert.ok(healthyRuns > byDepth(4, 10), `${healthyRuns} runs`);
  await jobs.close();
  const waits = lines.filter(({ job }) => job === 'failing').map(({ waitMs }) => waitMs);
  assert.deepEqual(waits.slice(0, 4), [40, 80, 160, 320]);
});

test('the longest backoff is 30 s', async () => {
  lines.length = 0;
  const jobs = runJobs([{ name: 'failing', batchMax: 1, run: () => Promise.reject(new Error('no')) }], {
    pauseMs: 60_000,
    log,
  });
  await until(() => lines.length > 0);
  await jobs.close();
  assert.equal(lines[0]?.waitMs, 30_000);
});

test('closing waits for the job in progress', async () => {
  let finished = false;
  const jobs = runJobs(
    [
      {
        name: 'slow',
        batchMax: 1,
        run: async () => {
          await sleep(150);
          finished = true;
          return 0;
        },
      },
    ],
    { pauseMs: 1000, log },
  );
  await sleep(20);
  await jobs.close();
  assert.equal(finished, true);
});

test('expired responses are deleted, others are kept', async () => {
  const keep = (key: string, interval: string) => sql`
    insert into idempotency_keys (tenant_id, key, fingerprint, expires_at)
    values (${baton.tenantId}, ${key}, 'f', now() + ${interval}::interval)`;
  await baton.pool.run(keep('over', '-1 second'));
  await baton.pool.run(keep('live', '1 hour'));
  const worker = await startWorker({ env: baton.env, log });
  const left = () => baton.pool.rows<{ key: string }>(sql`select key from idempotency_keys`);
  await until(async () => (await left()).length <= 1);
  assert.deepEqual(await left(), [{ key: 'live' }]);
  await worker.close();
});
