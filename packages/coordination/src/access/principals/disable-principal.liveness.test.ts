import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { sql } from '@baton/kernel/database/sql';
import { byDepth, isLongProof } from '@baton/testing/depth';
import {
  type Actor,
  sendRequest,
  startCoordination,
  type TestCoordination,
} from '../../testing/coordination.ts';
import { until } from '../../testing/wait-until.ts';

const parallel = byDepth(20, 200);
/**
 * At most the commands that had the lock when the disable requested it: one per connection of the busy process, and a
 * few that had just been sent.
 */
const committedMeanwhileMax = 60;

let baton: TestCoordination;
before(async () => {
  baton = await startCoordination();
});
after(() => baton.close());

/** Keeps `parallel` requests of one actor in progress until it is stopped, and returns the successful requests. */
function traffic(request: () => Promise<{ status: number }>) {
  let goes = true;
  const answered: { startedAt: number; status: number }[] = [];
  const loops = Array.from({ length: parallel }, async () => {
    while (goes) {
      const startedAt = performance.now();
      answered.push({ startedAt, status: (await request()).status });
    }
  });
  const stop = async () => {
    goes = false;
    await Promise.all(loops);
    return answered;
  };
  return { answered, stop };
}

/**
 * Uses a process other than the busy one, to measure the wait for the victim's locks instead of the wait for a
 * connection of the busy process.
 */
const disableAt = (url: string, principalId: string) =>
  sendRequest(`${url}/api/v1/principals/${principalId}:disable`, 'POST', { token: baton.admin.token });

async function eventsBy({ principalId }: Actor): Promise<number> {
  const row = await baton.pool.row<{ count: number }>(
    sql`select count(*) as count from events where actor_id = ${principalId}`,
  );
  return row?.count ?? 0;
}

test(`a disable waits only for the earlier ones among ${parallel} parallel changes to a task, and nothing is committed after it`, async () => {
  const agent = await baton.actor();
  const quiet = await baton.another();
  const { body: task } = await baton.admin.post('/tasks', { title: 'wanted' });
  let title = 0;
  let version = 1;
  const busy = traffic(async () => {
    title += 1;
    const ifMatch = { 'if-match': `"task-${version}"` };
    const answer = await agent.patch(`/tasks/${task.id}`, { title: `title ${title}` }, ifMatch);
    if (answer.status === 200) version = answer.body.version;
    if (answer.status === 409) version = answer.body.error.details.currentVersion;
    return answer;
  });
  try {
    await until(() => busy.answered.length > parallel);
    const before = await eventsBy(agent);
    const { status, body } = await disableAt(quiet.url, agent.principalId);
    assert.equal(status, 200, JSON.stringify(body));
    const acknowledged = await eventsBy(agent);
    const meanwhile = acknowledged - before;
    // On a busy machine many changes commit before the service receives the request, so only the long proof checks
    // their number.
    if (isLongProof)
      assert.ok(meanwhile <= committedMeanwhileMax, `${meanwhile} commands ran before the disable`);
    await busy.stop();
    assert.equal(await eventsBy(agent), acknowledged);
  } finally {
    await busy.stop();
  }
});
