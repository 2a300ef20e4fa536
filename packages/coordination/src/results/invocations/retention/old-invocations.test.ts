import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { sql } from '@baton/kernel/database/sql';
import { newId } from '@baton/values/ids';
import { type Actor, startCoordination, type TestCoordination } from '../../../testing/coordination.ts';
import { done, makeRun, makeTask, makeWorker, refused } from '../../../testing/leases.ts';
import { claimCall, invoke, makeCallable, runningCall } from '../../../testing/results/invocations.ts';
import { outcomeTester } from '../../../testing/results/outcomes.ts';
import { checkBy, makeVerifier, openVerification } from '../../../testing/results/verification.ts';
import { makeRule, makeRuleWorker, observe, observed } from '../../../testing/rules/rules.ts';
import { deleteOldInvocations } from './old-invocations.ts';

let baton: TestCoordination;
let worker: ReturnType<typeof makeRuleWorker>;
let executor: Actor;
before(async () => {
  baton = await startCoordination();
  worker = makeRuleWorker(baton);
  executor = await baton.actor();
});
after(async () => {
  await worker.close();
  await baton.close();
});

const refOf = ({ name, version }: any) => `${name}@${version}`;
const age = (days = 31) =>
  baton.pool.run(sql`
    update skill_invocations set finished_at = finished_at - make_interval(days => ${days}),
      created_at = created_at - make_interval(days => ${days}) where finished_at is not null`);
const complete = ({ id, fencingToken }: any) =>
  done(executor.post(`/skill-invocations/${id}:complete`, { fencingToken, output: {} }));
const take = async (skill: any) => (await done(claimCall(executor, skill))).invocation;
const isKept = async ({ id }: { id: string }) =>
  (await baton.admin.get(`/skill-invocations/${id}`)).status === 200;
const forget = () => deleteOldInvocations(worker.tools).run();
/** Checks that the call is deleted only after `end` has ended what refers to it. */
async function keptUntil(call: { id: string }, end: () => Promise<unknown>): Promise<void> {
  await age();
  await forget();
  assert.equal(await isKept(call), true);
  await end();
  await forget();
  assert.equal(await isKept(call), false);
}

test('a call is deleted 30 days after its end, and its key can then identify another one', async () => {
  const skill = await makeCallable(baton.admin);
  const idempotencyKey = newId();
  const call = await runningCall(executor, baton.admin, skill, { idempotencyKey });
  await complete(call);
  const pending = await done(invoke(baton.admin, skill), 201);
  await age(29);
  await forget();
  assert.equal((await done(invoke(baton.admin, skill, { idempotencyKey }))).id, call.id);
  await age(2);
  await forget();
  await refused(baton.admin.get(`/skill-invocations/${call.id}`), 404, 'not_found');
  assert.equal(await isKept(pending), true);
  assert.notEqual((await done(invoke(baton.admin, skill, { idempotencyKey }), 201)).id, call.id);
});

test('a call that an approval allowed is kept, and the approval allows no second one', async () => {
  const skill = await makeCallable(baton.admin, { sideEffects: 'external_write' });
  const task = await makeTask(baton);
  const gate = { task: task.id, gate: true, assignedPrincipalId: baton.admin.principalId };
  const { id: approvalId } = await done(baton.admin.post('/approvals', gate), 201);
  await done(baton.admin.post(`/approvals/${approvalId}:approve`, {}));
  const body = { taskId: task.id, approvalId };
  await complete(await runningCall(executor, baton.admin, skill, body));
  await age();
  await forget();
  await refused(invoke(baton.admin, skill, body), 409, 'approval_already_used');
});

test('the call that a run may make only once is kept while the run is running', async () => {
  const agent = await makeWorker(baton);
  const skill = await makeCallable(baton.admin, { sideEffects: 'external_write' });
  await done(baton.admin.post(`/principals/${agent.actor.principalId}/skills`, { skillId: skill.id }), 201);
  const execution = { skill: skill.name, version: skill.version };
  const type = { key: `e${Date.now()}`, displayName: 'Executed', execution };
  await done(baton.admin.post('/task-types', type), 201);
  const { run } = await makeRun(baton, agent, { task: { typeKey: type.key } });
  const call = await runningCall(executor, agent.actor, skill, { runId: run.id });
  await complete(call);
  await keptUntil(call, async () => {
    await refused(invoke(agent.actor, skill, { runId: run.id }), 409, 'execution_already_invoked');
    await done(agent.actor.post(`/runs/${run.id}:fail`));
  });
});

test('the call that a rule waits for is kept until the rule has read its result', async () => {
  const skill = await makeCallable(baton.admin);
  const type = `k-${newId()}`;
  await makeRule(baton.admin, {
    trigger: observed(type),
    interpretation: { skill: refOf(skill), inputs: {} },
    action: { fields: { title: 'By {{ skill.invocationId }}' } },
  });
  await observe(baton.admin, type);
  await worker.run();
  const call = await take(skill);
  await complete(call);
  await keptUntil(call, async () => {
    await baton.pool.run(sql`
      update rule_evaluations set next_check_at = now() - interval '1 s' where next_check_at is not null`);
    await worker.waiting();
  });
});

test('the call that a verification waits for is kept until the verification ends', async () => {
  const skill = await makeCallable(baton.admin);
  const judge = makeVerifier(baton);
  await openVerification(baton, [checkBy('deterministic', { spec: { skill: refOf(skill) } })]);
  await judge.run();
  const call = await take(skill);
  await complete(call);
  await keptUntil(call, () => judge.run());
  await judge.close();
});

test('the call of a decision is kept until the outcome of the decision is complete', async () => {
  const person = await baton.actor({ kind: 'human' });
  const tester = outcomeTester(baton, person);
  const skill = await makeCallable(baton.admin);
  const { id } = await tester.gate({ approved: [{ invokeSkill: { skill: refOf(skill) } }] });
  await tester.decide(id);
  await tester.work();
  const call = await take(skill);
  await complete(call);
  await keptUntil(call, () => tester.work());
  await tester.close();
});

test('the number of pending calls per tenant is limited: the next one is refused until an executor has claimed one', async () => {
  const pendingMax = 3;
  const small = await startCoordination({ CP_SKILL_INVOCATIONS_PENDING_MAX: String(pendingMax) });
  try {
    const skill = await makeCallable(small.admin);
    const key = { idempotencyKey: newId() };
    const first = await done(invoke(small.admin, skill, key), 201);
    for (let n = 1; n < pendingMax; n += 1) await done(invoke(small.admin, skill), 201);
    const full = await invoke(small.admin, skill);
    assert.deepEqual([full.status, full.headers.get('retry-after')], [429, '5']);
    assert.equal(full.body.error.code, 'rate_limited');
    assert.equal((await done(invoke(small.admin, skill, key))).id, first.id);
    const other = await makeCallable(small.otherAdmin);
    await done(invoke(small.otherAdmin, other), 201);
    await done(claimCall(await small.actor(), skill));
    await done(invoke(small.admin, skill), 201);
  } finally {
    await small.close();
  }
});
