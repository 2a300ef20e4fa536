import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { sql } from '@baton/kernel/database/sql';
import { newId } from '@baton/values/ids';
import { type Actor, startCoordination, type TestCoordination } from '../../testing/coordination.ts';
import { done, eventsOf, refused } from '../../testing/leases.ts';
import { claimCall, makeCallable } from '../../testing/results/invocations.ts';
import {
  evaluationsOf,
  makeRule,
  makeRuleWorker,
  observe,
  observed,
  ruleBody,
} from '../../testing/rules/rules.ts';

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

const kind = () => `k-${newId()}`;
const refOf = ({ name, version }: any) => `${name}@${version}`;
const continueEvaluation = async () => {
  await baton.pool.run(
    sql`update rule_evaluations set next_check_at = now() - interval '1 s' where next_check_at is not null`,
  );
  await worker.waiting();
};

/** A rule that calls a skill; the executor has already claimed the call. */
async function asked(more: Record<string, unknown> = {}, actor = baton.admin) {
  const [type, skill] = [kind(), await makeCallable(baton.admin)];
  const rule = await makeRule(actor, {
    trigger: observed(type),
    interpretation: {
      skill: refOf(skill),
      inputs: { text: 'About {{ payload.data.host }}', n: '{{ payload.data.n }}' },
    },
    action: {
      forEach: 'skill.output.findings',
      fields: { title: '{{ item.title }} by {{ skill.invocationId }}' },
    },
    ...more,
  });
  await observe(baton.admin, type, { host: 'db1', n: 7 });
  await worker.run();
  const call = (await done(claimCall(executor, skill))).invocation;
  return { rule, skill, call };
}

const end = (call: any, verb: string, body: object) =>
  done(executor.post(`/skill-invocations/${call.id}:${verb}`, { fencingToken: call.fencingToken, ...body }));
const only = async (ruleId: string) => (await evaluationsOf(baton.admin, ruleId))[0];

test('a skill interprets the cause once, and the action reads its result', async () => {
  const { rule, call } = await asked();
  const waiting = await only(rule.id);
  assert.deepEqual(
    [waiting.status, waiting.result, waiting.skillInvocationId],
    ['waiting', { conditionMatched: true, waitingFor: 'skill' }, call.id],
  );
  assert.deepEqual(call.inputs, { text: 'About db1', n: 7 });
  assert.deepEqual(call.requestedBy, { kind: 'rule', ref: waiting.id });
  assert.equal(call.authorityPrincipalId, baton.admin.principalId);
  await continueEvaluation();
  assert.equal((await only(rule.id)).status, 'waiting');
  await end(call, 'complete', { output: { findings: [{ title: 'One' }, { title: 'Two' }] } });
  await continueEvaluation();
  const { status, createdTaskIds, id } = await only(rule.id);
  const titles = await Promise.all(
    createdTaskIds.map(async (taskId: string) => (await done(baton.admin.get(`/tasks/${taskId}`))).title),
  );
  assert.deepEqual([status, titles], ['matched', [`One by ${call.id}`, `Two by ${call.id}`]]);
  const told = (await eventsOf(baton, rule.id)).filter((event) => event.type === 'rule.evaluated');
  assert.deepEqual(
    told.map(({ payload }) => [payload['evaluationId'], payload['skillInvocationId'], payload['result']]),
    [[id, call.id, 'matched']],
  );
});

test('a failed skill fails the evaluation; one with an empty result does not match', async () => {
  const failing = await asked();
  await end(failing.call, 'fail', { error: { code: 'no_idea', message: 'None.' } });
  const empty = await asked();
  await end(empty.call, 'complete', { output: { findings: [] } });
  await continueEvaluation();
  const { status, error } = await only(failing.rule.id);
  assert.deepEqual([status, error.code, error.details.code], ['failed', 'rule_skill_failed', 'no_idea']);
  assert.equal((await only(empty.rule.id)).status, 'not_matched');
});

