import assert from 'node:assert/strict';
import { describe } from 'node:test';
import type { Approval, HarnessContext } from '@baton/sdk';
import { approvalWith, changedTo, subjectWith } from '../testing/approvals.ts';
import {
  type Answers,
  all,
  click,
  everything,
  exampleOf,
  find,
  isThere,
  meId,
  meWith,
  notSeen,
  open,
  Refusal,
  see,
  seen,
  settled,
  test,
} from '../testing/page.ts';
import { graceId, taskWith } from '../testing/tasks.ts';
import { compareWords } from './word-differences.ts';

const id = '0190b2c4-0000-7000-8000-0000000000a7';
const evil = '<img src=x onerror="window.ran=1">';

const pending: HarnessContext['pendingApprovals'][number] = {
  id,
  taskId: null,
  artifactId: null,
  requestedBy: graceId,
  gate: true,
  comment: 'May I pay it?',
  createdAt: '2026-03-02T09:00:00.000Z',
};

/** Opens the page of an approval that is pending with Ada. */
const openPending = (approval: Partial<Approval>, more: Answers = {}) =>
  open(`/approvals/${id}`, {
    me: { pendingApprovals: [pending] },
    answers: { 'approvals.get': approvalWith({ id, ...approval }), ...more },
  });

const payment = (to: string, amount: number) => ({
  approved: [{ invokeSkill: { skill: 'payments.send', inputs: { to, amount } } }],
  rejected: [],
});
const asked = subjectWith(
  'asked',
  { customFields: { to: 'ACME Ltd', amount: 10 } },
  { outcome: payment('ACME Ltd', 10) },
);
const changed = subjectWith(
  'changed',
  { customFields: { to: 'Mallory', amount: 1_000_000 } },
  { outcome: payment('Mallory', 1_000_000) },
);

/** The cells of the table of changes, row by row. */
const rowsOf = (name: string) =>
  [...(all('region', name)[0]?.querySelectorAll('tbody tr') ?? [])].map((row) =>
    [...row.children].map((cell) => seen(cell).replaceAll('\n', ' ')),
  );

