import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { sql } from '@baton/kernel/database/sql';
import { type Actor, startCoordination, type TestCoordination } from '../../testing/coordination.ts';
import { corePrincipalOf, done, makeRun, makeTask, makeWorker, refused } from '../../testing/leases.ts';
import { claimCall, invoke, makeCallable } from '../../testing/results/invocations.ts';
import { checkBy, letTimePass, makeVerifier } from '../../testing/results/verification.ts';

/**
 * Tests that a verification executes and completes exactly what a person approved. See
 * docs/reference/trust.md#a-person-approves-what-they-saw.
 */
let baton: TestCoordination;
let judge: ReturnType<typeof makeVerifier>;
let person: Actor;
let agent: Actor;
let ci: Actor;
let executor: Actor;
before(async () => {
  baton = await startCoordination();
  judge = makeVerifier(baton);
  person = await baton.actor({ kind: 'human' });
  agent = await baton.actor();
  ci = await baton.actor({ kind: 'service' });
  executor = await baton.actor();
});
after(async () => {
  await judge.close();
  await baton.close();
});

const acme = { to: 'ACME Ltd', amount: 10 };
const mallory = { to: 'Mallory', amount: 1_000_000 };
const ofTask = { to: '$.task.customFields.to', amount: '$.task.customFields.amount' };

const read = (id: string) => done(baton.admin.get(`/tasks/${id}`));
const shown = (id: string) => done(person.get(`/approvals/${id}`));
const attemptOf = async (id: string) => (await done(baton.admin.get(`/tasks/${id}/verifications`))).items[0];
const decide = (id: string, verb: string, body: object = {}, by = person) =>
  done(by.post(`/approvals/${id}:${verb}`, body));
const patch = async (id: string, change: object, by = agent) => {
  const { version } = await read(id);
  return done(by.patch(`/tasks/${id}`, change, { 'if-match': `task-${version}` }));
};
const agreed = () => checkBy('human', { key: 'agreed', spec: { approver: person.principalId } });
const external = checkBy('external_state', { key: 'external' });
const callBy = ({ name, version }: any, inputs: object) =>
  checkBy('deterministic', { key: 'paid', spec: { skill: `${name}@${version}`, inputs } });
const makePayer = () => makeCallable(baton.admin, { sideEffects: 'external_write' });
const nobodyIsCalled = async (skill: any) => assert.equal((await claimCall(executor, skill)).status, 204);
const callOf = async (skill: any) => (await done(claimCall(executor, skill))).invocation;

/** Adds evidence from CI, and runs the next evaluation. */
async function proveExternally(id: string) {
  const { evidence } = await read(id);
  const fact = { kind: 'external', externalRef: { system: 'ci', id: '1' }, check: 'external' };
  await patch(id, { evidence: [...evidence, fact] }, ci);
  await judge.run();
  return attemptOf(id);
}

/** A task whose completion the agent has requested, so that the person's approval is requested. */
async function asked(acceptance: object[], more: object = {}) {
  const task = await makeTask(baton, { title: 'Pay', customFields: acme, acceptance, ...more });
  await done(agent.post(`/tasks/${task.id}:complete`, {}, { 'if-match': `task-${task.version}` }));
  await judge.run();
  const { id: attemptId, approvalId } = await attemptOf(task.id);
  return { task, attemptId, approvalId: approvalId as string };
}

