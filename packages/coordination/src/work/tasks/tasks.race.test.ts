import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { raceRounds } from '@baton/testing/depth';
import { startCoordination, type TestCoordination } from '../../testing/coordination.ts';
import { done, eventsOf, makeTask, makeWorker, type Worker } from '../../testing/leases.ts';

let baton: TestCoordination;
let workers: Worker[];
before(async () => {
  baton = await startCoordination();
  workers = await Promise.all(Array.from({ length: 8 }, () => makeWorker(baton)));
});
after(() => baton.close());

test('of concurrent patches with the same If-Match, one wins, and the others get its version', async () => {
  for (let round = 0; round < raceRounds; round += 1) {
    const { id } = await makeTask(baton);
    const answers = await Promise.all(
      workers.map(({ actor }, n) =>
        actor.patch(`/tasks/${id}`, { title: `by ${n}` }, { 'if-match': 'task-1' }),
      ),
    );
    const winners = answers.filter(({ status }) => status === 200);
    assert.equal(winners.length, 1, `round ${round}`);
    for (const { status, body } of answers) {
      if (status === 200) continue;
      assert.equal(body.error.code, 'version_conflict');
      assert.equal(body.error.details.currentVersion, 2);
    }
    const task = await done(baton.admin.get(`/tasks/${id}`));
    assert.deepEqual(task, winners[0]?.body);
    assert.equal((await eventsOf(baton, id)).length, 2);
  }
});

test('of concurrent completions, one wins, and the task is completed once', async () => {
  for (let round = 0; round < raceRounds; round += 1) {
    const { id } = await makeTask(baton);
    const answers = await Promise.all(
      workers.map(({ actor }) => actor.post(`/tasks/${id}:complete`, {}, { 'if-match': 'task-1' })),
    );
    assert.equal(answers.filter(({ status }) => status === 200).length, 1, `round ${round}`);
    const completed = (await eventsOf(baton, id)).filter(({ type }) => type === 'task.completed');
    assert.equal(completed.length, 1);
  }
});

test('of a concurrent completion and claim, one wins: never a live claim on a completed task', async () => {
  const outcomes = { completed: 0, claimed: 0 };
  for (let round = 0; round < 2 * raceRounds; round += 1) {
    const { id } = await makeTask(baton);
    const { actor, sessionId } = workers[round % workers.length] as Worker;
    const calls = [
      () => baton.admin.post(`/tasks/${id}:complete`, {}, { 'if-match': 'task-1' }),
      () => actor.post(`/tasks/${id}:claim`, { sessionId }),
    ];
    if (round % 2 === 1) calls.reverse();
    const answers = await Promise.all(calls.map((call) => call()));
    if (round % 2 === 1) answers.reverse();
    const [completion, claim] = answers;
    const task = await done(baton.admin.get(`/tasks/${id}`));
    if (completion?.status === 200) {
      outcomes.completed += 1;
      assert.equal(claim?.body.error?.code, 'task_not_claimable');
      assert.deepEqual([task.systemStatusCategory, task.activeClaimId], ['terminal_success', null]);
    } else {
      outcomes.claimed += 1;
      assert.equal(completion?.body.error.code, 'version_conflict');
      assert.equal(claim?.status, 200);
      assert.equal(task.activeClaimId, claim?.body.id);
    }
  }
  assert.equal(outcomes.completed + outcomes.claimed, 2 * raceRounds);
});
