import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseBacklog, readBacklog } from './beads-lines.ts';

const good = '{"id":"a","title":"Do it","status":"open","priority":1,"issue_type":"bug"}';

test('a backlog is one JSON issue per line; empty lines and other fields are ignored', () => {
  const text = `${good}\n\n{"id":"b","title":"T","status":"closed","assignee":"x","dependencies":[{"on":"a","type":"blocks","by":"y"}]}\n`;
  assert.deepEqual(
    parseBacklog(text, 'backlog').map(({ id, priority, issue_type }) => ({ id, priority, issue_type })),
    [
      { id: 'a', priority: 1, issue_type: 'bug' },
      { id: 'b', priority: 2, issue_type: 'task' },
    ],
  );
});

for (const [what, line] of [
  ['not JSON', '{"id":'],
  ['no object', 'null'],
  ['no title', '{"id":"a","status":"open"}'],
  ['an empty id', '{"id":"","title":"T","status":"open"}'],
  ['dependencies of another form', '{"id":"a","title":"T","status":"open","dependencies":["b"]}'],
] as const)
  test(`a line that is ${what} is reported by its number`, () => {
    assert.throws(() => parseBacklog(`\n${line}`, 'file.jsonl'), /Line 2 of file\.jsonl is not an issue/);
  });

test('a repeated id is refused', () => {
  assert.throws(
    () => parseBacklog(`${good}\n${good}`, 'file.jsonl'),
    /Line 2 of file\.jsonl repeats the id a/,
  );
});

test('an empty or missing file is reported in one sentence', () => {
  assert.throws(() => parseBacklog('\n', 'file.jsonl'), /file\.jsonl is empty/);
  assert.throws(() => readBacklog('/nowhere/backlog.jsonl'), /can't be read \(ENOENT\)/);
});
