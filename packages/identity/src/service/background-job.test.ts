import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createLog } from '@baton/kernel/process/log';
import { assertTookLess } from '@baton/testing/depth';
import { until } from '../testing/waiting.ts';
import { startJob } from './background-job.ts';

test('a job whose database was out of reach runs again within 1 s, after another failure at its interval', async () => {
  const log = createLog({ name: 'job', level: 'silent' });
  const runsOf = (error: Error) => {
    let runs = 0;
    const stop = startJob({
      firstMs: 1,
      intervalMs: 60_000,
      log,
      failure: 'failed',
      work() {
        runs += 1;
        return Promise.reject(error);
      },
    });
    return { runs: () => runs, stop };
  };
  const lost = runsOf(Object.assign(new Error('no'), { code: 'ECONNREFUSED' }));
  const failed = runsOf(new Error('no'));
  const began = performance.now();
  // This wait also keeps the process alive, because the job's timers don't.
  await until(() => lost.runs() === 2, 'it runs again');
  assertTookLess(began, 1500);
  await Promise.all([lost.stop(), failed.stop()]);
  assert.deepEqual([lost.runs(), failed.runs()], [2, 1]);
});
