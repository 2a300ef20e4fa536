import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { sql } from '@baton/kernel/database/sql';
import { type Actor, startCoordination, type TestCoordination } from '../../testing/coordination.ts';
import { done, eventsOf, makeRun, makeTask, makeWorker, refused } from '../../testing/leases.ts';
import {
  claimCall,
  invoke,
  makeCallable,
  makeCallWorker,
  runningCall,
} from '../../testing/results/invocations.ts';

/**
 * Tests that calls that have lost their basis are ended, both at a claim and by a worker. See
 * docs/reference/skills.md#lost-basis.
 */
let baton: TestCoordination;
let worker: ReturnType<typeof makeCallWorker>;
let executor: Actor;
before(async () => {
  baton = await startCoordination();
  worker = makeCallWorker(baton);
  executor = await baton.actor();
});
after(async () => {
  await worker.close();
  await baton.close();
});

const read = (id: string) => done(baton.admin.get(`/skill-invocations/${id}`));
const change = (skill: any, body: object) =>
  done(baton.admin.patch(`/skills/${skill.id}`, body, { 'if-match': `skill-${skill.rowVersion}` }));
const losses = () => baton.pool.rows(sql<{ id: string }>`select id from basis_losses`);
const revokeBinding = ({ principalId }: Actor) =>
  baton.pool.run(sql`update iam_bindings set status = 'revoked' where principal_id = ${principalId}`);

/** A pending and a running call on behalf of a new agent, optionally in a run. */
async function twoCalls(inRun = false) {
  const agent = await makeWorker(baton);
  const skill = await makeCallable(baton.admin, { contract: { retryPolicy: { maxAttempts: 3 } } });
  await done(baton.admin.post(`/principals/${agent.actor.principalId}/skills`, { skillId: skill.id }), 201);
  const { run, task } = await makeRun(baton, agent);
  const body = inRun ? { runId: run.id } : {};
  const running = await runningCall(executor, agent.actor, skill, body);
  const pending = await done(invoke(agent.actor, skill, body), 201);
  return { agent, skill, run, task, pending, running };
}
type Calls = Awaited<ReturnType<typeof twoCalls>>;

const endings: Record<string, [inRun: boolean, end: (calls: Calls) => Promise<unknown>, reason: string]> = {
  'its skill is disabled': [false, ({ skill }) => change(skill, { status: 'disabled' }), 'skill_disabled'],
  'its credential is revoked': [false, ({ agent }) => revokeBinding(agent.actor), 'credential_inactive'],
  'its credential may no longer call skills': [
    false,
    ({ agent }) =>
      baton.pool.run(sql`
        update iam_bindings set permissions = '{tasks.read}' where principal_id = ${agent.actor.principalId}`),
    'credential_inactive',
  ],
  'its run has failed': [
    true,
    ({ agent, run }) => done(agent.actor.post(`/runs/${run.id}:fail`)),
    'run_over',
  ],
  'its run was cancelled': [
    true,
    ({ agent, run }) => done(agent.actor.post(`/runs/${run.id}:cancel`)),
    'run_over',
  ],
  'the skill was taken from the principal of its run': [
    true,
    ({ agent, skill }) =>
      done(baton.admin.post(`/principals/${agent.actor.principalId}/skills/${skill.id}:revoke`), 204),
    'skill_not_assigned',
  ],
};

for (const [name, [inRun, end, reason]] of Object.entries(endings)) {
  test(`a call is withdrawn when ${name}: pending or running, by the worker`, async () => {
    const calls = await twoCalls(inRun);
    await end(calls);
    await worker.withdraw();
    for (const { id, status } of [calls.pending, calls.running]) {
      const { error, ...after } = await read(id);
      assert.equal(after.status, 'cancelled');
      const details = { initiator: 'system', wasRunning: status === 'running' };
      assert.deepEqual(error, { code: 'basis_revoked', message: reason, details });
      const event = (await eventsOf(baton, id)).at(-1);
      assert.deepEqual(
        [
          event?.type,
          event?.actor_id,
          event?.payload['code'],
          event?.payload['initiator'],
          event?.payload['cancelledBy'],
        ],
        ['skill.invocation_cancelled', null, 'basis_revoked', 'system', null],
      );
    }
    const { id, fencingToken } = calls.running;
    const late = executor.post(`/skill-invocations/${id}:complete`, { fencingToken, output: {} });
    await refused(late, 409, 'stale_invocation_lease');
    assert.deepEqual(await losses(), []);
  });

  test(`without any worker no executor gets a call when ${name}`, async () => {
    const calls = await twoCalls(inRun);
    await end(calls);
    assert.equal((await claimCall(executor, calls.skill)).status, 204);
    const { status, error } = await read(calls.pending.id);
    assert.deepEqual([status, error.code, error.message], ['cancelled', 'basis_revoked', reason]);
    await worker.withdraw();
  });
}