describe("a call that a check makes after a person's approval", () => {
  test('is shown to the person, and requested again if the agent changes its inputs', async () => {
    const skill = await makePayer();
    const { task, attemptId, approvalId } = await asked([agreed(), callBy(skill, ofTask)]);
    const { subject } = await shown(approvalId);
    const call = { skill: `${skill.name}@${skill.version}`, inputs: acme };
    assert.deepEqual(subject.snapshot.outcome, { approved: [{ invokeSkill: call }], rejected: [] });
    await decide(approvalId, 'approve');
    await patch(task.id, { customFields: mallory });
    await judge.run();
    await nobodyIsCalled(skill);

    const waiting = await attemptOf(task.id);
    assert.equal(waiting.status, 'waiting_human');
    assert.notEqual(waiting.approvalId, approvalId);
    const again = await shown(waiting.approvalId);
    assert.deepEqual(
      [again.supersedesApprovalId, again.verificationId, again.checkKey, again.requestedByPrincipalId],
      [approvalId, attemptId, 'agreed', await corePrincipalOf(baton)],
    );
    assert.deepEqual(again.subject.snapshot.outcome.approved[0].invokeSkill.inputs, mallory);
    await decide(again.id, 'reject', { comment: 'Who is Mallory?' });
    await judge.run();
    const failed = await attemptOf(task.id);
    assert.deepEqual(
      [failed.status, failed.results.at(-1).reason, failed.results.at(-1).message],
      ['failed', 'approval_rejected', 'Who is Mallory?'],
    );
    await nobodyIsCalled(skill);
    assert.notEqual((await read(task.id)).status, 'done');
  });

  test('has the approved inputs, regardless of later changes to the task', async () => {
    const skill = await makePayer();
    const inputs = { ...ofTask, urgency: '$.task.priority', risk: '$.task.artifact[scan].metadata.risk' };
    const { task, approvalId } = await asked([agreed(), callBy(skill, inputs)]);
    await decide(approvalId, 'approve');
    await patch(task.id, { priority: 'critical' });
    const scan = { type: 'scan', name: 'scan', task: task.id, metadata: { risk: 'none' } };
    await done(agent.post('/artifacts', scan), 201);
    await judge.run();
    const call = await callOf(skill);
    assert.deepEqual(call.inputs, { ...acme, urgency: 'medium', risk: null });
    assert.deepEqual(call.authorizationBasis, { kind: 'approval', approvalId });
  });

  test('is made with the inputs of the last approval', async () => {
    const skill = await makePayer();
    const { task, approvalId } = await asked([agreed(), callBy(skill, ofTask)]);
    await patch(task.id, { customFields: mallory });
    await refused(person.post(`/approvals/${approvalId}:approve`), 409, 'approval_subject_changed');
    const { current } = await shown(approvalId);
    await decide(approvalId, 'approve', { subjectDigest: current.digest });
    await patch(task.id, { customFields: acme });
    await judge.run();
    const { approvalId: again } = await attemptOf(task.id);
    await decide(again, 'approve');
    await judge.run();
    const call = await callOf(skill);
    assert.deepEqual([call.inputs, call.authorizationBasis.approvalId], [acme, again]);
  });

  test('is requested again if the agent adds the check after the approval', async () => {
    const skill = await makePayer();
    const { task, approvalId } = await asked([agreed(), external]);
    assert.equal((await shown(approvalId)).subject.snapshot.outcome, null);
    await decide(approvalId, 'approve');
    await judge.run();
    const literal = { to: 'Mallory', amount: '1000000' };
    await patch(task.id, { acceptance: [agreed(), external, callBy(skill, literal)] });
    const waiting = await proveExternally(task.id);
    await nobodyIsCalled(skill);
    assert.equal(waiting.status, 'waiting_human');
    const again = await shown(waiting.approvalId);
    assert.equal(again.supersedesApprovalId, approvalId);
    assert.deepEqual(again.subject.snapshot.outcome.approved[0].invokeSkill.inputs, literal);
    await decide(again.id, 'reject');
    await judge.run();
    assert.equal((await attemptOf(task.id)).results.at(-1).reason, 'approval_rejected');
    await nobodyIsCalled(skill);
  });

  test('is shown before it is made, even if the person added the check', async () => {
    const skill = await makePayer();
    const { task, approvalId } = await asked([agreed(), external]);
    await decide(approvalId, 'approve');
    await judge.run();
    await patch(task.id, { acceptance: [agreed(), external, callBy(skill, ofTask)] }, person);
    const waiting = await proveExternally(task.id);
    await nobodyIsCalled(skill);
    const again = await shown(waiting.approvalId);
    assert.deepEqual(
      [again.supersedesApprovalId, again.subject.snapshot.outcome.approved[0].invokeSkill.inputs],
      [approvalId, acme],
    );
    await decide(again.id, 'approve');
    await judge.run();
    const call = await callOf(skill);
    assert.deepEqual([call.inputs, call.authorizationBasis.approvalId], [acme, again.id]);
    await done(
      executor.post(`/skill-invocations/${call.id}:complete`, {
        fencingToken: call.fencingToken,
        output: {},
      }),
    );
    await judge.run();
    assert.equal((await read(task.id)).status, 'done');
  });

  test('is requested once if the attempt predates approvals with checks', async () => {
    const skill = await makePayer();
    const { task, approvalId } = await asked([agreed(), external, callBy(skill, ofTask)]);
    await decide(approvalId, 'approve');
    await judge.run();
    await baton.pool.run(sql`
      update approvals set verification_id = null, check_key = null, subject = null, subject_digest = null
      where id = ${approvalId}`);
    const waiting = await proveExternally(task.id);
    await nobodyIsCalled(skill);
    await decide(waiting.approvalId, 'approve');
    await judge.run();
    const call = await callOf(skill);
    assert.deepEqual([call.inputs, call.authorizationBasis.approvalId], [acme, waiting.approvalId]);
    assert.equal((await done(baton.admin.get(`/approvals?taskId=${task.id}`))).items.length, 2);
  });

  test('is made only by the verification: the approval of a check permits no manual call', async () => {
    const skill = await makePayer();
    const { task, approvalId } = await asked([agreed(), external]);
    await decide(approvalId, 'approve');
    const body = { taskId: task.id, approvalId, inputs: mallory };
    await refused(invoke(agent, skill, body), 403, 'skill_side_effect_not_authorized');
  });
});

