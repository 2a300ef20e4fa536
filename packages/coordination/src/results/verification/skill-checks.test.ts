import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { type Actor, startCoordination, type TestCoordination } from '../../testing/coordination.ts';
import { done, eventsOf, makeTask, refused } from '../../testing/leases.ts';
import { claimCall, makeCallable, makeCallWorker } from '../../testing/results/invocations.ts';
import { checkBy, letTimePass, makeVerifier, openVerification } from '../../testing/results/verification.ts';

/** Tests checks that a skill verifies. See docs/reference/completion.md#checks. */
let baton: TestCoordination;
let judge: ReturnType<typeof makeVerifier>;
let executor: Actor;
before(async () => {
  baton = await startCoordination();
  judge = makeVerifier(baton);
  executor = await baton.actor();
});
after(async () => {
  await judge.close();
  await baton.close();
});

const read = (id: string) => done(baton.admin.get(`/tasks/${id}`));
const attemptOf = async (id: string) => (await done(baton.admin.get(`/tasks/${id}/verifications`))).items[0];
const checkOf = (skill: any, more: object = {}, beside: object = {}) =>
  checkBy('deterministic', { spec: { skill: `${skill.name}@${skill.version}`, ...more }, ...beside });
const end = (call: any, verb: string, body: object) =>
  done(executor.post(`/skill-invocations/${call.id}:${verb}`, { fencingToken: call.fencingToken, ...body }));

/** Sets up an attempt that has requested its call, which an executor has claimed. */
async function called(skill: any, acceptance: object[], by?: Actor) {
  const task = await openVerification(baton, acceptance, {}, by);
  await judge.run();
  return { task, call: (await done(claimCall(executor, skill))).invocation };
}

/** Returns the result of the check after the call has ended. */
async function judgedAfter(task: { id: string }) {
  await judge.run();
  const { status, results } = await attemptOf(task.id);
  return { status, ...results.at(-1) };
}

test('the skill is called once on behalf of the completer, and its success passes the check', async () => {
  const skill = await makeCallable(baton.admin);
  const inputs = { title: '$.task.title', of: 'ticket $.task.publicId' };
  const { task, call } = await called(skill, [checkOf(skill, { inputs })], baton.admin);
  assert.deepEqual(call.inputs, { title: task.title, of: `ticket ${task.publicId}` });
  const waiting = await attemptOf(task.id);
  assert.deepEqual([waiting.status, waiting.skillInvocationId], ['running', call.id]);
  assert.deepEqual([call.taskId, call.authorityPrincipalId], [task.id, baton.admin.principalId]);
  assert.deepEqual(call.requestedBy, { kind: 'verification', ref: waiting.id });
  await letTimePass(baton, task.id, 20);
  await judge.run();
  assert.equal((await attemptOf(task.id)).status, 'running');
  const { artifactId } = await end(call, 'complete', { output: { any: 1 } });
  // The end of the call wakes the attempt without a delay.
  const result = await judgedAfter(task);
  assert.deepEqual(
    [result.status, result.evidence],
    ['passed', [`invocation:${call.id}`, `artifact:${artifactId}`]],
  );
  assert.equal((await read(task.id)).status, 'done');
  const asked = (await eventsOf(baton, call.id)).filter(({ type }) => type.endsWith('_requested'));
  assert.deepEqual([asked.length, asked[0]?.actor_id], [1, baton.admin.principalId]);
});

test('the expected output is compared literally', async () => {
  const skill = await makeCallable(baton.admin);
  const expect = { passed: true, levels: { a: [1, 2] } };
  const outputs: [object, string][] = [
    [{ passed: true, levels: { a: [1, 2] }, more: 1 }, 'passed'],
    [{ passed: 1, levels: { a: [1, 2] } }, 'expectation_not_met'],
    [{ passed: true, levels: { a: [2, 1] } }, 'expectation_not_met'],
    [{ passed: true }, 'expectation_not_met'],
  ];
  for (const [output, wanted] of outputs) {
    const { task, call } = await called(skill, [checkOf(skill, { expect })]);
    await end(call, 'complete', { output });
    const { status, reason } = await judgedAfter(task);
    assert.equal(reason ?? status, wanted);
  }
});

test('a call that fails, is cancelled or cannot be made fails the check with its reason', async () => {
  const skill = await makeCallable(baton.admin);
  const failed = await called(skill, [checkOf(skill)]);
  await end(failed.call, 'fail', { error: { code: 'broken', message: 'It broke.' } });
  const { reason, message, evidence } = await judgedAfter(failed.task);
  assert.deepEqual(
    [reason, message, evidence],
    ['skill_failed', 'broken: It broke.', [`invocation:${failed.call.id}`]],
  );
  const cancelled = await called(skill, [checkOf(skill)]);
  await done(baton.admin.post(`/skill-invocations/${cancelled.call.id}:cancel`));
  assert.equal((await judgedAfter(cancelled.task)).reason, 'skill_cancelled');
  const late = await called(skill, [checkOf(skill)]);
  await letTimePass(baton, late.task.id, 899);
  await judge.run();
  assert.equal((await attemptOf(late.task.id)).status, 'running');
  await letTimePass(baton, late.task.id, 2);
  assert.equal((await judgedAfter(late.task)).reason, 'no_result');
  const call = await done(baton.admin.get(`/skill-invocations/${late.call.id}`));
  assert.deepEqual([call.status, call.error.message], ['cancelled', 'verification_over']);
});