describe('the subject of a decision', () => {
  test('is shown in full, with the follow-up actions of either decision', async () => {
    const task = {
      title: 'Pay the invoice',
      description: `First line\n${'long '.repeat(400)}end`,
      typeKey: 'payment',
      typeVersion: 2,
      priority: 'high' as const,
      dueDate: '2026-03-05T12:00:00.000Z',
      customFields: { to: 'ACME Ltd', lines: [{ sku: 'a1' }] },
      acceptance: [
        {
          key: 'booked',
          kind: 'external_state' as const,
          description: 'It is booked',
          spec: { system: 'bank' },
          addedByPrincipalId: graceId,
        },
      ],
    };
    const outcome = {
      approved: [
        {
          invokeSkill: {
            skill: 'payments.send',
            inputs: { to: 'ACME Ltd', amount: { value: 10 } },
            onSuccess: [{ transition: { status: 'paid' } }],
          },
        },
      ],
      rejected: [{ comment: { body: 'Not paid.' } }],
    };
    const artifact = { type: 'invoice', name: 'Invoice 7', digest: 'sha256:77' };
    await openPending({ subject: subjectWith('asked', task, { outcome, artifact }) });
    const page = seen();
    for (const part of [
      'Title\nPay the invoice',
      `Description\nFirst line\n${'long '.repeat(400)}end`,
      'Type\npayment version 2',
      'Priority\nhigh',
      'Due date\nMar 5, 2026',
      'Field to\nACME Ltd',
      'Field lines\n[\n{\n"sku": "a1"\n}\n]',
      'Done when booked\nIt is booked (external state, added by Grace)',
      '"system": "bank"',
      'Artifact\nInvoice 7 (invoice)',
      'If approved\nCalls the skill payments.send\ninputs › to\nACME Ltd\ninputs › amount › value\n10',
      'On success:\nSets the status paid',
      'If rejected\nAdds the comment Not paid.',
    ])
      assert.ok(page.includes(part), `${part} is missing in:\n${page}`);
    assert.ok(!page.includes('addedBy'));
    assert.ok(!page.includes('changed'));
    assert.ok(!isThere('region', /^Changed/));
  });

  test('an approval contains the digest of the shown version', async () => {
    const service = await openPending(
      { subject: asked },
      {
        'approvals.approve': () => {
          service.answer({ 'harness.getContext': meWith() });
          return exampleOf('approvals.approve', { status: 'approved' });
        },
      },
    );
    await click('button', 'Approve');
    await see('You approved the request.');
    assert.deepEqual(service.askedFor('approvals.approve')[0]?.body, { subjectDigest: 'sha256:asked' });
  });

  test('a subject that was not recorded is reported, and the current version is shown', async () => {
    const service = await openPending(
      { subject: null, ...changedTo(changed, ['title']) },
      { 'approvals.approve': exampleOf('approvals.approve') },
    );
    await see('The version at the time of the request was not recorded. The current version is shown.');
    await see('Field to\nMallory');
    await click('button', 'Approve the current version');
    assert.deepEqual(service.askedFor('approvals.approve')[0]?.body, { subjectDigest: 'sha256:changed' });
  });

  test("the page of an approval shows why it can't be loaded", async () => {
    await openPending({}, { 'approvals.get': new Refusal(403, 'permission_denied', 'Not for you.') });
    await see('Not for you.');
    assert.ok(!isThere('button', 'Approve'));
  });

  test('without the subject, an approval can only be rejected', async () => {
    const service = await open('/inbox', {
      me: { pendingApprovals: [pending] },
      answers: {
        'approvals.get': new Refusal(403, 'permission_denied', 'Not for you.'),
        'approvals.reject': exampleOf('approvals.reject', { status: 'rejected' }),
      },
    });
    await see(
      "The current version can't be shown, so you can only reject the request. To see it, you need the permission approvals.read.",
    );
    assert.equal((await find<HTMLButtonElement>('button', 'Approve')).disabled, true);
    await click('button', 'Reject');
    assert.deepEqual(service.askedFor('approvals.reject')[0]?.body, {});
  });

  test('the content of an artifact is shown in full', async () => {
    const content = { text: `${'x'.repeat(5_000)}the end` };
    const artifact = exampleOf('artifacts.get', { name: 'the plan\u202E', type: 'plan', content });
    await open('/inbox', {
      me: { pendingApprovals: [{ ...pending, artifactId: artifact.id }] },
      answers: { 'artifacts.get': artifact },
    });
    await see(/the plan⟨U\+202E⟩ \(plan\)\ntext\nx+the end$/m);
  });

  test('user text is shown verbatim, with its invisible characters', async () => {
    const hidden = 'ACME\u202E dtL\u200B';
    const subject = subjectWith(
      'asked',
      { title: evil, description: hidden, customFields: { [evil]: evil } },
      { outcome: { approved: [{ [evil]: { [evil]: evil } }], rejected: [] } },
    );
    await openPending({ subject, comment: 'May I?\u202E' });
    await see('May I?⟨U+202E⟩');
    await see(`Title\n${evil}\nDescription\nACME⟨U+202E⟩ dtL⟨U+200B⟩`);
    await see(`Field ${evil}\n${evil}`);
    assert.equal(document.querySelector('img'), null);
  });
});

