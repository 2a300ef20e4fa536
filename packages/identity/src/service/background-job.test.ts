import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createLog } from '@baton/kernel/log';
import { startJob } from './background-job.ts';

test('a job whose database was out of reach runs again within 1 s, after another failure at its interval', async () => {
  const log = createLog({ name: 'job', level: 'silent' });
  const runsOf = async (error: Error) => {
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
    // The timers don't keep this process alive; this wait does.
    await new Promise((done) => setTimeout(done, 1500));
    await stop();
    return runs;
  };
  const lost = Object.assign(new Error('no'), { code: 'ECONNREFUSED' });
  assert.deepEqual(await Promise.all([runsOf(lost), runsOf(new Error('no'))]), [2, 1]);
});