test('invalid inputs, and a skill that was disabled meanwhile, fail the check', async () => {
  const inputs = { required: ['branch'] };
  const strict = await makeCallable(baton.admin, { contract: { inputs } });
  const task = await openVerification(baton, [checkOf(strict)]);
  const misfit = await judgedAfter(task);
  assert.deepEqual(
    [misfit.reason, misfit.message],
    ['no_result', 'The skill could not be called: invalid_skill_inputs.'],
  );
  const skill = await makeCallable(baton.admin);
  const waiting = await openVerification(baton, [checkOf(skill)]);
  await done(baton.admin.patch(`/skills/${skill.id}`, { status: 'disabled' }, { 'if-match': 'skill-1' }));
  assert.equal((await judgedAfter(waiting)).message, 'The skill could not be called: skill_not_invocable.');
});

test('the end of an attempt cancels its call', async () => {
  const skill = await makeCallable(baton.admin);
  const { task, call } = await called(skill, [checkOf(skill)]);
  const { version } = await read(task.id);
  const ifMatch = { 'if-match': `task-${version}` };
  await done(baton.admin.patch(`/tasks/${task.id}`, { status: 'cancelled' }, ifMatch));
  await judge.run();
  const { status, error } = await done(baton.admin.get(`/skill-invocations/${call.id}`));
  assert.deepEqual([status, error.message], ['cancelled', 'verification_over']);
});

test('a completer who was disabled ends the attempt and its call', async () => {
  const worker = makeCallWorker(baton);
  const completer = await baton.actor();
  const skill = await makeCallable(baton.admin);
  const task = await openVerification(baton, [checkOf(skill)], {}, completer);
  await judge.run();
  const { skillInvocationId } = await attemptOf(task.id);
  await done(baton.admin.post(`/principals/${completer.principalId}:disable`));
  await worker.withdraw();
  assert.equal((await judgedAfter(task)).reason, 'credential_inactive');
  assert.equal((await done(baton.admin.get(`/skill-invocations/${skillInvocationId}`))).status, 'cancelled');
  await worker.close();
});

test("a skill with external effects is called after a person's approval, and refused without one", async () => {
  const skill = await makeCallable(baton.admin, { sideEffects: 'external_write' });
  const person = checkBy('human', { key: 'agreed', spec: { approver: baton.admin.principalId } });
  const refusedSpec = async (acceptance: object[]) =>
    (await refused(baton.admin.post('/tasks', { title: 'x', acceptance }), 422, 'invalid_acceptance_spec'))
      .reason;
  assert.equal(await refusedSpec([checkOf(skill)]), 'external_write_unapproved');
  assert.equal(await refusedSpec([checkOf(skill), person]), 'external_write_unapproved');
  const conditional = { ...person, when: ['$.task.priority'] };
  assert.equal(await refusedSpec([conditional, checkOf(skill)]), 'external_write_unapproved');
  const task = await openVerification(baton, [person, checkOf(skill)]);
  await judge.run();
  const { approvalId } = await attemptOf(task.id);
  await done(baton.admin.post(`/approvals/${approvalId}:approve`, {}));
  await judge.run();
  const { invocation } = await done(claimCall(executor, skill));
  assert.deepEqual(invocation.authorizationBasis, { kind: 'approval', approvalId });
  await end(invocation, 'complete', { output: {} });
  assert.equal((await judgedAfter(task)).status, 'passed');
});

test('a check specifies a callable skill', async () => {
  const reasonOf = async (spec: object) => {
    const body = { title: 'x', acceptance: [checkBy('deterministic', { spec })] };
    return (await refused(baton.admin.post('/tasks', body), 422, 'invalid_acceptance_spec')).reason;
  };
  assert.equal(await reasonOf({ skill: 'nothing@1' }), 'not_found');
  const bare = await done(baton.admin.post('/skills', { name: 'bare', protocol: 'mcp' }), 201);
  assert.equal(await reasonOf({ skill: 'bare@1.0.0' }), 'no_contract');
  await done(baton.admin.patch(`/skills/${bare.id}`, { status: 'disabled' }, { 'if-match': 'skill-1' }));
  assert.equal(await reasonOf({ skill: 'bare@1.0.0' }), 'disabled');
  const skill = await makeCallable(baton.otherAdmin);
  assert.equal(await reasonOf({ skill: `${skill.name}@1.0.0` }), 'not_found');
  const own = await makeCallable(baton.admin);
  const type = { key: 'checked', displayName: 'Checked', acceptance: [checkOf(own)] };
  await done(baton.admin.post('/task-types', type), 201);
  await makeTask(baton, { typeKey: 'checked' });
});
