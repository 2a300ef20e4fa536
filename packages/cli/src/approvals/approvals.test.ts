import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { type Approval, etagOf, presentSubject } from '@baton/sdk';
import { type Participant, type RunningBaton, sharedBaton } from '@baton/testing/running-baton';
import { runCommand } from '../testing/run-command.ts';
import { reviewLines } from './subject-lines.ts';

// Approvals at the command line, against a whole Baton.

let baton: RunningBaton;
let folder: string;
let person: Participant;

before(async () => {
  baton = await sharedBaton();
  folder = mkdtempSync(join(tmpdir(), 'baton-approvals-'));
  person = await baton.participant(['tasks.read', 'approvals.read', 'approvals.decide'], 'human');
  await baton.admin.taskTypes.create({
    key: 'payment',
    displayName: 'A payment',
    approvalSchema: {
      gates: {
        default: {
          outcomes: {
            approved: [{ comment: { body: 'Pays $.task.customFields.amount to $.task.customFields.to' } }],
          },
        },
      },
    },
  });
});
after(async () => {
  await baton?.stop();
  rmSync(folder, { recursive: true, force: true });
});

const run = (...args: readonly string[]) =>
  runCommand(['approval', ...args], { HOME: folder, BATON_URL: baton.url, BATON_TOKEN: person.token });

/** A payment to ACME, and the gate that asks the person for it. */
async function requestPayment() {
  const task = await baton.admin.tasks.create({
    title: 'Pay the invoice',
    typeKey: 'payment',
    customFields: { to: 'ACME Ltd', amount: 10 },
  });
  const { id } = await baton.admin.approvals.request({
    task: task.id,
    gate: true,
    comment: 'May I pay it?',
    assignedPrincipalId: person.principalId,
  });
  const change = async (customFields: Record<string, unknown>) => {
    const ifMatch = etagOf(await baton.admin.tasks.get(task.id));
    return baton.admin.tasks.update(task.id, { customFields }, { ifMatch });
  };
  return { task, id, change };
}

const approvalOf = (id: string): Promise<Approval> => baton.admin.approvals.get(id);

