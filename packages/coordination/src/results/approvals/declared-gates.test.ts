import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { sql } from '@baton/kernel/database/sql';
import {
  type Actor,
  migrationsDirectory,
  startCoordination,
  type TestCoordination,
} from '../../testing/coordination.ts';
import { insertTestType } from '../../testing/definitions/task-type.ts';
import {
  claimTask,
  corePrincipalOf,
  done,
  eventsOf,
  makeTask,
  makeWorker,
  refused,
  type Worker,
} from '../../testing/leases.ts';
import { writeInstance } from '../../testing/processes/process-instances.ts';
import { outcomeTester } from '../../testing/results/outcomes.ts';
import { checkBy, makeVerifier } from '../../testing/results/verification.ts';
import { evaluationsOf, makeRule, makeRuleWorker, observe, observed } from '../../testing/rules/rules.ts';

/**
 * Gates that a declaration requests belong to no worker: the principal that completes a task can't cancel the request.
 */
let baton: TestCoordination;
let person: Actor;
let worker: Worker;
let judge: ReturnType<typeof makeVerifier>;
let rules: ReturnType<typeof makeRuleWorker>;
let tester: ReturnType<typeof outcomeTester>;
before(async () => {
  baton = await startCoordination();
  person = await baton.actor({ kind: 'human' });
  worker = await makeWorker(baton);
  judge = makeVerifier(baton);
  rules = makeRuleWorker(baton);
  tester = outcomeTester(baton, person);
});
after(async () => {
  await judge.close();
  await rules.close();
  await tester.close();
  await baton.close();
});

const cancel = (id: string, actor: Actor) => actor.post(`/approvals/${id}:cancel`);
const gatesOf = async (taskId: string) => (await done(baton.admin.get(`/approvals?taskId=${taskId}`))).items;
const ensured = () => ({
  ensureWork: {
    type: 'task',
    key: `after-$.task.id`,
    title: 'Deploy',
    requestApproval: { approver: person.principalId },
  },
});

/** A person with claims.manage or the addressee may cancel the request; the agent and strangers may not. */
async function onlyPeopleCancel(gate: any, other: any) {
  assert.deepEqual(
    [gate.status, gate.gate, gate.requestedByPrincipalId, gate.assignedPrincipalId],
    ['pending', true, await corePrincipalOf(baton), person.principalId],
  );
  const { subject, subjectChanged } = await done(person.get(`/approvals/${gate.id}`));
  assert.deepEqual(
    [subject.snapshot.task.title, subjectChanged],
    [(await tester.task(gate.taskId)).title, false],
  );
  const { actor } = worker;
  await refused(cancel(gate.id, actor), 403, 'permission_denied');
  const manager = await baton.actor({ kind: 'human', permissions: ['approvals.manage', 'approvals.decide'] });
  await refused(cancel(gate.id, manager), 403, 'not_eligible');
  const bot = await baton.actor({ permissions: ['approvals.manage', 'claims.manage'] });
  await refused(cancel(gate.id, bot), 403, 'permission_denied');
  assert.equal((await gatesOf(gate.taskId))[0].status, 'pending');
  const carer = await baton.actor({ kind: 'human', permissions: ['approvals.manage', 'claims.manage'] });
  assert.equal((await done(cancel(gate.id, carer))).status, 'cancelled');
  assert.equal((await done(cancel(other.id, person))).status, 'cancelled');
}

/** The gate on the follow-up task of a task that the agent completes. */
async function completedByAgent() {
  const typeKey = `declares-${crypto.randomUUID().slice(0, 8)}`;
  await insertTestType(baton, { key: typeKey, completionSchema: { onComplete: { actions: [ensured()] } } });
  const task = await makeTask(baton, { typeKey });
  const { claimId, fencingToken, task: claimed } = await claimTask(worker, task.id);
  const { version = 2 } = claimed ?? {};
  const body = { claimId, fencingToken };
  const headers = { 'if-match': `task-${version}` };
  await done(worker.actor.post(`/tasks/${task.id}:complete`, body, headers));
  const { items } = await done(baton.admin.get(`/tasks/${task.id}/relations`));
  const followed = items.find(({ type }: any) => type === 'spawned_by');
  return (await gatesOf(followed.fromTaskId))[0];
}

test('of a completed task, requested by its type', async () => {
  const gate = await completedByAgent();
  const [event] = await eventsOf(baton, gate.id);
  assert.deepEqual(
    [event?.actor_id, event?.payload['requestedBy']],
    [worker.actor.principalId, await corePrincipalOf(baton)],
    'the event contains its cause and its owner',
  );
  await onlyPeopleCancel(gate, await completedByAgent());
});

test('of a decision, requested by its type', async () => {
  const decided = async () => {
    const { id, task } = await tester.gate({ approved: [ensured()] });
    await tester.decide(id);
    await tester.work();
    const [{ result }] = (await tester.outcome(id)).actions;
    assert.notEqual(result.taskId, task.id);
    return (await gatesOf(result.taskId))[0];
  };
  await onlyPeopleCancel(await decided(), await decided());
});

