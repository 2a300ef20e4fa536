import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { sql } from '@baton/kernel/database/sql';
import { type Actor, startCoordination, type TestCoordination } from '../../testing/coordination.ts';
import { done, eventsOf, refused } from '../../testing/leases.ts';
import { claimCall, makeCallable } from '../../testing/results/invocations.ts';
import { outcomeTester } from '../../testing/results/outcomes.ts';

/** Tests skills that decisions call (see docs/reference/approvals.md#outcomes). */
let baton: TestCoordination;
let person: Actor;
let executor: Actor;
let tester: ReturnType<typeof outcomeTester>;
before(async () => {
  baton = await startCoordination();
  person = await baton.actor({ kind: 'human' });
  executor = await baton.actor();
  tester = outcomeTester(baton, person);
});
after(async () => {
  await tester.close();
  await baton.close();
});

const comment = (body: string) => ({ comment: { body } });
const commentsOf = async (taskId: string) =>
  (await done(baton.admin.get(`/tasks/${taskId}/comments`))).items.map(({ body }: { body: string }) => body);
const eventTypes = async (id: string) =>
  (await eventsOf(baton, id)).map(({ type }) => type).filter((type) => type.startsWith('approval.outcome'));
const end = (call: any, verb: string, body: object) =>
  done(executor.post(`/skill-invocations/${call.id}:${verb}`, { fencingToken: call.fencingToken, ...body }));

/** A decided gate whose outcome has requested its call; an executor has claimed it. */
async function called(skill: any, more: object = {}, others: object[] = []) {
  const invokeSkill = { skill: `${skill.name}@${skill.version}`, ...more };
  const { id, task } = await tester.gate({ approved: [{ invokeSkill }, ...others] });
  await tester.decide(id, 'approve', { comment: 'main' });
  await tester.work();
  return { id, task, call: (await done(claimCall(executor, skill))).invocation };
}

test('the skill is called on behalf of the decider; the outcome waits, then reacts to the end and continues', async () => {
  const skill = await makeCallable(baton.admin);
  const onSuccess = [comment('$.invocation.skill $.invocation.status: $.invocation.output.url')];
  const onFailure = [comment('never')];
  const inputs = { branch: '$.approval.comment', task: '$.task.publicId' };
  const { id, task, call } = await called(skill, { inputs, onSuccess, onFailure }, [comment('last')]);
  assert.deepEqual(call.inputs, { branch: 'main', task: task.publicId });
  assert.deepEqual(call.requestedBy, { kind: 'approval', ref: id });
  assert.deepEqual([call.authorityPrincipalId, call.taskId], [person.principalId, task.id]);
  const waiting = await tester.outcome(id);
  assert.deepEqual(
    [waiting.outcomeStatus, waiting.lastError],
    ['deferred', { code: 'skill_running', details: { invocationId: call.id } }],
  );
  const [deferred] = (await eventsOf(baton, id)).filter(({ type }) => type === 'approval.outcome_deferred');
  assert.deepEqual(
    [deferred?.payload['reason'], deferred?.payload['details']],
    ['skill_running', { invocationId: call.id }],
  );
  assert.deepEqual(
    waiting.actions.map(({ action, status, reactsTo, when }: any) => [action, status, reactsTo, when]),
    [
      ['invokeSkill', 'not_executed', null, null],
      ['comment', 'not_executed', 0, 'success'],
      ['comment', 'not_executed', 0, 'failure'],
      ['comment', 'not_executed', null, null],
    ],
  );
  await end(call, 'complete', { output: { url: 'https://here' } });
  // The end of the call wakes the outcome without a delay.
  await tester.work();
  const executed = await tester.outcome(id);
  assert.equal(executed.outcomeStatus, 'executed');
  assert.deepEqual(
    executed.actions.map(({ status }: any) => status),
    ['executed', 'executed', 'skipped', 'executed'],
  );
  assert.deepEqual(executed.actions[0].result, {
    invocationId: call.id,
    status: 'succeeded',
    ended: 'success',
  });
  assert.deepEqual(await commentsOf(task.id), [`${skill.name}@1.0.0 succeeded: https://here`, 'last']);
  assert.deepEqual(await eventTypes(id), ['approval.outcome_deferred', 'approval.outcome_executed']);
});

test('a failure with reactions does not fail the outcome', async () => {
  const skill = await makeCallable(baton.admin);
  const onFailure = [comment('$.invocation.error.code: $.invocation.error.message')];
  const failed = await called(skill, { onFailure });
  await end(failed.call, 'fail', { error: { code: 'broken', message: 'It broke.' } });
  await tester.work();
  assert.equal((await tester.outcome(failed.id)).outcomeStatus, 'executed');
  assert.deepEqual(await commentsOf(failed.task.id), ['broken: It broke.']);
  const missed = await called(skill, { expect: { passed: true }, onFailure: [comment('not as expected')] });
  await end(missed.call, 'complete', { output: { passed: false } });
  await tester.work();
  assert.deepEqual(await commentsOf(missed.task.id), ['not as expected']);
});

