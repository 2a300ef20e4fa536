import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { sql } from '@baton/kernel/database/sql';
import { raceRounds } from '@baton/testing/depth';
import { type Actor, startCoordination, type TestCoordination } from '../../testing/coordination.ts';
import { done, eventsOf, makeWorker } from '../../testing/leases.ts';
import { outcomeTester } from '../../testing/results/outcomes.ts';
import { requireLostConnection } from '../../testing/sweepers.ts';

let baton: TestCoordination;
let person: Actor;
let tester: ReturnType<typeof outcomeTester>;
let other: ReturnType<typeof outcomeTester>;
before(async () => {
  baton = await startCoordination();
  person = await baton.actor({ kind: 'human' });
  [tester, other] = [outcomeTester(baton, person), outcomeTester(baton, person)];
});
after(async () => {
  await tester.close();
  await other.close();
  await baton.close();
});

const statusOf = async (id: string) => (await tester.outcome(id)).outcomeStatus;

test('with two concurrent workers and a replay, each action is executed once', async () => {
  for (let round = 0; round < raceRounds; round += 1) {
    const { id, task } = await tester.gate({
      approved: [{ comment: { body: 'once' } }, { completeTask: {} }],
    });
    await tester.decide(id);
    await Promise.all([tester.work(), other.work(), person.post(`/approvals/${id}:replay-outcome`)]);
    await tester.work();
    assert.equal(await statusOf(id), 'executed');
    assert.equal((await done(baton.admin.get(`/tasks/${task.id}/comments`))).items.length, 1);
    const types = (await eventsOf(baton, id)).map(({ type }) => type);
    assert.deepEqual(types.slice(2), ['approval.outcome_executed'], `round ${round}`);
  }
});

test('with an outcome that completes a task and a concurrent claim, the task is completed without a claim, or the outcome waits', async () => {
  const worker = await makeWorker(baton);
  for (let round = 0; round < raceRounds; round += 1) {
    const { id, task } = await tester.gate({ approved: [{ completeTask: {} }] });
    await tester.decide(id);
    const claim = worker.actor.post(`/tasks/${task.id}:claim`, { sessionId: worker.sessionId });
    const [{ status, body }] = await Promise.all([claim, tester.work()]);
    // If the claim had locked the task, the outcome is still due.
    if ((await statusOf(id)) === 'pending') await tester.work();
    const found = await baton.pool.row<{ category: string; active_claim_id: string | null }>(
      sql`select category, active_claim_id from tasks where id = ${task.id}`,
    );
    if (status === 200)
      assert.deepEqual([await statusOf(id), found?.active_claim_id], ['deferred', body.id], `round ${round}`);
    else
      assert.deepEqual(
        [body.error.code, await statusOf(id), found],
        ['task_not_claimable', 'executed', { category: 'terminal_success', active_claim_id: null }],
      );
  }
});

test('with a concurrent disable of the decider, no action is executed after the disable', async () => {
  for (let round = 0; round < raceRounds / 2; round += 1) {
    const decider = await baton.actor({ kind: 'human' });
    const { id, task } = await tester.gate(
      { approved: [{ completeTask: {} }] },
      { approval: { assignedPrincipalId: decider.principalId } },
    );
    await done(decider.post(`/approvals/${id}:approve`));
    await Promise.all([
      baton.admin.post(`/principals/${decider.principalId}:disable`),
      tester.work().catch(requireLostConnection),
    ]);
    if ((await statusOf(id)) === 'pending') await tester.work();
    const order = await baton.pool.rows<{ type: string }>(sql`
      select type from events where entity_id in (${task.id}, ${decider.principalId})
        and type in ('task.completed', 'principal.disabled') order by position, sequence`);
    const types = order.map(({ type }) => type);
    if ((await statusOf(id)) === 'failed') assert.deepEqual(types, ['principal.disabled']);
    else assert.deepEqual(types, ['task.completed', 'principal.disabled'], `round ${round}`);
  }
});
