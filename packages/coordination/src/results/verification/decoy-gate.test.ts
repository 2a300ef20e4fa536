import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { sql } from '@baton/kernel/database/sql';
import { type Actor, startCoordination, type TestCoordination } from '../../testing/coordination.ts';
import {
  claimTask,
  done,
  makeRun,
  makeTask,
  makeWorker,
  refused,
  type Worker,
} from '../../testing/leases.ts';
import { checkBy, letTimePass, makeVerifier } from '../../testing/results/verification.ts';

/**
 * Tests that a person decides exactly the check that the attempt requests, and never their own work. See
 * docs/reference/trust.md#nobody-proves-their-own-work.
 */
let baton: TestCoordination;
let judge: ReturnType<typeof makeVerifier>;
let worker: Worker;
let person: Actor;
before(async () => {
  baton = await startCoordination();
  judge = makeVerifier(baton);
  worker = await makeWorker(baton);
  person = await baton.actor({ kind: 'human' });
});
after(async () => {
  await judge.close();
  await baton.close();
});

const read = (id: string) => done(baton.admin.get(`/tasks/${id}`));
const attemptOf = async (id: string) => (await done(baton.admin.get(`/tasks/${id}/verifications`))).items[0];
const decide = (id: string, verb: string, by: Actor = person) => by.post(`/approvals/${id}:${verb}`, {});
const askedOf = ({ principalId }: Actor) => checkBy('human', { spec: { approver: principalId } });
const succeed = (run: { id: string }, by: Worker = worker) =>
  done(by.actor.post(`/runs/${run.id}:succeed`, {}));

/** The task of a run that has succeeded, and whose approval check is pending. */
async function worked(by: Worker, task: object) {
  const made = await makeRun(baton, by, { task });
  await succeed(made.run, by);
  await judge.run();
  return { ...made, attempt: await attemptOf(made.task.id) };
}

describe('a decoy', () => {
  test('another approval that the agent requests from the person does not complete the task', async () => {
    const { task, run } = await makeRun(baton, worker, { task: { acceptance: [askedOf(person)] } });
    await succeed(run);
    const decoy = await done(
      worker.actor.post('/approvals', {
        task: task.id,
        gate: true,
        assignedPrincipalId: person.principalId,
        comment: 'Is the weather fine?',
      }),
      201,
    );
    assert.deepEqual([decoy.verificationId, decoy.checkKey], [null, null]);
    await judge.run();
    const attempt = await attemptOf(task.id);
    assert.notEqual(attempt.approvalId, decoy.id);

    await done(decide(decoy.id, 'approve'));
    await judge.run();
    const { status, verification } = await read(task.id);
    assert.deepEqual([status === 'done', verification.status], [false, 'waiting_human']);

    const asked = await done(person.get(`/approvals/${attempt.approvalId}`));
    assert.deepEqual([asked.verificationId, asked.checkKey], [attempt.id, 'checked']);
    assert.equal(asked.assignedPrincipalId, person.principalId);
    await done(decide(attempt.approvalId, 'reject'));
    await judge.run();
    assert.equal((await attemptOf(task.id)).results[0].reason, 'approval_rejected');
    assert.notEqual((await read(task.id)).status, 'done');
  });

  test('a gate that was open before the completion, and the approval of an earlier attempt, do not count', async () => {
    const task = await makeTask(baton, { acceptance: [askedOf(person)] });
    const complete = async () => {
      const { version } = await read(task.id);
      await done(worker.actor.post(`/tasks/${task.id}:complete`, {}, { 'if-match': `task-${version}` }));
      await judge.run();
      return attemptOf(task.id);
    };
    const first = await complete();
    await done(decide(first.approvalId, 'reject'));
    await judge.run();
    const second = await complete();
    assert.notEqual(second.approvalId, first.approvalId);
    assert.equal(second.status, 'waiting_human');
    await done(decide(second.approvalId, 'approve'));
    await judge.run();
    const { results } = await attemptOf(task.id);
    assert.deepEqual(results[0].evidence, [`approval:${second.approvalId}`]);
    assert.equal((await read(task.id)).status, 'done');
  });

  test('each check of an attempt has its own approval', async () => {
    const checks = [askedOf(person), { ...askedOf(person), key: 'again' }];
    const { task, attempt } = await worked(worker, { acceptance: checks });
    await done(decide(attempt.approvalId, 'approve'));
    await judge.run();
    const next = await attemptOf(task.id);
    assert.equal(next.status, 'waiting_human');
    const asked = await done(person.get(`/approvals/${next.approvalId}`));
    assert.deepEqual([asked.verificationId, asked.checkKey], [attempt.id, 'again']);
    await done(decide(next.approvalId, 'approve'));
    await judge.run();
    assert.equal((await read(task.id)).status, 'done');
  });
});

