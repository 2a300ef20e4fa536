import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { raceRounds } from '@baton/testing/depth';
import {
  type Actor,
  sendRequest,
  startCoordination,
  type TestCoordination,
} from '../../testing/coordination.ts';
import { done } from '../../testing/leases.ts';
import { outcomeTester } from '../../testing/results/outcomes.ts';

let baton: TestCoordination;
let second: { url: string };
let person: Actor;
let agent: Actor;
let tester: ReturnType<typeof outcomeTester>;
before(async () => {
  baton = await startCoordination();
  second = await baton.another();
  person = await baton.actor({ kind: 'human' });
  agent = await baton.actor();
  tester = outcomeTester(baton, person);
});
after(async () => {
  await tester.close();
  await baton.close();
});

const approved = [{ comment: { body: 'Paid $.task.customFields.to' } }];

test('a change concurrent with an approval is refused or requested again, never approved unseen', async () => {
  const seen = new Set<string>();
  for (let round = 0; round < raceRounds; round += 1) {
    const { id, task } = await tester.gate({ approved }, { task: { customFields: { to: 'ACME' } } });
    const change = { customFields: { to: 'Mallory' } };
    const path = `${second.url}/api/v1/tasks/${task.id}`;
    const headers = { 'if-match': `task-${task.version}` };
    const [decided, changed] = await Promise.all([
      person.post(`/approvals/${id}:approve`),
      sendRequest(path, 'PATCH', { token: agent.token, body: change, headers }),
    ]);
    assert.equal(changed.status, 200, JSON.stringify(changed.body));
    const pending = (await done(baton.admin.get(`/approvals?taskId=${task.id}&status=pending`))).items;
    await tester.work();
    const { items } = await done(baton.admin.get(`/tasks/${task.id}/comments`));
    const said = items.map(({ body }: { body: string }) => body);
    if (decided.status === 200) {
      seen.add('approved first');
      assert.deepEqual([pending.length, pending[0]?.supersedesApprovalId, said], [1, id, ['Paid ACME']]);
    } else {
      seen.add('changed first');
      assert.equal(decided.body.error.code, 'approval_subject_changed');
      assert.deepEqual([pending.length, pending[0]?.id, said], [1, id, []]);
    }
  }
  assert.ok(seen.size > 0);
});

test('of two concurrent changes after an approval, one approval is requested again', async () => {
  for (let round = 0; round < raceRounds; round += 1) {
    const { id, task } = await tester.gate({ approved });
    await tester.decide(id);
    const { version } = await tester.task(task.id);
    const headers = { 'if-match': `task-${version}` };
    const send = (url: string, title: string) =>
      sendRequest(`${url}/api/v1/tasks/${task.id}`, 'PATCH', {
        token: agent.token,
        body: { title },
        headers,
      });
    const answers = await Promise.all([send(baton.url, 'one'), send(second.url, 'other')]);
    assert.deepEqual(answers.map(({ status }) => status).sort(), [200, 409]);
    const { items } = await done(baton.admin.get(`/approvals?taskId=${task.id}&status=pending`));
    assert.deepEqual(
      items.map(({ supersedesApprovalId }: any) => supersedesApprovalId),
      [id],
    );
    // Otherwise, the outcomes of all rounds would be due in the next test, which is more than one cycle can process.
    await tester.work();
  }
});

test('of two deciders who saw different states, the one who saw the current state approves', async () => {
  const other = await baton.actor({ kind: 'human' });
  const role = await done(baton.admin.post('/roles', { slug: 'payers', name: 'Payers' }), 201);
  for (const { principalId } of [person, other])
    await done(baton.admin.post(`/principals/${principalId}/roles`, { roleId: role.id }), 201);
  const ofRole = { requiredRoleId: role.id, assignedPrincipalId: undefined };
  for (let round = 0; round < raceRounds; round += 1) {
    const { id, task } = await tester.gate(
      { approved },
      { approval: ofRole, task: { customFields: { to: 'ACME' } } },
    );
    const { subject } = await done(person.get(`/approvals/${id}`));
    const headers = { 'if-match': `task-${task.version}` };
    await done(agent.patch(`/tasks/${task.id}`, { customFields: { to: 'Mallory' } }, headers));
    const { current } = await done(other.get(`/approvals/${id}`));
    const decide = (url: string, { token }: Actor, subjectDigest: string) =>
      sendRequest(`${url}/api/v1/approvals/${id}:approve`, 'POST', { token, body: { subjectDigest } });
    const [early, late] = await Promise.all([
      decide(baton.url, person, subject.digest),
      decide(second.url, other, current.digest),
    ]);
    assert.equal(late.status, 200, JSON.stringify(late.body));
    assert.ok(
      ['approval_subject_changed', 'approval_already_decided'].includes(early.body.error.code),
      early.body.error.code,
    );
    await tester.work();
    const { items } = await done(baton.admin.get(`/tasks/${task.id}/comments`));
    assert.deepEqual(
      items.map(({ body }: { body: string }) => body),
      ['Paid Mallory'],
    );
  }
});
