import assert from 'node:assert/strict';
import { test } from 'node:test';
import { presentSubject, subjectChanges } from './approval-subject.ts';
import type { ApprovalSubject } from './generated/coordination-types.ts';

type Snapshot = ApprovalSubject['snapshot'];

const plainTask: NonNullable<Snapshot['task']> = {
  title: 'Pay the invoice',
  description: '',
  typeKey: 'payment',
  typeVersion: 1,
  priority: 'medium',
  startDate: null,
  dueDate: null,
  customFields: {},
  acceptance: [],
};

function subjectOf(task: Partial<typeof plainTask> | null, other: Partial<Snapshot> = {}): ApprovalSubject {
  const snapshot = { task: task && { ...plainTask, ...task }, artifact: null, outcome: null, ...other };
  return { taskVersion: 1, artifactSha256: null, digest: 'sha256:1', snapshot };
}

/** The changes as one line each, with `-` for a missing value. */
const linesOf = (before: ApprovalSubject, after: ApprovalSubject) =>
  subjectChanges(before, after).map(
    ({ path, before: was, after: is }) =>
      `${path.join('.')}: ${JSON.stringify(was) ?? '-'} → ${JSON.stringify(is) ?? '-'}`,
  );

test('the current subject is the present one where it changed, and undefined where that is too large to be shown', () => {
  const [subject, current] = [subjectOf({}), subjectOf({ title: 'Other' })];
  assert.equal(presentSubject({ subject, subjectChanged: false, current: null }), subject);
  assert.equal(presentSubject({ subject, subjectChanged: true, current }), current);
  assert.equal(presentSubject({ subject, subjectChanged: true, current: null }), undefined);
  assert.equal(presentSubject({ subject: null, subjectChanged: true, current }), current);
});

test('each value that was changed, added or removed is found by its path', () => {
  const before = subjectOf(
    {
      dueDate: null,
      customFields: { to: { name: 'ACME', city: 'Bonn' }, removed: 1, empty: {}, amount: 10 },
    },
    { outcome: { approved: [{ comment: { body: 'a' } }], rejected: [] } },
  );
  const after = subjectOf(
    {
      dueDate: '2026-12-01T12:00:00.000Z',
      customFields: { to: { name: 'Mallory', city: 'Bonn' }, new: null, empty: [], amount: '10' },
    },
    {
      artifact: { type: 'invoice', name: 'Invoice 7', digest: null },
      outcome: { approved: [{ comment: { body: 'a' } }, { completeTask: {} }], rejected: [] },
    },
  );
  assert.deepEqual(linesOf(before, after), [
    'task.dueDate: null → "2026-12-01T12:00:00.000Z"',
    'task.customFields.to.name: "ACME" → "Mallory"',
    'task.customFields.removed: 1 → -',
    'task.customFields.empty: {} → []',
    'task.customFields.amount: 10 → "10"',
    'task.customFields.new: - → null',
    'artifact: null → {"type":"invoice","name":"Invoice 7","digest":null}',
    'outcome.approved.2: - → {"completeTask":{}}',
  ]);
  assert.deepEqual(subjectChanges(before, before), []);
});

test('the order of members is no change, that of list items is', () => {
  const before = subjectOf({ customFields: { a: { x: 1, y: 2 }, list: ['one', 'two'] } });
  const after = subjectOf({ customFields: { list: ['two', 'one'], a: { y: 2, x: 1 } } });
  assert.deepEqual(linesOf(before, after), [
    'task.customFields.list.1: "one" → "two"',
    'task.customFields.list.2: "two" → "one"',
  ]);
});

test('acceptance checks are compared by key; a repeated key or another order hides none', () => {
  const addedByPrincipalId = '0190b2c4-0000-7000-8000-0000000000a1';
  const check = (key: string, description: string) => ({
    key,
    kind: 'human' as const,
    description,
    addedByPrincipalId,
  });
  const [read, paid] = [check('read', 'Read'), check('paid', 'Paid')];
  const withChecks = (...acceptance: (typeof read)[]) => subjectOf({ acceptance });
  assert.deepEqual(linesOf(withChecks(read, paid), withChecks(check('paid', 'Sent'))), [
    `task.acceptance.read: ${JSON.stringify(read)} → -`,
    'task.acceptance.paid.description: "Paid" → "Sent"',
  ]);
  for (const [before, after] of [
    [withChecks(read, paid), withChecks(paid, read)],
    [withChecks(read, read), withChecks(read, check('read', 'Other'))],
  ] as const)
    assert.deepEqual(
      subjectChanges(before, after).map(({ path }) => path),
      [['task', 'acceptance']],
    );
});

test('a field of the name __proto__ is compared like every other one', () => {
  const hostile = JSON.parse('{"__proto__": {"to": "Mallory"}, "to": "ACME"}');
  assert.deepEqual(
    linesOf(subjectOf({ customFields: { to: 'ACME' } }), subjectOf({ customFields: hostile })),
    ['task.customFields.__proto__: - → {"to":"Mallory"}'],
  );
  const other = JSON.parse('{"__proto__": {"to": "Eve"}, "to": "ACME"}');
  assert.deepEqual(linesOf(subjectOf({ customFields: hostile }), subjectOf({ customFields: other })), [
    'task.customFields.__proto__.to: "Mallory" → "Eve"',
  ]);
});
