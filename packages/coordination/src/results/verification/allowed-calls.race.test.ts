import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { raceRounds } from '@baton/testing/depth';
import { type Actor, startCoordination, type TestCoordination } from '../../testing/coordination.ts';
import { done, makeTask } from '../../testing/leases.ts';
import { claimCall, makeCallable } from '../../testing/results/invocations.ts';
import { checkBy, letTimePass, makeVerifier } from '../../testing/results/verification.ts';

let baton: TestCoordination;
let judges: ReturnType<typeof makeVerifier>[];
let person: Actor;
let agent: Actor;
let executor: Actor;
before(async () => {
  baton = await startCoordination();
  judges = [makeVerifier(baton), makeVerifier(baton)];
  person = await baton.actor({ kind: 'human' });
  agent = await baton.actor();
  executor = await baton.actor();
});
after(async () => {
  for (const judge of judges) await judge.close();
  await baton.close();
});

test('with a concurrent decision, change and two evaluations, a call has the approved inputs, or waits for approval', async () => {
  const seen = new Set<string>();
  for (let round = 0; round < raceRounds; round += 1) {
    const skill = await makeCallable(baton.admin, { sideEffects: 'external_write' });
    const inputs = { to: '$.task.customFields.to' };
    const acceptance = [
      checkBy('human', { key: 'agreed', spec: { approver: person.principalId } }),
      checkBy('deterministic', { key: 'paid', spec: { skill: `${skill.name}@${skill.version}`, inputs } }),
    ];
    const task = await makeTask(baton, { customFields: { to: 'ACME' }, acceptance });
    const opened = await done(
      agent.post(`/tasks/${task.id}:complete`, {}, { 'if-match': `task-${task.version}` }),
    );
    await judges[0]?.run();
    const attemptOf = async () => (await done(baton.admin.get(`/tasks/${task.id}/verifications`))).items[0];
    const { approvalId } = await attemptOf();
    const change = { customFields: { to: 'Mallory' } };
    const [decided, changed] = await Promise.all([
      person.post(`/approvals/${approvalId}:approve`),
      agent.patch(`/tasks/${task.id}`, change, { 'if-match': `task-${opened.version}` }),
      ...judges.map((judge) => judge.run()),
    ]);
    assert.equal(changed.status, 200, JSON.stringify(changed.body));
    await letTimePass(baton, task.id, 0);
    await judges[0]?.run();
    const call = await claimCall(executor, skill);
    if (call.status === 200) {
      seen.add('called first');
      assert.deepEqual(call.body.invocation.inputs, { to: 'ACME' }, `round ${round}`);
      continue;
    }
    const attempt = await attemptOf();
    assert.equal(attempt.status, 'waiting_human', `round ${round}`);
    const asked = await done(person.get(`/approvals/${attempt.approvalId}`));
    assert.equal(asked.status, 'pending');
    if (decided.status === 200) {
      seen.add('approved first');
      assert.equal(asked.supersedesApprovalId, approvalId, `round ${round}`);
    } else {
      seen.add('changed first');
      assert.equal(decided.body.error.code, 'approval_subject_changed');
    }
  }
  assert.ok(seen.size > 0);
});
