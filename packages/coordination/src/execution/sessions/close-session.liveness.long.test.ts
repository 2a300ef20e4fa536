import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { sql } from '@baton/kernel/database/sql';
import { sendRequest, startCoordination, type TestCoordination } from '../../testing/coordination.ts';
import { done, makeTask, openSession } from '../../testing/leases.ts';
import { startTraffic, until } from '../../testing/wait-until.ts';

const parallel = 200;
/** On an idle machine, a close takes at most a second. */
const closeMsMax = 3000;

let baton: TestCoordination;
before(async () => {
  baton = await startCoordination();
});
after(() => baton.close());

test('a close of a session wins within a second against 200 parallel claims, and no claim is granted after it', async (t) => {
  const actor = await baton.actor();
  const quiet = await baton.another();
  const sessionId = await openSession(actor);
  const tasks = await Promise.all(Array.from({ length: parallel }, () => makeTask(baton)));
  const busy = startTraffic(parallel, async (n) => {
    const claimed = await actor.post(`/tasks/${tasks[n].id}:claim`, { sessionId });
    if (claimed.status !== 200) return claimed;
    return actor.post(`/claims/${claimed.body.id}:release`);
  });
  t.after(busy.stop);
  const granted = async () =>
    (
      await baton.pool.row<{ count: number }>(
        sql`select count(*) as count from events where session_id = ${sessionId} and type = 'task.claimed'`,
      )
    )?.count;
  await until(() => busy.answered.length > 20);
  const startedAt = performance.now();
  // Sent to another process, to measure the wait for the session, not for a connection.
  const closed = await done(
    sendRequest(`${quiet.url}/api/v1/sessions/${sessionId}:close`, 'POST', { token: baton.admin.token }),
  );
  const tookMs = performance.now() - startedAt;
  const acknowledged = await granted();
  t.diagnostic(`closed in ${Math.round(tookMs)} ms`);
  assert.equal(closed.status, 'closed');
  await busy.stop();
  assert.equal(await granted(), acknowledged);
  assert.ok(tookMs < closeMsMax, `${tookMs} ms`);
});
