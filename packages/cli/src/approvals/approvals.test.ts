import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { type Approval, etagOf, presentSubject } from '@baton/sdk';
import { type Participant, type RunningBaton, sharedBaton } from '@baton/testing/running-baton';
import { runCommand } from '../testing/run-command.ts';
import { type Answer, commandLine, endOfInput, noTerminal, runAtTerminal } from '../testing/terminal.ts';
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

/** @param answers the input at each prompt */
const atTerminal = (args: readonly string[], answers: readonly Answer[]) =>
  runAtTerminal(commandLine(`approval ${args.join(' ')}`), {
    cwd: folder,
    env: { HOME: folder, BATON_URL: baton.url, BATON_TOKEN: person.token },
    answers,
  });

/** Creates a payment to ACME, and the gate that requires the person's approval. */
async function requestPayment() {
  const task = await baton.admin.tasks.create({
    title: 'Pay the invoice',
    typeKey: 'payment',
    customFields: { to: 'ACME Ltd', amount: 10 },
    acceptance: [{ key: 'booked', kind: 'human', description: 'It is booked' }],
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
  test('is shown with the follow-up actions, and approved as shown', async () => {
    const { id } = await requestPayment();
    const view = await run('view', id);
    assert.equal(view.code, 0);
    assert.match(view.text, /^comment +May I pay it\?$/m);
    assert.match(view.text, /^What this approval covers$/m);
    assert.match(view.text, /^ {2}title +Pay the invoice$/m);
    assert.match(view.text, /^ {2}type +payment version 1$/m);
    assert.match(view.text, /^ {2}customFields\.to +ACME Ltd$/m);
    assert.match(view.text, /^ {2}acceptance\.booked +It is booked \(human, added by [\da-f-]{36}\)$/m);
    assert.match(view.text, /^If approved\n {2}1\. comment\n {5}body +Pays 10 to ACME Ltd$/m);
    assert.match(view.text, /^If rejected\n {2}no follow-up actions$/m);
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

  test('is not approved by the digest of an earlier version', async () => {
    const { id, change } = await requestPayment();
    const digest = presentSubject(await approvalOf(id))?.digest ?? '';
    await change({ to: 'Mallory', amount: 10 });
    const refused = await run('approve', id, '--subject-digest', digest);
    assert.equal(refused.code, 1);
    assert.match(refused.text, /^ {4}- ACME Ltd\n {4}\+ Mallory$/m);
    assert.match(
      refused.text,
      /Nothing was approved: the current version has a different digest; it has changed since it was requested \(customFields\.to, /,
    );
    assert.equal((await approvalOf(id)).status, 'pending');
  });

  test('is not approved by a digest that it never had, and the error contains the right one', async () => {
    const { id } = await requestPayment();
    const digest = presentSubject(await approvalOf(id))?.digest ?? '';
    const refused = await run('approve', id, '--subject-digest', `sha256:${'0'.repeat(64)}`);
    assert.equal(refused.code, 1);
    assert.match(refused.text, /Nothing was approved: the current version has a different digest\.\n/);
    assert.ok(refused.text.includes(`--subject-digest ${digest}`), refused.text);
    assert.equal((await approvalOf(id)).status, 'pending');
  });

  test('that has become too large to be shown is not approved, and can be rejected', async () => {
    const { id, task } = await requestPayment();
    const ifMatch = etagOf(await baton.admin.tasks.get(task.id));
    await baton.admin.tasks.update(task.id, { description: 'x'.repeat(70_000) }, { ifMatch });
    const refused = await run('approve', id, '--yes');
    assert.equal(refused.code, 1);
    assert.match(refused.text, /too large to be shown, so it can't be approved\. .*: description\./);
    assert.match(refused.text, /Nothing was approved, because the subject is too large to be shown/);
    assert.equal((await run('reject', id)).code, 0);
    assert.equal((await approvalOf(id)).status, 'rejected');
  });

  test("can't be approved without the permission to read it, but can be rejected", async () => {
    const decider = await baton.participant(['approvals.decide'], 'human');
    const { id } = await baton.admin.approvals.request({ assignedPrincipalId: decider.principalId });
    const runAsDecider = (...args: readonly string[]) =>
      runCommand(['approval', ...args], { HOME: folder, BATON_URL: baton.url, BATON_TOKEN: decider.token });
    const refused = await runAsDecider('approve', id);
    assert.equal(refused.code, 1);
    assert.match(
      refused.text,
      /Nothing was approved: to see what this approval covers, you need the permission approvals\.read\. You can still reject it\./,
    );
    const wrong = await runAsDecider('approve', id, '--subject-digest', 'sha256:0');
    assert.match(wrong.text, /^approval_subject_changed: /m);
    assert.equal((await approvalOf(id)).status, 'pending');
    assert.equal((await runAsDecider('reject', id)).code, 0);
  });

  test('requested again shows what changed since the earlier approval', async () => {
    const { id, task } = await requestPayment();
    assert.equal((await run('approve', id)).code, 0);
    const ifMatch = etagOf(await baton.admin.tasks.get(task.id));
    await baton.admin.tasks.update(task.id, { title: 'Pay Mallory' }, { ifMatch });
    const { items } = await baton.admin.approvals.list({ taskId: task.id, status: 'pending' });
    const view = await run('view', items[0]?.id ?? '');
    assert.match(
      view.text,
      /^Changed since it was approved\n {2}title\n {4}- Pay the invoice\n {4}\+ Pay Mallory$/m,
    );
  });

  test('is rejected although it changed', async () => {
    const { id, change } = await requestPayment();
    await change({ to: 'Mallory', amount: 10 });
    const rejected = await run('reject', id, '--comment', 'No.');
    assert.equal(rejected.code, 0, rejected.text);
    assert.match(rejected.text, /^ {4}\+ Mallory$/m);
    assert.match(rejected.text, /^It is rejected\.$/m);
  });

  test('is printed in addition to the JSON for a program', async () => {
    const { id } = await requestPayment();
    const { code, text } = await run('approve', id, '--jq', '.status');
    assert.equal(code, 0, text);
    assert.match(text, /^ {2}title +Pay the invoice$/m);
    assert.match(text, /^approved$/m);
  });

  test('lists mark that it changed', async () => {
    const { id, change, task } = await requestPayment();
    await change({ to: 'Mallory', amount: 10 });
    const { text } = await run('list', '--task-id', task.id);
    assert.match(text, /^ID +STATUS +GATE +CHANGED /m);
    assert.match(text, new RegExp(`^${id} +pending +true +true `, 'm'));
  });
});

describe('at a terminal', {
  skip: noTerminal,
}, () => {
  test('the subject is shown and approved after a yes', async () => {
    const { id } = await requestPayment();
    const { code, text } = await atTerminal(['approve', id, '--comment', 'Yes.'], ['yes\n']);
    assert.equal(code, 0, text);
    const [shown = '', after = ''] = text.split('Approve it? ');
    assert.match(shown, /^comment +May I pay it\?$/m);
    assert.match(shown, /^ {5}body +Pays 10 to ACME Ltd$/m);
    assert.match(after, /^It is approved\.$/m);
    const { decisionComment, status } = await approvalOf(id);
    assert.deepEqual([status, decisionComment], ['approved', 'Yes.']);
  });

  test('anything but a yes, and the end of the input, approves nothing', async () => {
    const { id } = await requestPayment();
    for (const answer of ['y\n', '\n', endOfInput]) {
      const { code, text } = await atTerminal(['approve', id], [answer]);
      assert.equal(code, 1, text);
      assert.match(text, /Nothing was approved\.$/m);
      assert.equal((await approvalOf(id)).status, 'pending');
    }
  });

  test('a change since the request is approved after it was shown', async () => {
    const { id, change } = await requestPayment();
    await change({ to: 'Mallory', amount: 1_000_000 });
    const { code, text } = await atTerminal(['approve', id], ['yes\n']);
    assert.equal(code, 0, text);
    const [shown = ''] = text.split('Approve the current version? ');
    assert.match(shown, /^ {4}- ACME Ltd\n {4}\+ Mallory$/m);
    assert.equal((await approvalOf(id)).subject?.snapshot.task?.customFields['to'], 'Mallory');
  });

  test('a change during the prompt is shown, and prompts again', async () => {
    const { id, change } = await requestPayment();
    const changing = async () => {
      await change({ to: 'Mallory', amount: 10 });
      return 'yes\n';
    };
    const { code, text } = await atTerminal(['approve', id], [changing, 'no\n']);
    assert.equal(code, 1, text);
    const [, between = '', after = ''] = text.split(/Approve it\? |Approve the current version\? /);
    assert.match(between, /It changed while you were reviewing it\. Nothing was approved\.$/m);
    assert.match(between, /^ {4}- ACME Ltd\n {4}\+ Mallory$/m);
    assert.match(after, /Nothing was approved\.$/m);
    assert.equal((await approvalOf(id)).status, 'pending');
  });

  test('the subject of the prompt is visible if the output goes into a file, and --yes skips the prompt', async () => {
    const { id } = await requestPayment();
    const file = join(folder, 'output');
    const asked = await atTerminal(['approve', id, '>', file], ['no\n']);
    assert.match(asked.text, /^ {2}customFields\.to +ACME Ltd$/m);
    const { code, text } = await atTerminal(['approve', id, '--yes'], []);
    assert.equal(code, 0, text);
    assert.match(text, /^It is approved\.$/m);
  });
});

const plainTask = {
  title: 'Pay',
  description: '',
  typeKey: 'task',
  typeVersion: 1,
  priority: 'medium',
  startDate: null,
  dueDate: null,
  customFields: {},
  acceptance: [],
};

const subjectOf = (digest: string, task: Partial<Record<keyof typeof plainTask, unknown>>) => ({
  taskVersion: 1,
  artifactSha256: null,
  digest,
  snapshot: { task: { ...plainTask, ...task }, artifact: null, outcome: null },
});

/** A pending approval whose subject has changed. */
const changedApproval = (subject: object, current: object) =>
  ({
    status: 'pending',
    subject,
    subjectChanged: true,
    changedFields: ['customFields'],
    current,
    requestedSubject: null,
  }) as unknown as Approval;

test("untrusted text can't imitate lines of the program or hide anything", () => {
  const task = { title: 'ACME\u202E', description: 'first\nIf approved\n  no follow-up actions' };
  const approval = changedApproval(
    subjectOf('sha256:1', { ...task, customFields: { 'a.b\n': 10 } }),
    subjectOf('sha256:2', { ...task, customFields: { 'a.b\n': '10' } }),
  );
  assert.deepEqual(reviewLines(approval), [
    'What this approval covers',
    '  title                 ACME⟨U+202E⟩',
    '  description           first',
    '                      | If approved',
    '                      |   no follow-up actions',
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

test('similar values are distinguished, and missing ones are marked', () => {
  const approval = changedApproval(
    subjectOf('sha256:1', { title: 'Pay ACME', customFields: { a: null, b: 'می\u200Cخ' } }),
    subjectOf('sha256:2', {
      title: 'Pay  ACME\t',
      dueDate: '2026-12-01T12:00:00.000Z',
      customFields: { b: 'میخ', c: '(not set)' },
    }),
  );
  const lines = reviewLines(approval);
  assert.deepEqual(lines.slice(lines.indexOf('Changed since it was requested') + 1), [
    '  title',
    '    - "Pay ACME"',
    '    + "Pay  ACME\\t"',
    '  dueDate',
    '    - (not set)',
    '    + 2026-12-01T12:00:00.000Z',
    '  customFields.a',
    '    - null',
    '    + (not set)',
    '  customFields.b',
    '    - "می⟨U+200C⟩خ"',
    '    + "میخ"',
    '  customFields.c',
    '    - (not set)',
    '    + "(not set)"',
  ]);
});
