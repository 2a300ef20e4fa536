import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sql } from '@baton/kernel/database/sql';
import { done } from '../../testing/leases.ts';
import {
  processAgentPermissions,
  setStep,
  startProcesses,
} from '../../testing/processes/process-instances.ts';

// Tests a vote in which the next approval is refused because the agent of the process has lost the permission.

const { baton, worker, agent, get, start, told, act } = await startProcesses();

async function grant(permissions: readonly string[]) {
  await baton.pool.run(sql`
    update iam_bindings set permissions = ${permissions} where principal_id = ${agent.principalId}`);
}

const approvalsOf = async (instanceId: string) =>
  baton.pool.rows<{ id: string; status: string; who: string }>(sql`
    select a.id, a.status, a.assigned_principal_id as who from approvals a join events e on e.entity_id = a.id
    where e.type = 'approval.requested' and e.correlation_id = ${`process:${instanceId}`} order by a.created_at, a.id`);

test('votes before a refusal count after a resume, no person votes twice, and the entry is emitted once', async () => {
  const [first, second] = await Promise.all([1, 2].map(() => baton.actor({ kind: 'human' })));
  assert.ok(first && second);
  const approvers = [first, second].map(({ principalId }) => ({ principal: principalId }));
  const vote = { id: 'vote', approve: { approvers, mode: 'sequential' }, export: { as: 'vote' } };
  const { id } = await start([vote]);
  const [asked] = await approvalsOf(id);
  assert.equal(asked?.who, first.principalId);
  await grant([]);
  await done(first.post(`/approvals/${asked.id}:approve`, {}));
  await worker.run();
  const parked = await get(id);
  assert.deepEqual([parked.status, parked.suspension.code], ['suspended', 'permission_denied']);
  await grant(processAgentPermissions);
  await act(id, 'resume', {});
  await worker.run();
  const approvals = await approvalsOf(id);
  assert.deepEqual(
    approvals.map(({ who, status }) => [who, status]),
    [
      [first.principalId, 'approved'],
      [second.principalId, 'pending'],
    ],
  );
  await done(second.post(`/approvals/${approvals[1]?.id}:approve`, {}));
  await worker.run();
  const after = await get(id);
  assert.deepEqual(
    [after.status, after.data.vote.outcome, after.data.vote.votes],
    [
      'completed',
      'approved',
      [
        { principalId: first.principalId, vote: 'approved' },
        { principalId: second.principalId, vote: 'approved' },
      ],
    ],
  );
  assert.equal((await told(id, 'step_entered')).length, 1);
  assert.equal((await told(id, 'step_exited')).length, 1);
});

test('an operator skips a vote whose next approval is refused, and its end is emitted once', async () => {
  const [first, second] = await Promise.all([1, 2].map(() => baton.actor({ kind: 'human' })));
  assert.ok(first && second);
  const approvers = [first, second].map(({ principalId }) => ({ principal: principalId }));
  const vote = { id: 'vote', approve: { approvers, mode: 'sequential', separationOfDuties: true } };
  const { id } = await start([vote, setStep('after', { done: 'true' })]);
  await grant([]);
  await done(first.post(`/approvals/${(await approvalsOf(id))[0]?.id}:approve`, {}));
  await worker.run();
  assert.equal((await get(id)).status, 'suspended');
  await grant(processAgentPermissions);
  const skipped = await act(id, 'skip', { element: 'vote', reason: 'nobody is there' });
  assert.deepEqual([skipped.status, skipped.data, skipped.leftOpen], ['completed', { done: true }, []]);
  assert.deepEqual(
    (await approvalsOf(id)).map(({ status }) => status),
    ['approved'],
  );
  const exits = await told(id, 'step_exited');
  assert.deepEqual(
    exits.map(({ element, outcome }) => [element, outcome]),
    [
      ['vote', 'cancelled'],
      ['after', 'completed'],
    ],
  );
});