describe('who decides', () => {
  const violation = 'separation_of_duties_violation';

  test('a human check is not decided by a principal that had a run or a claim of the task, or requested its completion', async () => {
    const role = await done(baton.admin.post('/roles', { slug: 'judges', name: 'Judges' }), 201);
    const hired = async () => {
      const one = await makeWorker(baton, { kind: 'human' });
      const { principalId } = one.actor;
      await done(baton.admin.post(`/principals/${principalId}/roles`, { roleId: role.id }), 201);
      return one;
    };
    const [runner, claimer, completer, judging] = [
      await hired(),
      await hired(),
      await hired(),
      await hired(),
    ];
    const check = checkBy('human', { spec: { approverRole: role.id } });
    const { task, run } = await makeRun(baton, runner, { task: { acceptance: [check] } });
    await done(runner.actor.post(`/runs/${run.id}:suspend`, {}));
    const claim = await claimTask(claimer, task.id);
    await done(claimer.actor.post(`/claims/${claim.id}:release`, {}));
    const { version } = await read(task.id);
    const ifMatch = { 'if-match': `task-${version}` };
    await done(completer.actor.post(`/tasks/${task.id}:complete`, {}, ifMatch));
    await judge.run();
    const { approvalId } = await attemptOf(task.id);
    for (const { actor } of [runner, claimer, completer])
      for (const verb of ['approve', 'reject'])
        assert.deepEqual(await refused(decide(approvalId, verb, actor), 403, violation), { approvalId });
    const check403 = { checks: [{ action: 'approve', resourceType: 'approval', resourceId: approvalId }] };
    const { results } = await done(runner.actor.post('/authz:check', check403));
    assert.deepEqual([results[0].allowed, results[0].reason.code], [false, violation]);
    assert.equal((await attemptOf(task.id)).status, 'waiting_human');
    await done(decide(approvalId, 'approve', judging.actor));
    await judge.run();
    assert.equal((await read(task.id)).status, 'done');
  });

  test('a person who may not decide is no addressee: no_approver', async () => {
    const own = await makeWorker(baton, { kind: 'human' });
    const named = await worked(own, { acceptance: [askedOf(own.actor)] });
    assert.deepEqual([named.attempt.status, named.attempt.results[0].reason], ['failed', 'no_approver']);
    const owned = await worked(own, {
      acceptance: [checkBy('human')],
      ownerId: own.actor.principalId,
      assigneeId: person.principalId,
    });
    const { assignedPrincipalId } = await done(person.get(`/approvals/${owned.attempt.approvalId}`));
    assert.equal(assignedPrincipalId, person.principalId);
    const role = await done(baton.admin.post('/roles', { slug: 'only-me', name: 'Only me' }), 201);
    await done(baton.admin.post(`/principals/${own.actor.principalId}/roles`, { roleId: role.id }), 201);
    const check = checkBy('human', { spec: { approverRole: role.id } });
    const ofRole = await worked(own, { acceptance: [check] });
    assert.equal(ofRole.attempt.results[0].reason, 'no_approver');
  });

  test('an approval that no check requests can be decided by a person who worked on the task', async () => {
    const own = await makeWorker(baton, { kind: 'human' });
    const { task } = await makeRun(baton, own);
    const { id } = await done(
      baton.admin.post('/approvals', { task: task.id, assignedPrincipalId: own.actor.principalId }),
      201,
    );
    await done(decide(id, 'approve', own.actor));
  });
});

test('an attempt that had adopted another principal’s gate requests its own', async () => {
  const { task, attempt } = await worked(worker, { acceptance: [askedOf(person)] });
  const gate = { task: task.id, gate: true, assignedPrincipalId: person.principalId };
  const decoy = await done(worker.actor.post('/approvals', gate), 201);
  await done(decide(decoy.id, 'approve'));
  // Restores the state that an earlier version of the service left.
  await baton.pool.run(sql`
    update verifications set approval_id = ${decoy.id}, owns_approval = false where id = ${attempt.id}`);
  await letTimePass(baton, task.id, 0);
  await judge.run();
  const after = await attemptOf(task.id);
  assert.equal(after.status, 'waiting_human');
  assert.notEqual(after.approvalId, decoy.id);
});