test('a run that has succeeded, or waits, does not end its calls', async () => {
  const calls = await twoCalls(true);
  await done(calls.agent.actor.post(`/runs/${calls.run.id}:suspend`, {}));
  await worker.withdraw();
  assert.equal((await read(calls.pending.id)).status, 'pending');
  assert.equal((await done(claimCall(executor, calls.skill))).invocation.id, calls.pending.id);
});

test('the end of a task ends the calls that its approval permitted', async () => {
  const task = await makeTask(baton);
  const skill = await makeCallable(baton.admin, { sideEffects: 'external_write' });
  const gate = { task: task.id, gate: true, assignedPrincipalId: baton.admin.principalId };
  const { id: approvalId } = await done(baton.admin.post('/approvals', gate), 201);
  await done(baton.admin.post(`/approvals/${approvalId}:approve`, {}));
  const call = await done(invoke(baton.admin, skill, { taskId: task.id, approvalId }), 201);
  const plain = await done(invoke(baton.admin, await makeCallable(baton.admin), { taskId: task.id }), 201);
  const { version } = await done(baton.admin.get(`/tasks/${task.id}`));
  const ifMatch = { 'if-match': `task-${version}` };
  await done(baton.admin.patch(`/tasks/${task.id}`, { status: 'cancelled' }, ifMatch));
  await worker.withdraw();
  assert.equal((await read(call.id)).error.message, 'task_terminal');
  assert.equal((await read(plain.id)).status, 'pending');
});

test('a disable withdraws the calls of the principal, returns their number, and leaves the rest to the worker', async () => {
  const agent = await baton.actor();
  const skill = await makeCallable(baton.admin);
  const running = await runningCall(executor, agent, skill);
  await Promise.all(Array.from({ length: 104 }, () => done(invoke(agent, skill), 201)));
  await done(baton.admin.post(`/principals/${agent.principalId}:disable`, {}));
  const event = (await eventsOf(baton, agent.principalId)).at(-1);
  assert.deepEqual([event?.type, event?.payload['withdrawnInvocations']], ['principal.disabled', 105]);
  const left = () =>
    baton.pool.row(sql<{ left: number }>`
      select count(*) as left from skill_invocations
      where authority_principal_id = ${agent.principalId} and status <> 'cancelled'`);
  assert.equal((await left())?.left, 5);
  await worker.withdraw();
  assert.equal((await left())?.left, 0);
  assert.equal((await read(running.id)).error.details.wasRunning, true);
  assert.deepEqual(await losses(), []);
});

test('changes that affect no call leave no entry for the worker', async () => {
  const agent = await baton.actor();
  const skill = await makeCallable(baton.admin);
  await revokeBinding(agent);
  await change(skill, { status: 'disabled' });
  assert.deepEqual(await losses(), []);
});

test('pending calls follow the endpoint of their skill into its new queue, immediately or by the worker', async () => {
  const at = (host: string) => `https://${host}.example.com`;
  const claim = (host: string) =>
    executor.post('/skill-invocations:claim', { protocols: ['http'], httpOrigins: [at(host)] });
  const implementation = { protocol: 'http', endpoint: `${at('old')}/a`, entrypoint: null };
  const skill = await makeCallable(baton.admin, { implementation });
  const [first, second] = [
    await done(invoke(baton.admin, skill), 201),
    await done(invoke(baton.admin, skill), 201),
  ];
  await change(skill, { endpoint: `${at('new')}/b` });
  assert.equal((await claim('old')).status, 204);
  const { invocation, skill: given } = await done(claim('new'));
  assert.deepEqual([invocation.id, given.contract.implementation.endpoint], [first.id, `${at('new')}/b`]);
  await worker.withdraw();
  assert.equal((await claim('old')).status, 204);
  assert.equal((await done(claim('new'))).invocation.id, second.id);
});