test('a timeout of the result ends the evaluation and the call', async () => {
  const { rule, call } = await asked();
  await baton.pool.run(sql`
    update rule_evaluations set created_at = now() - interval '25 hours' where rule_id = ${rule.id}`);
  await continueEvaluation();
  assert.equal((await only(rule.id)).error.code, 'rule_skill_wait_expired');
  assert.equal((await done(baton.admin.get(`/skill-invocations/${call.id}`))).status, 'cancelled');
});

test('disabling or changing a rule cancels its call', async () => {
  const { rule, call } = await asked();
  await done(baton.admin.post(`/rules/${rule.id}:disable`));
  await worker.waiting();
  const { status, result } = await only(rule.id);
  assert.deepEqual([status, result.reason], ['skipped', 'rule_stopped']);
  assert.equal((await done(baton.admin.get(`/skill-invocations/${call.id}`))).status, 'cancelled');
});

test('a schedule that creates tasks calls a skill first', async () => {
  const skill = await makeCallable(baton.admin);
  const rule = await makeRule(baton.admin, {
    trigger: { kind: 'schedule', type: 'interval', everySeconds: 60 },
    interpretation: { skill: refOf(skill) },
    action: { fields: { title: '{{ skill.output.title }}' } },
  });
  await baton.pool.run(sql`update rules set next_run_at = now() - interval '1 s' where id = ${rule.id}`);
  await worker.schedules();
  const call = (await done(claimCall(executor, skill))).invocation;
  await end(call, 'complete', { output: { title: 'Weekly' } });
  await continueEvaluation();
  const { createdTaskIds } = await only(rule.id);
  assert.equal((await done(baton.admin.get(`/tasks/${createdTaskIds[0]}`))).title, 'Weekly');
  await done(baton.admin.delete(`/rules/${rule.id}`), 204);
});

test('a caller who may not call skills cannot call them by a rule', async () => {
  const author = await baton.actor({ permissions: ['rules.write', 'tasks.write'] });
  const [type, skill] = [kind(), await makeCallable(baton.admin)];
  const rule = await makeRule(author, { trigger: observed(type), interpretation: { skill: refOf(skill) } });
  await observe(baton.admin, type);
  await worker.run();
  const { status, error } = await only(rule.id);
  assert.deepEqual(
    [status, error.code, error.details],
    ['failed', 'permission_denied', { required: ['skills.invoke'] }],
  );
});

test('an interpretation is checked when the rule is written', async () => {
  const post = (interpretation: unknown) => baton.admin.post('/rules', { ...ruleBody(), interpretation });
  const writes = await makeCallable(baton.admin, { sideEffects: 'external_write' });
  const { name } = await done(baton.admin.post('/skills', { name: `s ${newId()}`, protocol: 'mcp' }), 201);
  const skill = refOf(await makeCallable(baton.admin));
  for (const wrong of ['x', { skill: 'bare' }, { skill, inputs: { a: '{{ item.a }}' } }, { skill, more: 1 }])
    await refused(post(wrong), 422, 'invalid_rule_interpretation');
  assert.equal((await refused(post({ skill: 'none@1' }), 422, 'unknown_skill')).skill, 'none@1');
  assert.equal((await refused(post({ skill: `${name}@1.0.0` }), 422, 'unknown_skill')).reason, 'no_contract');
  await refused(post({ skill: refOf(writes) }), 422, 'rule_skill_side_effects');
  const { interpretation } = await done(post({ skill }), 201);
  assert.deepEqual(interpretation, { skill, inputs: {} });
  const { results } = await done(
    baton.admin.post('/rules:dry-run', {
      ...ruleBody({ trigger: { kind: 'schedule', type: 'interval', everySeconds: 60 } }),
      interpretation: { skill },
    }),
  );
  assert.deepEqual([results[0].status, results[0].reason], ['waiting', 'interpretation']);
});
