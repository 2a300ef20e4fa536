import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { raceRounds } from '@baton/testing/depth';
import { startCoordination, type TestCoordination } from '../../../testing/coordination.ts';
import { done, makeTask, makeWorker, type Worker } from '../../../testing/leases.ts';
import { checkBy } from '../../../testing/results/verification.ts';

let baton: TestCoordination;
let worker: Worker;
before(async () => {
  baton = await startCoordination();
  worker = await makeWorker(baton);
});
after(() => baton.close());

/** Claims a task and starts a run; either may be refused. */
async function begin(taskId: string): Promise<boolean> {
  const { actor, sessionId } = worker;
  const claim = await actor.post(`/tasks/${taskId}:claim`, { sessionId });
  if (claim.status !== 200) return false;
  const { id: claimId, fencingToken } = claim.body;
  return (await actor.post(`/tasks/${taskId}:start-run`, { claimId, fencingToken })).status === 201;
}

test('the author of a check removes it before its own claim or not at all', async () => {
  const { actor } = worker;
  for (let round = 0; round < raceRounds; round += 1) {
    const body = { title: 'raced', acceptance: [checkBy('human')] };
    const { id } = await done(actor.post('/tasks', body), 201);
    const [dropped, begun] = await Promise.all([
      actor.patch(`/tasks/${id}`, { acceptance: [] }, { 'if-match': 'task-1' }),
      begin(id),
    ]);
    assert.equal(begun, true, `round ${round}`);
    assert.ok([200, 403, 409].includes(dropped.status), `round ${round}: ${dropped.status}`);
    const { acceptance } = await done(actor.get(`/tasks/${id}`));
    assert.equal(acceptance.length, dropped.status === 200 ? 0 : 1, `round ${round}`);
  }
});

test('concurrent removals of relations, completions of prerequisites and starts of work end, with correct counts', async () => {
  const { actor } = worker;
  for (let round = 0; round < raceRounds; round += 1) {
    const [task, first, second] = await Promise.all([makeTask(baton), makeTask(baton), makeTask(baton)]);
    const relate = async (from: { id: string }, to: { id: string }, type: string) =>
      done(actor.post(`/tasks/${from.id}/relations`, { toTask: to.id, type }), 201);
    const [held, holding] = [await relate(task, first, 'depends_on'), await relate(second, task, 'blocks')];
    const complete = ({ id }: { id: string }) =>
      baton.admin.post(`/tasks/${id}:complete`, {}, { 'if-match': 'task-1' });
    const [removed, ...completed] = await Promise.all([
      actor.delete(`/tasks/${task.id}/relations/${held.id}`),
      complete(first),
      complete(second),
      actor.delete(`/tasks/${first.id}/relations/${held.id}`),
      begin(task.id),
    ]);
    for (const answer of completed.slice(0, 2))
      assert.equal((answer as { status: number }).status, 200, `round ${round}`);
    const statuses = [removed.status, (completed[2] as { status: number }).status];
    for (const status of statuses) assert.ok([204, 403, 404].includes(status), `round ${round}: ${status}`);
    const { items } = await done(actor.get(`/tasks/${task.id}/relations`));
    const isGone = statuses.includes(204);
    assert.deepEqual(
      items.map(({ id }: any) => id).sort(),
      [...(isGone ? [] : [held.id]), holding.id].sort(),
      `round ${round}`,
    );
    const reasons = (await done(baton.admin.get(`/tasks/${task.id}/claimability`))).reasons;
    assert.ok(!reasons.some(({ code }: any) => code === 'task_not_ready'), `round ${round}`);
  }
});
