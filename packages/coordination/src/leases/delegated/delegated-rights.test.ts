import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { sql } from '@baton/kernel/database/sql';
import { newId } from '@baton/values/ids';
import { type Actor, startCoordination, type TestCoordination } from '../../testing/coordination.ts';
import { launch, startChild } from '../../testing/execution/children.ts';
import {
  claimTask,
  done,
  endClaimLease,
  makeRun,
  makeTask,
  makeWorker,
  openSession,
  refused,
  type Worker,
} from '../../testing/leases.ts';

let baton: TestCoordination;
let wide: TestCoordination;
let human: Actor;
let agent: Actor;

before(async () => {
  baton = await startCoordination({ CP_DELEGATION_NARROWS: 'true' });
  [human, agent] = [await baton.actor({ kind: 'human' }), await baton.actor()];
});
after(async () => {
  await baton.close();
  await wide?.close();
});

/** The agent, in a session for a person whose delegation lists these permissions. */
async function delegated(
  permissions: string[],
  of = { baton, human, agent },
): Promise<Worker & { id: string }> {
  await of.baton.pool.run(sql`update delegations set revoked_at = now()`);
  const { id } = await done(
    of.baton.admin.post('/delegations', {
      humanPrincipalId: of.human.principalId,
      agentPrincipalId: of.agent.principalId,
      permissions,
    }),
    201,
  );
  const sessionId = await openSession(of.agent, { onBehalfOf: of.human.principalId });
  return { actor: of.agent, sessionId, id };
}

const keysOf = ({ id, fencingToken }: { id: string; fencingToken: number }) => ({
  claimId: id,
  fencingToken,
});
const patch = (by: Worker, task: any, claim: any) =>
  by.actor.patch(
    `/tasks/${task.id}`,
    { title: newId(), ...keysOf(claim) },
    { 'if-match': `"task-${task.version + 1}"` },
  );
const complete = (by: Worker, task: any, claim: any) =>
  by.actor.post(`/tasks/${task.id}:complete`, keysOf(claim), { 'if-match': `"task-${task.version + 1}"` });

test("a session whose delegation lacks tasks.claim can't claim in any way", async () => {
  const by = await delegated(['tasks.read']);
  const task = await makeTask(baton);
  const claim = () => by.actor.post(`/tasks/${task.id}:claim`, { sessionId: by.sessionId });
  const denied = { required: ['tasks.claim'], delegationId: by.id };
  assert.deepEqual(await refused(claim(), 403, 'permission_denied'), denied);
  const holder = await makeWorker(baton);
  const dead = await claimTask(holder, task.id);
  await endClaimLease(baton, task.id);
  const reclaim = by.actor.post(`/claims/${dead.id}:reclaim`, { sessionId: by.sessionId });
  assert.deepEqual(await refused(reclaim, 403, 'permission_denied'), denied);
  // Another principal's session is still refused with its own code, `session_owner_mismatch`.
  const stolen = holder.actor.post(`/tasks/${task.id}:claim`, { sessionId: by.sessionId });
  await refused(stolen, 403, 'session_owner_mismatch');
  // In its own session, the agent has its own rights.
  await claimTask({ actor: agent, sessionId: await openSession(agent) }, task.id);
});

test('a session can only change and complete its claimed task with tasks.write', async () => {
  const by = await delegated(['tasks.claim', 'tasks.read']);
  const task = await makeTask(baton);
  const claim = await claimTask(by, task.id);
  const denied = { required: ['tasks.write'], delegationId: by.id };
  assert.deepEqual(await refused(patch(by, task, claim), 403, 'permission_denied'), denied);
  assert.deepEqual(await refused(complete(by, task, claim), 403, 'permission_denied'), denied);
  const free = await makeTask(baton);
  // The delegation doesn't limit a write without a claim, because the write isn't made in the session.
  await done(by.actor.patch(`/tasks/${free.id}`, { title: 'x' }, { 'if-match': '"task-1"' }));
  const writer = await delegated(['tasks.claim', 'tasks.write']);
  const other = await makeTask(baton);
  const held = await claimTask(writer, other.id);
  await done(patch(writer, other, held));
  await done(complete(writer, { ...other, version: other.version + 1 }, held));
});

test('a run can only write artifacts and comments, and launch children, as its delegation allows', async () => {
  const by = await delegated(['tasks.claim', 'tasks.read']);
  const { run, task } = await makeRun(baton, by);
  const artifact = { type: 'report', name: 'Findings', uri: 'https://x.example/', runId: run.id };
  const denied = (right: string) => ({ required: [right], delegationId: by.id });
  const made = await refused(by.actor.post('/artifacts', artifact), 403, 'permission_denied');
  assert.deepEqual(made, denied('artifacts.write'));
  const comment = by.actor.post(`/tasks/${task.id}/comments`, { body: 'Done', runId: run.id });
  assert.deepEqual(await refused(comment, 403, 'permission_denied'), denied('tasks.write'));
  assert.deepEqual(await refused(launch(by, run.id), 403, 'permission_denied'), denied('tasks.write'));
});

test('an observation in the session requires the right in the delegation', async () => {
  const by = await delegated(['tasks.read']);
  const told = (of: Worker) =>
    of.actor.post('/observations', { kind: 'seen', content: 'it works', sessionId: of.sessionId });
  const denied = { required: ['observations.write'], delegationId: by.id };
  assert.deepEqual(await refused(told(by), 403, 'permission_denied'), denied);
  await done(told(await delegated(['observations.write'])), 201);
});

test('a child inherits the rights that both the agent and the delegation have', async () => {
  const by = await delegated(['tasks.claim', 'tasks.write', 'admin']);
  const all = await makeRun(baton, by);
  const { childHandle: wider } = await done(launch(by, all.run.id), 201);
  assert.ok(
    wider.grant.permissions.includes('artifacts.write') && !wider.grant.permissions.includes('admin'),
  );
  const few = await delegated(['tasks.claim', 'tasks.write', 'approvals.decide']);
  const made = await makeRun(baton, few);
  const { childHandle } = await done(launch(few, made.run.id), 201);
  assert.deepEqual(childHandle.grant.permissions, ['tasks.claim', 'tasks.write']);
});

test("a child of a launched run inherits the rights that both its grant and its session's delegation have", async () => {
  const parent = await makeWorker(baton);
  const root = await makeRun(baton, parent);
  const wider = { grant: { permissions: ['tasks.claim', 'tasks.write', 'artifacts.write'] } };
  const by = await delegated(['tasks.claim', 'tasks.write', 'approvals.decide']);
  const { childTask } = await done(launch(parent, root.run.id, wider), 201);
  const { run } = await startChild(by, childTask.id);
  const { childHandle } = await done(launch(by, run.id), 201);
  assert.deepEqual(childHandle.grant.permissions, ['tasks.claim', 'tasks.write']);
  const details = await refused(launch(by, run.id, wider), 422, 'child_grant_exceeds_parent');
  assert.deepEqual(details.excess.permissions, ['artifacts.write']);
});

test('a delegation that lists no rights imposes no limit, and without the setting none does', async () => {
  const by = await delegated([]);
  const task = await makeTask(baton);
  const claim = await claimTask(by, task.id);
  await done(patch(by, task, claim));
  wide = await startCoordination();
  const [person, other] = [await wide.actor({ kind: 'human' }), await wide.actor()];
  const session = await delegated(['tasks.read'], { baton: wide, human: person, agent: other });
  const { run } = await makeRun(wide, session);
  await done(launch(session, run.id), 201);
});
