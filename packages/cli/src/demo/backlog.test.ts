import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseBacklog, readBacklog } from './backlog.ts';

const good = '{"id":"a","title":"Do it","status":"open","priority":1,"issue_type":"bug"}';

test('a backlog is one JSON issue a line; empty lines and other fields do not matter', () => {
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
  test(`a line that is ${what} is named by its number`, () => {
    assert.throws(() => parseBacklog(`\n${line}`, 'file.jsonl'), /Line 2 of file\.jsonl is not an issue/);
  });

test('an id that comes twice is refused', () => {
  assert.throws(
    () => parseBacklog(`${good}\n${good}`, 'file.jsonl'),
    /Line 2 of file\.jsonl repeats the id a/,
  );
});

test('an empty file and one that is not there are said in a sentence', () => {
  assert.throws(() => parseBacklog('\n', 'file.jsonl'), /file\.jsonl is empty/);
  assert.throws(() => readBacklog('/nowhere/backlog.jsonl'), /can't be read \(ENOENT\)/);
});