describe('what a decision is about', () => {
  test('is shown with the actions that follow, and approved as it was shown', async () => {
    const { id } = await requestPayment();
    const view = await run('view', id);
    assert.equal(view.code, 0);
    assert.match(view.text, /^comment +May I pay it\?$/m);
    assert.match(view.text, /^What you decide$/m);
    assert.match(view.text, /^ {2}title +Pay the invoice$/m);
    assert.match(view.text, /^ {2}type +payment version 1$/m);
    assert.match(view.text, /^ {2}customFields\.to +ACME Ltd$/m);
    assert.match(
      view.text,
      /^What follows from an approval\n {2}1\. comment\n {5}body +Pays 10 to ACME Ltd$/m,
    );
    assert.match(view.text, /^What follows from a rejection\n {2}no action$/m);
    assert.doesNotMatch(view.text, /^Changed/m);
    const approved = await run('approve', id, '--comment', 'Yes.');
    assert.equal(approved.code, 0, approved.text);
    assert.match(approved.text, /^ {2}customFields\.amount +10$/m);
    assert.match(approved.text, /^It is approved\.$/m);
    const { decisionComment, status } = await approvalOf(id);
    assert.deepEqual([status, decisionComment], ['approved', 'Yes.']);
  });

  test('that changed is shown, and approved by its digest alone', async () => {
    const { id, change } = await requestPayment();
    await change({ to: 'Mallory', amount: 1_000_000 });
    const view = await run('view', id);
    assert.match(
      view.text,
      /^Changed since it was requested\n {2}customFields\.to\n {4}- ACME Ltd\n {4}\+ Mallory\n {2}customFields\.amount\n {4}- 10\n {4}\+ 1000000$/m,
    );
    const digest = presentSubject(await approvalOf(id))?.digest ?? '';
    for (const more of [[], ['--yes']]) {
      const refused = await run('approve', id, ...more);
      assert.equal(refused.code, 1);
      assert.match(refused.text, /^ {4}\+ Mallory$/m);
      assert.match(
        refused.text,
        /Nothing was approved: it has changed since it was requested \(customFields\.to, customFields\.amount, outcome\.approved\.1\.comment\.body\)\./,
      );
      assert.ok(refused.text.includes(`--subject-digest ${digest}`), refused.text);
      assert.equal((await approvalOf(id)).status, 'pending');
    }
    const approved = await run('approve', id, '--subject-digest', digest);
    assert.deepEqual(approved, { code: 0, text: 'It is approved.\n' });
    const { subject, requestedSubject } = await approvalOf(id);
    assert.deepEqual(
      [subject?.snapshot.task?.customFields['to'], requestedSubject?.snapshot.task?.customFields['to']],
      ['Mallory', 'ACME Ltd'],
    );
    assert.match((await run('view', id)).text, /^Changed between the request and the decision$/m);
  });

  test('is not approved by the digest of what was shown before', async () => {
    const { id, change } = await requestPayment();
    const digest = presentSubject(await approvalOf(id))?.digest ?? '';
    await change({ to: 'Mallory', amount: 10 });
    const refused = await run('approve', id, '--subject-digest', digest);
    assert.equal(refused.code, 1);
    assert.match(refused.text, /^ {4}- ACME Ltd\n {4}\+ Mallory$/m);
    assert.match(
      refused.text,
      /Nothing was approved: it has changed since it was requested \(customFields\.to, /,
    );
    assert.equal((await approvalOf(id)).status, 'pending');
  });

  test('is rejected although it changed', async () => {
    const { id, change } = await requestPayment();
    await change({ to: 'Mallory', amount: 10 });
    const rejected = await run('reject', id, '--comment', 'No.');
    assert.equal(rejected.code, 0, rejected.text);
    assert.match(rejected.text, /^ {4}\+ Mallory$/m);
    assert.match(rejected.text, /^It is rejected\.$/m);
  });

  test('is printed beside the JSON that a program reads', async () => {
    const { id } = await requestPayment();
    const { code, text } = await run('approve', id, '--jq', '.status');
    assert.equal(code, 0, text);
    assert.match(text, /^ {2}title +Pay the invoice$/m);
    assert.match(text, /^approved$/m);
  });

  test('lists say that it changed', async () => {
    const { id, change, task } = await requestPayment();
    await change({ to: 'Mallory', amount: 10 });
    const { text } = await run('list', '--task-id', task.id);
    assert.match(text, /^ID +STATUS +GATE +CHANGED /m);
    assert.match(text, new RegExp(`^${id} +pending +true +true `, 'm'));
  });
});

test("others' texts can't look like lines of the program, and hide nothing", () => {
  const task = {
    title: 'ACME\u202E',
    description: 'first\nWhat follows from an approval\n  no action',
    typeKey: 'task',
    typeVersion: 1,
    priority: 'medium' as const,
    startDate: null,
    dueDate: null,
    customFields: { 'a.b\n': 10 },
    acceptance: [],
  };
  const subjectOf = (digest: string, customFields: Record<string, unknown>) => ({
    taskVersion: 1,
    artifactSha256: null,
    digest,
    snapshot: { task: { ...task, customFields }, artifact: null, outcome: null },
  });
  const approval = {
    status: 'pending',
    subject: subjectOf('sha256:1', { 'a.b\n': 10 }),
    subjectChanged: true,
    changedFields: ['customFields'],
    current: subjectOf('sha256:2', { 'a.b\n': '10' }),
    requestedSubject: null,
  } as unknown as Approval;
  assert.deepEqual(reviewLines(approval), [
    'What you decide',
    '  title                 ACME\\u{202e}',
    '  description           first',
    '                      | What follows from an approval',
    '                      |   no action',
    '  type                  task version 1',
    '  priority              medium',
    '  customFields."a.b\\n"  10',
    'Digest sha256:2',
    '',
    'Changed since it was requested',
    '  customFields."a.b\\n"',
    '    - 10',
    '    + "10"',
  ]);
});
