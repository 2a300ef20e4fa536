import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { LeftOut } from '../source.ts';
import { backlogLines, readBacklog } from './beads-lines.ts';

const folder = mkdtempSync(join(tmpdir(), 'baton-lines-'));
after(() => rmSync(folder, { recursive: true }));

const good = '{"id":"a","title":"Do it","status":"open","priority":1,"issue_type":"bug"}';

function read(text: string): { ids: string[]; leftOut: string[] } {
  const leftOut = new LeftOut();
  const ids = backlogLines(text, 'file.jsonl', leftOut).map(({ issue }) => issue.id);
  return { ids, leftOut: leftOut.items.map(({ reason, examples }) => `${reason}: ${examples.join()}`) };
}

test('a backlog is one JSON issue per line; empty lines and other fields are ignored', () => {
  const text = `${good}\n\n{"id":"b","title":"T","status":"closed","assignee":"x","dependencies":[{"on":"a","type":"blocks","by":"y"}]}\n`;
  assert.deepEqual(
    backlogLines(text, 'backlog', new LeftOut()).map(({ issue: { id, priority, issue_type } }) => ({
      id,
      priority,
      issue_type,
    })),
    [
      { id: 'a', priority: 1, issue_type: 'bug' },
      { id: 'b', priority: 2, issue_type: 'task' },
    ],
  );
});

const noIssue = 'is not an issue: it needs id, title and status as strings';

for (const [what, line, reason] of [
  ['not JSON', '{"id":', 'is not JSON'],
  ['no object', 'null', 'is not a JSON object'],
  ['no title', '{"id":"a","status":"open"}', noIssue],
  ['an empty id', '{"id":"","title":"T","status":"open"}', noIssue],
  ['dependencies of another form', '{"id":"a","title":"T","status":"open","dependencies":["b"]}', noIssue],
  ['nested deeply', `{"id":"a","x":${'['.repeat(1000)}`, 'is nested deeper than 64 levels'],
  ['too long', 'x'.repeat(4_300_000), 'has more than 4194304 characters'],
] as const)
  test(`a line that is ${what} is left out by its number, and the others are read`, () => {
    assert.deepEqual(read(`\n${line}\n${good}`), { ids: ['a'], leftOut: [`${reason}: line 2`] });
  });

test('a repeated id is left out by its line', () => {
  assert.deepEqual(read(`${good}\n${good}`), {
    ids: ['a'],
    leftOut: ['repeats the id of another line: a, line 2'],
  });
});

test('a file that is empty, missing or without an issue is reported in one sentence', () => {
  const file = join(folder, 'file.jsonl');
  writeFileSync(file, '\n');
  assert.throws(() => readBacklog(file), /file\.jsonl is empty/);
  writeFileSync(file, '{"_type":"memory"}\n{');
  assert.throws(() => readBacklog(file), /file\.jsonl holds no issue\.\n.*memory.*\n.*is not JSON/);
  assert.throws(() => readBacklog('/nowhere/backlog.jsonl'), /can't be read \(ENOENT\)/);
});