describe('the changes since the request', () => {
  test('are shown value by value, the old one next to the new one, marked by words and not by colours alone', async () => {
    const service = await openPending(
      { subject: asked, ...changedTo(changed, ['customFields', 'outcome']) },
      { 'approvals.approve': exampleOf('approvals.approve') },
    );
    await see('Changed since it was requested: 4 values');
    assert.deepEqual(rowsOf('Changed since it was requested'), [
      ['Field to', '− was ACME Ltd', '+ is Mallory'],
      ['Field amount', '− was 10', '+ is 1000000'],
      ['If approved, action 1 invokeSkill › inputs › to', '− was ACME Ltd', '+ is Mallory'],
      ['If approved, action 1 invokeSkill › inputs › amount', '− was 10', '+ is 1000000'],
    ]);
    const table = document.querySelector('table');
    assert.deepEqual(
      [...(table?.querySelectorAll('thead th') ?? [])].map((one) => [
        one.textContent,
        one.getAttribute('scope'),
      ]),
      [
        ['What', 'col'],
        ['When it was requested', 'col'],
        ['Now', 'col'],
      ],
    );
    assert.equal(table?.querySelectorAll('del').length, 4);
    assert.equal(table?.querySelectorAll('ins').length, 4);
    await see('Title\nPay the invoice');
    await see('Field to changed\nMallory');
    await see('If approved changed');
    await click('button', 'Approve the current version');
    assert.deepEqual(service.askedFor('approvals.approve')[0]?.body, { subjectDigest: 'sha256:changed' });
  });

  test('in a long text the changed words are marked, between unchanged text', async () => {
    const [start, end] = ['same '.repeat(200), ' and so on'.repeat(100)];
    const before = subjectWith('asked', { description: `${start}pay ACME${end}` });
    const after = subjectWith('changed', { description: `${start}pay Mallory${end}` });
    await openPending({ subject: before, ...changedTo(after, ['description']) });
    const marked = (tag: string) => document.querySelector(`table ${tag}`)?.textContent;
    assert.deepEqual([marked('del'), marked('ins')], ['was ACME', 'is Mallory']);
    const [[, old = ''] = []] = rowsOf('Changed since it was requested');
    assert.match(old, /^− … .*same pay was ACME and so on.* …$/);
  });

  test('in a long text two distant changes are marked separately, and the text between them is shortened', async () => {
    const between = ' and so on'.repeat(100);
    const text = (to: string, when: string) => `Pay ${to} now${between} by ${when}.`;
    await openPending({
      subject: subjectWith('asked', { description: text('ACME', 'Monday') }),
      ...changedTo(subjectWith('changed', { description: text('Mallory', 'Sunday') }), ['description']),
    });
    const marked = (tag: string) =>
      [...document.querySelectorAll(`table ${tag}`)].map(({ textContent }) => textContent);
    assert.deepEqual(marked('del'), ['was ACME', 'was Monday']);
    assert.deepEqual(marked('ins'), ['is Mallory', 'is Sunday']);
    const [[, , now = ''] = []] = rowsOf('Changed since it was requested');
    assert.match(now, /^\+ Pay is Mallory now and so on.* … .*and so on by is Sunday\.$/);
    assert.ok(now.length < 600, `${now.length} characters`);
    await see(text('Mallory', 'Sunday'));
  });

  test('dates and unset values are shown as elsewhere on the page', async () => {
    const artifact = { type: 'invoice', name: 'Invoice 7', digest: null };
    await openPending({
      subject: subjectWith('asked', {
        dueDate: null,
        startDate: '2026-03-05T12:00:00.000Z',
        customFields: { a: null },
      }),
      ...changedTo(
        subjectWith('changed', { dueDate: '2026-03-05T12:00:00.000Z', customFields: { a: 1 } }, { artifact }),
        ['startDate', 'dueDate', 'customFields', 'artifact'],
      ),
    });
    const rows = rowsOf('Changed since it was requested');
    assert.match(rows[0]?.join(' ') ?? '', /^Start date − was Mar 5, 2026, .* not set$/);
    assert.match(rows[1]?.join(' ') ?? '', /^Due date not set \+ is Mar 5, 2026, /);
    assert.deepEqual(rows[2], ['Field a', '− was null', '+ is 1']);
    assert.match(rows[3]?.join(' ') ?? '', /^Artifact not set \+ is .*Invoice 7/);
    await see('Start date changed\nnot set');
  });

  test('changed white space is shown by symbols', async () => {
    await openPending({
      subject: subjectWith('asked', { description: 'one two' }),
      ...changedTo(subjectWith('changed', { description: 'one\u00A0two\n' }), ['description']),
    });
    assert.deepEqual(rowsOf('Changed since it was requested'), [
      ['Description', '− onewas ␣two', '+ oneis ⟨U+00A0⟩twois ↵'],
    ]);
  });

  test('added, removed and merely invisible text is shown', async () => {
    const before = subjectWith('asked', {
      customFields: { old: 'x', number: 10, name: 'ACME' },
      dueDate: null,
    });
    const after = subjectWith('changed', { customFields: { number: '10', name: 'AC\u200DME', new: '' } });
    await openPending({ subject: before, ...changedTo(after, ['customFields']) });
    assert.deepEqual(rowsOf('Changed since it was requested'), [
      ['Field old', '− was x', 'not set'],
      ['Field number', '− was 10', '+ is "10"'],
      ['Field name', '− was ACME', '+ is AC⟨U+200D⟩ME'],
      ['Field new', 'not set', '+ empty'],
    ]);
  });

  test('a rejection is sent immediately nevertheless', async () => {
    const service = await openPending(
      { subject: asked, ...changedTo(changed, ['customFields', 'outcome']) },
      { 'approvals.reject': exampleOf('approvals.reject', { status: 'rejected' }) },
    );
    await click('button', 'Reject');
    await see('You rejected the request.');
    assert.deepEqual(service.askedFor('approvals.reject')[0]?.body, { subjectDigest: 'sha256:changed' });
  });

  test("a subject that has become too large to be shown can't be approved", async () => {
    const service = await openPending(
      { subject: asked, subjectChanged: true, changedFields: ['customFields', 'outcome'], current: null },
      { 'approvals.reject': exampleOf('approvals.reject', { status: 'rejected' }) },
    );
    await see(/too large to be shown, so it can't be approved\. .*: Custom fields, Follow-up actions\./);
    assert.equal((await find<HTMLButtonElement>('button', 'Approve the current version')).disabled, true);
    await click('button', 'Reject');
    assert.deepEqual(service.askedFor('approvals.reject')[0]?.body, {});
  });
});

describe('a change while the page is open', () => {
  test('is shown if the service rejects the approval, and must be confirmed again', async () => {
    const service = await openPending(
      { subject: asked },
      {
        'approvals.approve': () => {
          service.answer({
            'approvals.get': approvalWith({
              id,
              subject: asked,
              ...changedTo(changed, ['customFields', 'outcome']),
            }),
          });
          return new Refusal(409, 'approval_subject_changed', 'It has changed.');
        },
      },
    );
    await click('button', 'Approve');
    const alert = await find('alert');
    assert.match(seen(alert), /^This changed while you were reviewing it\. Nothing was approved\./);
    assert.match(seen(alert), /\nField › to\nField › amount\n/);
    assert.ok(document.activeElement === alert, 'the alert has the focus');
    await see('Changed since it was requested: 4 values');
    assert.ok(!isThere('button', /^Approve/));
    service.answer({ 'approvals.approve': exampleOf('approvals.approve', { status: 'approved' }) });
    await click('button', 'I have reviewed the changes');
    assert.ok(!isThere('alert'));
    assert.equal(service.askedFor('approvals.approve').length, 1);
    await click('button', 'Approve the current version');
    const sent = service
      .askedFor('approvals.approve')
      .map(({ body, headers }) => [body, headers.get('idempotency-key')]);
    assert.deepEqual(
      sent.map(([body]) => body),
      [{ subjectDigest: 'sha256:asked' }, { subjectDigest: 'sha256:changed' }],
    );
    assert.notEqual(sent[0]?.[1], sent[1]?.[1]);
  });

  test("and can't be read again is not reported as unchanged", async () => {
    const service = await openPending(
      { subject: asked },
      {
        'approvals.approve': () => {
          service.answer({ 'approvals.get': new Refusal(403, 'permission_denied', 'Not any more.') });
          return new Refusal(409, 'approval_subject_changed', 'It has changed.');
        },
      },
    );
    await click('button', 'Approve');
    await see('Not any more.');
    await settled();
    notSeen('has changed back since');
  });

  test('and has changed back is reported, and must be confirmed again', async () => {
    const service = await openPending(
      { subject: asked },
      { 'approvals.approve': new Refusal(409, 'approval_subject_changed', 'It has changed.') },
    );
    await click('button', 'Approve');
    await see('This changed while you approved it, and has changed back since.');
    service.answer({ 'approvals.approve': exampleOf('approvals.approve', { status: 'approved' }) });
    await click('button', 'Approve');
    await see('You approved the request.');
  });

  test('with its task is refetched immediately, and requires another review before the approval', async () => {
    const task = taskWith({ version: 3 });
    const about = { id, taskId: task.id };
    const service = await open('/inbox', {
      me: { pendingApprovals: [{ ...pending, taskId: task.id }] },
      answers: { 'tasks.get': task, 'approvals.get': approvalWith({ ...about, subject: asked }) },
    });
    await find('button', 'Approve');
    service.answer({
      'tasks.get': { ...task, version: 4 },
      'approvals.get': approvalWith({ ...about, subject: asked, ...changedTo(changed, ['customFields']) }),
      'approvals.approve': exampleOf('approvals.approve'),
    });
    const { queries } = await import('../queries.ts');
    await queries.invalidateQueries({ queryKey: ['tasks'] });
    await see('This changed while you were reviewing it.');
    assert.ok(!(await find('alert')).contains(document.activeElement), 'it leaves the focus where it is');
    await click('button', 'I have reviewed the changes');
    await click('button', 'Approve the current version');
    assert.deepEqual(service.askedFor('approvals.approve')[0]?.body, { subjectDigest: 'sha256:changed' });
  });
});

describe('the page of an approval', () => {
  test('that is requested again shows the changes since the earlier approval', async () => {
    const earlierId = '0190b2c4-0000-7000-8000-0000000000a6';
    await openPending(
      {},
      {
        'approvals.get': ({ ids: [one] }) =>
          one === earlierId
            ? approvalWith({ id: earlierId, status: 'approved', subject: asked })
            : approvalWith({ id, subject: changed, supersedesApprovalId: earlierId }),
      },
    );
    await see('Changed since it was approved: 4 values');
    assert.deepEqual(rowsOf('Changed since it was approved')[0], [
      'Field to',
      '− was ACME Ltd',
      '+ is Mallory',
    ]);
    const link = await find('link', 'Earlier approval');
    assert.equal(link.getAttribute('href'), `/approvals/${earlierId}`);
    assert.ok(isThere('button', 'Approve'));
  });

  test('that was decided shows the decider, the subject, and its differences from the request and the current version', async () => {
    await open(`/approvals/${id}`, {
      answers: {
        'approvals.get': approvalWith({
          id,
          status: 'approved',
          decisionByPrincipalId: meId,
          decisionComment: 'Only this once.',
          outcomeStatus: 'executed',
          subject: changed,
          requestedSubject: asked,
          ...changedTo(subjectWith('later', { title: 'Later' }), ['title', 'customFields', 'outcome']),
        }),
      },
    });
    await see(/Approved by Ada/);
    await see('Only this once.\nFollow-up actions: executed');
    assert.equal(document.title, 'Approval: Pay the invoice · Baton');
    assert.equal(rowsOf('Changed between the request and the decision').length, 4);
    assert.deepEqual(rowsOf('Changed since the decision')[0], [
      'Title',
      '− was Pay the invoice',
      '+ is Later',
    ]);
    await see('What was decided\nTitle\nPay the invoice');
    assert.ok(!isThere('button', /Approve|Reject/));
  });

  test('that was cancelled without a known person shows no decider', async () => {
    await open(`/approvals/${id}`, {
      answers: { 'approvals.get': approvalWith({ id, status: 'cancelled', decisionByPrincipalId: null }) },
    });
    await see('Cancelled');
    assert.ok(!seen().includes('Cancelled by'));
  });

  const roleId = '0190b2c4-0000-7000-8000-0000000000b1';
  for (const [addressed, isDecidable] of [
    [{ assignedPrincipalId: meId }, true],
    [{ requiredRoleId: roleId }, true],
    [{ requiredRoleId: roleId, excludedPrincipals: [meId] }, false],
    [{ requiredRoleId: graceId }, false],
  ] as const)
    test(`that is not among the newest pending ones can${isDecidable ? '' : "'t"} be decided there: ${Object.keys(addressed).join(', ')}`, async () => {
      const approval = { id, ...addressed };
      await open(`/approvals/${id}`, {
        me: {
          permissions: [...everything, 'approvals.decide'],
          roles: [{ id: roleId, slug: 'payer', name: 'Payer', workspaceId: null }],
        },
        answers: { 'approvals.get': approvalWith(approval as Partial<Approval>) },
      });
      await see('What this approval covers');
      assert.equal(isThere('button', 'Approve'), isDecidable);
    });

  test('that is pending with somebody else has no buttons', async () => {
    await open(`/approvals/${id}`, {
      answers: { 'approvals.get': approvalWith({ id, assignedPrincipalId: graceId }) },
    });
    await see('Pending a decision by Grace.');
    await see('What this approval covers\nTitle');
    assert.ok(!isThere('button', /Approve|Reject/));
  });
});

describe('the words of a change', () => {
  /** The text with its changed parts in brackets. */
  const marked = (parts: ReturnType<typeof compareWords>['before']) =>
    parts.map(({ text, isChanged }) => (isChanged ? `[${text}]` : text)).join('');

  test('are marked one by one, and the rest is unchanged', () => {
    const cases: readonly [before: string, after: string, was: string, is: string][] = [
      ['a b c', 'a x c', 'a [b] c', 'a [x] c'],
      ['a b', 'a b c', 'a b', 'a b[ c]'],
      ['', 'x', '', '[x]'],
      ['a a', 'a a a', 'a a', 'a a[ a]'],
      ['one', 'two', '[one]', '[two]'],
      ['same', 'same', 'same', 'same'],
      ['10 to ACME Ltd, now', '99 to Mallory, now', '[10] to [ACME Ltd], now', '[99] to [Mallory], now'],
      ['pay A B today', 'pay C D today', 'pay [A B] today', 'pay [C D] today'],
      ['one\ntwo', 'one two', 'one[\n]two', 'one[ ]two'],
      ['私は医者です', '私は学生です', '私は[医者]です', '私は[学生]です'],
    ];
    for (const [before, after, was, is] of cases) {
      const parts = compareWords(before, after);
      assert.deepEqual([marked(parts.before), marked(parts.after)], [was, is]);
      for (const [side, text] of [
        ['before', before],
        ['after', after],
      ] as const)
        assert.equal(parts[side].map((part) => part.text).join(''), text);
    }
  });

  test('of a rewritten text, or of a very long change, are marked as one', () => {
    const words = (count: number, word: string) => Array.from({ length: count }, (_, n) => `${word}${n}`);
    const anew = words(12, 'old').join(' of ');
    assert.equal(marked(compareWords(anew, words(12, 'new').join(' of ')).before), `[${anew}]`);
    const long = words(2_000, 'old').join(' same ');
    const { before, after } = compareWords(
      `first ${long} last`,
      `first ${words(2_000, 'new').join(' same ')} last`,
    );
    assert.equal(marked(before), `first [${long}] last`);
    assert.equal(after.length, 3);
  });
});