/** The gate on the task of a rule that the agent itself wrote. */
async function askedByRule() {
  const kind = `asked.${crypto.randomUUID()}`;
  const fields = { title: 'May it go?', approver: person.principalId };
  const rule = await makeRule(worker.actor, {
    trigger: observed(kind),
    action: { kind: 'request_decision', fields },
  });
  await observe(worker.actor, kind);
  await rules.run();
  const [{ createdTaskIds }] = await evaluationsOf(baton.admin, rule.id);
  return (await gatesOf(createdTaskIds[0]))[0];
}

test('of a rule, also of one that the agent wrote', async () => {
  const gate = await askedByRule();
  await onlyPeopleCancel(gate, await askedByRule());
});

test('declared requests pending at the upgrade become the core’s, and the agent’s own stay its own', async () => {
  const { actor } = worker;
  const ofRule = await askedByRule();
  const body = { assignedPrincipalId: person.principalId };
  const ofProcess = await done(actor.post('/approvals', body), 201);
  const own = await done(actor.post('/approvals', { ...body, task: ofRule.taskId, gate: true }), 201);
  const { principalId } = actor;
  await baton.pool.run(
    sql`update approvals set requested_by_principal_id = ${principalId} where id = ${ofRule.id}`,
  );
  const instanceId = await writeInstance(baton, null);
  const state = { nodes: { other: {}, vote: { ballots: [{ approvalId: ofProcess.id }] } } };
  await baton.pool.run(sql`
    update process_instances set status = 'running', completed_at = null, state = ${JSON.stringify(state)} where id = ${instanceId}`);
  const migration = await readFile(join(migrationsDirectory, '0090_declared_gates.sql'), 'utf8');
  for (const text of migration.split(/;$/m))
    if (text.trim() !== '') await baton.pool.run({ text, values: [] });
  const requesterOf = async ({ id }: { id: string }) =>
    (await done(baton.admin.get(`/approvals/${id}`))).requestedByPrincipalId;
  const core = await corePrincipalOf(baton);
  assert.deepEqual(
    [await requesterOf(ofRule), await requesterOf(ofProcess), await requesterOf(own)],
    [core, core, principalId],
  );
  await refused(cancel(ofRule.id, actor), 403, 'permission_denied');
  await refused(cancel(ofProcess.id, actor), 403, 'permission_denied');
  await done(cancel(own.id, actor));
});

test('of a verification', async () => {
  const verified = async () => {
    const task = await makeTask(baton, {
      acceptance: [checkBy('human', { spec: { approver: person.principalId } })],
    });
    const { actor } = worker;
    await done(actor.post(`/tasks/${task.id}:complete`, {}, { 'if-match': `task-${task.version}` }));
    await judge.run();
    return (await gatesOf(task.id))[0];
  };
  const gate = await verified();
  await onlyPeopleCancel(gate, await verified());
});

test('a task whose subject cannot be shown fails its verification', async () => {
  const task = await makeTask(baton, {
    description: 'x'.repeat(70_000),
    acceptance: [checkBy('human', { spec: { approver: person.principalId } })],
  });
  await done(baton.admin.post(`/tasks/${task.id}:complete`, {}, { 'if-match': `task-${task.version}` }));
  await judge.run();
  const [attempt] = (await done(baton.admin.get(`/tasks/${task.id}/verifications`))).items;
  assert.deepEqual([attempt.status, attempt.results[0].reason], ['failed', 'no_decision']);
});

test('an approved check of a verification is requested again while the attempt is open, but not afterwards', async () => {
  const external = { ...checkBy('external_state'), key: 'external' };
  const task = await makeTask(baton, {
    acceptance: [checkBy('human', { spec: { approver: person.principalId } }), external],
  });
  const { actor } = worker;
  const change = async (body: object) => {
    const { version } = await tester.task(task.id);
    await done(actor.patch(`/tasks/${task.id}`, body, { 'if-match': `task-${version}` }));
    return (await gatesOf(task.id)).filter(({ status }: any) => status === 'pending');
  };
  await done(actor.post(`/tasks/${task.id}:complete`, {}, { 'if-match': `task-${task.version}` }));
  await judge.run();
  const [{ id }] = await gatesOf(task.id);
  await tester.decide(id);
  await judge.run();
  const [again] = await change({ title: 'Something else' });
  assert.equal(again.supersedesApprovalId, id);
  await tester.decide(again.id);
  await baton.pool.run(
    sql`update verifications set waiting_since = now() - interval '100 days', next_check_at = now() - interval '1 ms' where task_id = ${task.id}`,
  );
  await judge.run();
  const [attempt] = (await done(baton.admin.get(`/tasks/${task.id}/verifications`))).items;
  assert.deepEqual([attempt.status, attempt.results[0].evidence], ['failed', [`approval:${id}`]]);
  assert.deepEqual(await change({ title: 'Another thing' }), []);
});