test('a failure without reactions fails the outcome; a replay calls again', async () => {
  const skill = await makeCallable(baton.admin);
  const { id, task, call } = await called(skill, { expect: { passed: true } }, [comment('done')]);
  await end(call, 'complete', { output: {} });
  await tester.work();
  const failed = await tester.outcome(id);
  assert.deepEqual(
    [failed.outcomeStatus, failed.lastError],
    ['failed', { code: 'expectation_not_met', details: { invocationId: call.id, field: 'passed' } }],
  );
  await done(person.post(`/approvals/${id}:replay-outcome`));
  await tester.work();
  const { invocation } = await done(claimCall(executor, skill));
  assert.notEqual(invocation.id, call.id);
  await end(invocation, 'complete', { output: { passed: true } });
  await tester.work();
  assert.equal((await tester.outcome(id)).outcomeStatus, 'executed');
  assert.deepEqual(await commentsOf(task.id), ['done']);
  const cancelled = await called(skill);
  await done(baton.admin.post(`/skill-invocations/${cancelled.call.id}:cancel`));
  await tester.work();
  assert.equal((await tester.outcome(cancelled.id)).lastError.code, 'skill_cancelled');
  const broken = await called(skill);
  await end(broken.call, 'fail', { error: { code: 'broken', message: 'It broke.' } });
  await tester.work();
  const { lastError } = await tester.outcome(broken.id);
  assert.deepEqual([lastError.code, lastError.details.error.code], ['skill_failed', 'broken']);
});

test('a call that times out is cancelled, and the outcome fails', async () => {
  const skill = await makeCallable(baton.admin);
  const { id, call } = await called(skill);
  const later = (seconds: number) =>
    baton.pool.run(sql`
      with outcome as (update approval_outcomes set next_attempt_at = now() - interval '1 s' where approval_id = ${id})
      update skill_invocations set created_at = clock_timestamp() - make_interval(secs => ${seconds}) where id = ${call.id}`);
  await later(86_390);
  await tester.work();
  assert.equal((await tester.outcome(id)).outcomeStatus, 'deferred');
  await later(86_400);
  await tester.work();
  assert.equal((await tester.outcome(id)).lastError.code, 'skill_wait_expired');
  assert.equal((await done(baton.admin.get(`/skill-invocations/${call.id}`))).status, 'cancelled');
});

test('a refused call fails the outcome with the code of the refusal', async () => {
  const skill = await makeCallable(baton.admin, { contract: { inputs: { required: ['branch'] } } });
  const { id } = await tester.gate({ approved: [{ invokeSkill: { skill: skill.name } }] });
  await tester.decide(id);
  await tester.work();
  assert.equal((await tester.outcome(id)).lastError.code, 'invalid_skill_inputs');
});

test('the decision itself is the basis of a skill with external effects', async () => {
  const skill = await makeCallable(baton.admin, { sideEffects: 'external_write' });
  const { id, call } = await called(skill);
  assert.deepEqual(call.authorizationBasis, { kind: 'approval', approvalId: id });
});

test('a task type specifies callable skills: pinned if they have external effects, and never for a rejection', async () => {
  let types = 0;
  const declare = (skill: string, outcome = 'approved') => {
    const outcomes = { [outcome]: [comment('first'), { invokeSkill: { skill } }] };
    const approvalSchema = { gates: { release: { outcomes } } };
    return baton.admin.post('/task-types', {
      key: `calls-${(types += 1)}`,
      displayName: 'Calls',
      approvalSchema,
    });
  };
  const reasonOf = async (skill: string, outcome?: string) => {
    const { path, reason } = await refused(declare(skill, outcome), 422, 'invalid_approval_schema');
    assert.equal(path, `/gates/release/outcomes/${outcome ?? 'approved'}/1/invokeSkill/skill`);
    return reason;
  };
  assert.equal(await reasonOf('nothing'), 'not_found');
  const [plain, external] = [
    await makeCallable(baton.admin),
    await makeCallable(baton.admin, { sideEffects: 'external_write' }),
  ];
  assert.equal(await reasonOf(external.name), 'external_write_not_pinned');
  assert.equal(await reasonOf(`${external.name}@1.0.0`, 'rejected'), 'external_write_on_rejected');
  const { name } = await done(baton.admin.post('/skills', { name: 'uncallable', protocol: 'mcp' }), 201);
  assert.equal(await reasonOf(name), 'no_contract');
  for (const [skill, outcome] of [
    [plain.name, 'rejected'],
    [`${external.name}@1.0.0`, 'approved'],
  ])
    await done(declare(skill as string, outcome), 201);
});
