import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { sql } from '@baton/kernel/database/sql';
import { type Actor, startCoordination, type TestCoordination } from '../../testing/coordination.ts';
import { insertTestType } from '../../testing/definitions/task-type.ts';
import { done, makeTask, makeWorker, refused, type Worker } from '../../testing/leases.ts';
import { claimCall, invoke, makeCallable } from '../../testing/results/invocations.ts';
import { outcomeTester } from '../../testing/results/outcomes.ts';
import { evaluationsOf, makeRule, makeRuleWorker, observe, observed } from '../../testing/rules/rules.ts';

/**
 * Tests attempts to bypass an approval: each change to the approved subject requires a new approval. See
 * docs/reference/trust.md#a-person-approves-what-they-saw.
 */
let baton: TestCoordination;
let person: Actor;
let worker: Worker;
let agent: Actor;
let executor: Actor;
let tester: ReturnType<typeof outcomeTester>;
before(async () => {
  baton = await startCoordination();
  person = await baton.actor({ kind: 'human' });
  worker = await makeWorker(baton);
  agent = worker.actor;
  executor = await baton.actor();
  tester = outcomeTester(baton, person);
});
after(async () => {
  await tester.close();
  await baton.close();
});

const patch = async (taskId: string, change: object, actor = agent) => {
  const { version } = await done(actor.get(`/tasks/${taskId}`));
  return actor.patch(`/tasks/${taskId}`, change, { 'if-match': `task-${version}` });
};
const approve = (id: string, actor = person) => actor.post(`/approvals/${id}:approve`);
const pendingOf = async (taskId: string) =>
  (await done(baton.admin.get(`/approvals?taskId=${taskId}&status=pending`))).items;
const claim = (taskId: string) => agent.post(`/tasks/${taskId}:claim`, { sessionId: worker.sessionId });
const ask = (task: { id: string }, more: object = {}, actor = baton.admin) =>
  done(
    actor.post('/approvals', {
      task: task.id,
      gate: true,
      assignedPrincipalId: person.principalId,
      ...more,
    }),
    201,
  );

test('a pending request of the agent’s own covers no change, and cancels none', async () => {
  const task = await makeTask(baton, { title: 'Pay ACME' });
  const { id } = await ask(task);
  await done(approve(id));
  const decoy = await ask(task, { comment: 'Is the weather fine?' }, agent);
  await done(patch(task.id, { title: 'Pay Mallory' }));
  const again = (await pendingOf(task.id)).filter((item: any) => item.id !== decoy.id);
  assert.deepEqual(
    again.map((item: any) => item.supersedesApprovalId),
    [id],
  );
  await done(agent.post(`/approvals/${decoy.id}:cancel`));
  const held = { taskId: task.id, pendingApprovals: [again[0].id] };
  assert.deepEqual(await refused(claim(task.id), 409, 'approval_required'), held);
  await refused(agent.post(`/approvals/${again[0].id}:cancel`), 403, 'permission_denied');
});

test('a newer approval by a person whom an earlier one excludes does not cover their own changes', async () => {
  const other = await baton.actor({ kind: 'human' });
  const role = await done(baton.admin.post('/roles', { slug: 'signers', name: 'Signers' }), 201);
  for (const { principalId } of [person, other])
    await done(baton.admin.post(`/principals/${principalId}/roles`, { roleId: role.id }), 201);
  const task = await makeTask(baton);
  const ofRole = { requiredRoleId: role.id, assignedPrincipalId: undefined };
  const excludedPrincipals = [other.principalId];
  const strict = await ask(task, { ...ofRole, excludedPrincipals });
  await done(approve(strict.id));
  await done(approve((await ask(task, ofRole)).id, other));
  await done(patch(task.id, { title: 'Something else' }, other));
  const [again, ...more] = await pendingOf(task.id);
  assert.deepEqual(
    [again.supersedesApprovalId, again.excludedPrincipals, more.length],
    [strict.id, excludedPrincipals, 0],
  );
  await refused(approve(again.id, other), 403, 'separation_of_duties_violation');
});

test('a change that a rule makes on behalf of the decider is not a decision', async () => {
  const rules = makeRuleWorker(baton);
  const typeKey = 'paid-by-rule';
  await insertTestType(baton, { key: typeKey });
  const [files, changes] = ['invoice.received', 'invoice.corrected'];
  const title = 'Pay {{ payload.data.to }}';
  const dedupKeyTemplate = 'invoice';
  const filing = await makeRule(baton.admin, {
    trigger: observed(files),
    action: { taskType: typeKey, fields: { title }, dedupKeyTemplate },
  });
  const update = { kind: 'update_work', taskType: undefined, fields: { title }, dedupKeyTemplate };
  await makeRule(baton.admin, { trigger: observed(changes), action: update });
  await observe(agent, files, { to: 'ACME' });
  await rules.run();
  const [{ createdTaskIds }] = await evaluationsOf(baton.admin, filing.id);
  const task = await tester.task(createdTaskIds[0]);
  assert.equal(task.title, 'Pay ACME');
  const { id } = await ask(task, { assignedPrincipalId: baton.admin.principalId });
  await done(approve(id, baton.admin));

  await observe(agent, changes, { to: 'Mallory' });
  await rules.run();
  await rules.close();
  assert.equal((await tester.task(task.id)).title, 'Pay Mallory');
  const [again] = await pendingOf(task.id);
  assert.equal(again?.supersedesApprovalId, id);
  await refused(claim(task.id), 409, 'approval_required');
});