describe('a task that is changed after the approval of its check', () => {
  test('is not completed if the person rejects the change', async () => {
    const { task, approvalId } = await asked([agreed(), external]);
    await decide(approvalId, 'approve');
    await judge.run();
    await patch(task.id, { title: 'Pay Mallory' });
    const waiting = await proveExternally(task.id);
    assert.equal(waiting.status, 'waiting_human');
    const [again] = (await done(baton.admin.get(`/approvals?taskId=${task.id}&status=pending`))).items;
    await decide(again.id, 'reject');
    await judge.run();
    const { status, results } = await attemptOf(task.id);
    assert.deepEqual(
      [status, results.map((result: any) => [result.status, result.reason])],
      [
        'failed',
        [
          ['failed', 'approval_rejected'],
          ['passed', null],
        ],
      ],
    );
    assert.deepEqual(results[0].evidence, [`approval:${again.id}`]);
    assert.notEqual((await read(task.id)).status, 'done');
  });

  test('waits for the new decision before the next check, and is completed by it', async () => {
    const { task, approvalId } = await asked([agreed()]);
    await decide(approvalId, 'approve');
    await patch(task.id, { title: 'Pay ACME' });
    await judge.run();
    const waiting = await attemptOf(task.id);
    assert.deepEqual([waiting.status, waiting.cursor], ['waiting_human', 0]);
    await decide(waiting.approvalId, 'approve');
    await judge.run();
    const { status, results } = await attemptOf(task.id);
    assert.deepEqual([status, results[0].evidence], ['passed', [`approval:${waiting.approvalId}`]]);
  });

  test('is not decided again by a person who worked on it', async () => {
    const own = await makeWorker(baton, { kind: 'human' });
    const role = await done(baton.admin.post('/roles', { slug: 'judges', name: 'Judges' }), 201);
    for (const { principalId } of [own.actor, person])
      await done(baton.admin.post(`/principals/${principalId}/roles`, { roleId: role.id }), 201);
    const ofRole = checkBy('human', { spec: { approverRole: role.id } });
    const { task, run } = await makeRun(baton, own, { task: { acceptance: [ofRole, external] } });
    await done(own.actor.post(`/runs/${run.id}:succeed`, {}));
    await judge.run();
    await decide((await attemptOf(task.id)).approvalId, 'approve');
    await patch(task.id, { title: 'Something else' }, own.actor);
    const [again] = (await done(baton.admin.get(`/approvals?taskId=${task.id}&status=pending`))).items;
    for (const verb of ['approve', 'reject'])
      await refused(own.actor.post(`/approvals/${again.id}:${verb}`), 403, 'separation_of_duties_violation');
    await letTimePass(baton, task.id, 0);
    await judge.run();
    assert.equal((await attemptOf(task.id)).approvalId, again.id);
    await decide(again.id, 'approve');
    await judge.run();
    assert.equal((await attemptOf(task.id)).status, 'waiting_external');
  });
});