test('values that an outcome reads from other objects count as of the decision, not afterwards', async () => {
  const origin = await makeTask(baton, { title: 'ACME' });
  const body = '$.task.artifact[invoice].metadata.amount to $.spawnedBy.title';
  const { id, task } = await tester.gate({ approved: [{ comment: { body } }] });
  const relation = { toTask: origin.id, type: 'spawned_by' };
  await done(baton.admin.post(`/tasks/${task.id}/relations`, relation), 201);
  const invoice = (amount: number) =>
    done(
      agent.post('/artifacts', { type: 'invoice', name: 'invoice', task: task.id, metadata: { amount } }),
      201,
    );
  await invoice(10);
  const { changedFields, currentDigest } = await refused(approve(id), 409, 'approval_subject_changed');
  assert.deepEqual(changedFields, ['outcome']);
  const decide = () => person.post(`/approvals/${id}:approve`, { subjectDigest: currentDigest });
  await done(patch(origin.id, { title: 'Mallory' }));
  await refused(decide(), 409, 'approval_subject_changed');
  await done(patch(origin.id, { title: 'ACME' }));
  await done(decide());
  await invoice(1_000_000);
  await done(patch(origin.id, { title: 'Mallory' }));
  await tester.work();
  const { items } = await done(baton.admin.get(`/tasks/${task.id}/comments`));
  assert.equal(items[0].body, '10 to ACME');
});

test('a changed and then rejected task is not completed by the earlier approval', async () => {
  const { id, task } = await tester.gate({ approved: [{ completeTask: {} }] });
  await done(approve(id));
  await done(patch(task.id, { title: 'Something else' }));
  const look = async () => {
    await baton.pool.run(
      sql`update approval_outcomes set next_attempt_at = now() - interval '1 ms' where approval_id = ${id}`,
    );
    await tester.work();
    return tester.outcome(id);
  };
  const deferred = await look();
  assert.deepEqual([deferred.outcomeStatus, deferred.lastError.code], ['deferred', 'approval_required']);
  const [again] = await pendingOf(task.id);
  await done(person.post(`/approvals/${again.id}:reject`));
  const { outcomeStatus, actions } = await look();
  assert.deepEqual(
    [outcomeStatus, actions[0].status, actions[0].result],
    ['executed', 'skipped', { taskId: task.id, skipped: 'approval_superseded' }],
  );
  assert.notEqual((await tester.task(task.id)).status, 'done');
});

describe('a manual call', () => {
  const code = 'skill_side_effect_not_authorized';

  test('is not permitted by an approval with an outcome: the worker executes only that outcome', async () => {
    const skill = await makeCallable(baton.admin, { sideEffects: 'external_write' });
    const other = await makeCallable(baton.admin, { sideEffects: 'external_write' });
    const inputs = { to: '$.task.customFields.to' };
    const approved = [{ invokeSkill: { skill: `${skill.name}@${skill.version}`, inputs } }];
    const { id, task } = await tester.gate({ approved }, { task: { customFields: { to: 'ACME' } } });
    await done(approve(id));
    const mallory = { taskId: task.id, approvalId: id, inputs: { to: 'Mallory' } };
    for (const which of [skill, other])
      for (const actor of [agent, baton.admin])
        assert.deepEqual(await refused(invoke(actor, which, mallory), 403, code), { approvalId: id });
    await tester.work();
    assert.deepEqual((await done(claimCall(executor, skill))).invocation.inputs, { to: 'ACME' });
    assert.equal((await tester.outcome(id)).lastError?.code, 'skill_running');
  });

  test("is not permitted by an approval of the task's earlier state", async () => {
    const skill = await makeCallable(baton.admin, { sideEffects: 'external_write' });
    const task = await makeTask(baton);
    const { id } = await ask(task);
    await done(approve(id));
    const call = (approvalId: string) => invoke(baton.admin, skill, { taskId: task.id, approvalId });
    await done(patch(task.id, { title: 'Other' }));
    await refused(call(id), 403, code);
    const [again] = await pendingOf(task.id);
    await refused(call(again.id), 403, code);
    await done(approve(again.id));
    await refused(call(id), 403, code);
    await done(call(again.id), 201);
  });
});
