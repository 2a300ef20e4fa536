import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { linesToNewFile } from '../../export/export-lines.ts';
import { beyondImport } from '../../export/import-limits.ts';
import { planItems } from '../planned-item.ts';
import { readSourceText } from '../read-source.ts';
import type { Source, SourceItem } from '../source.ts';
import { plainWord } from '../words.ts';
import { readBacklogMd } from './backlog-md.ts';
import { readExport } from './baton.ts';
import { readBeads } from './beads.ts';
import { readCsvTasks } from './csv.ts';
import { readCsv } from './csv-text.ts';
import { readGithub } from './github.ts';

const folder = mkdtempSync(join(tmpdir(), 'baton-forms-'));
after(() => rmSync(folder, { recursive: true }));

const words = { statuses: new Map() };
const lines = (...values: object[]) => values.map((value) => JSON.stringify(value)).join('\n');
const planned = (source: Source) =>
  planItems(
    source,
    () => false,
    () => undefined,
  );
const brief = ({ id, title, status, priority, links }: SourceItem) => ({
  id,
  title,
  status,
  priority,
  links,
});

test('an issue of beads keeps its texts, its people, its dependencies in both forms and its comments', () => {
  const { items } = readBeads(
    lines(
      { id: 'a-1', title: 'One', status: 'in_progress', priority: 0, issue_type: 'bug', assignee: 'ann' },
      {
        id: 'a-2',
        title: 'Two',
        status: 'blocked',
        description: 'Long.',
        acceptance_criteria: '- it works',
        labels: ['gpu'],
        dependencies: [
          { issue_id: 'a-2', depends_on_id: 'a-1', type: 'blocks' },
          { on: 'a-1', type: 'discovered-from' },
        ],
        comments: [{ text: 'Half is done.', author: 'bob', created_at: '2026-02-03T04:05:06Z' }],
      },
      { id: 'a-3', title: 'Three', status: 'tombstone' },
      { id: 'a-4', title: 'Four', status: 'deferred', priority: 4 },
      { id: 'a-5', title: 'Five', status: 'blocked' },
    ),
    'file',
    words,
  );
  assert.deepEqual(
    items.map(({ status, priority, assignee }) => [status, priority, assignee]),
    [
      ['open', 'critical', 'ann'],
      ['open', 'medium', undefined],
      ['cancelled', 'medium', undefined],
      ['blocked', 'low', undefined],
      ['blocked', 'medium', undefined],
    ],
  );
  const [, two] = items as [SourceItem, SourceItem];
  assert.equal(two.description, 'Long.\n\n## Acceptance criteria\n\n- it works');
  assert.deepEqual(two.links, [
    { to: 'a-1', type: 'depends_on' },
    { to: 'a-1', type: 'related_to' },
  ]);
  assert.deepEqual(two.customFields['labels'], ['gpu']);
  assert.deepEqual(two.comments, [{ body: 'Half is done.', author: 'bob', at: '2026-02-03T04:05:06Z' }]);
});

test('issues of GitHub come from the REST API and from gh, without pull requests', () => {
  const rest = readGithub(
    JSON.stringify([
      {
        number: 7,
        title: 'It breaks',
        body: 'See.',
        state: 'closed',
        state_reason: 'not_planned',
        html_url: 'https://github.com/o/r/issues/7',
        labels: [{ name: 'priority: high' }, { name: 'bug' }],
        assignees: [{ login: 'ann' }, { login: 'bob' }],
        milestone: { title: 'v2', due_on: '2026-12-24T00:00:00Z' },
        comments: 3,
      },
      {
        number: 8,
        title: 'A change',
        state: 'open',
        html_url: 'https://github.com/o/r/pull/8',
        pull_request: {},
      },
    ]),
    'file',
    words,
  );
  assert.deepEqual(rest.items.map(brief), [
    { id: 'o/r#7', title: 'It breaks', status: 'cancelled', priority: 'high', links: [] },
  ]);
  assert.deepEqual(
    rest.leftOut.items.map(({ reason, count }) => [reason, count]),
    [
      ['has several assignees: it is assigned to the first one; all are kept in its fields', 1],
      ['has comments that this list does not contain: gh issue list --json comments prints them', 1],
      ['is a pull request, not an issue', 1],
    ],
  );
  const gh = readGithub(
    JSON.stringify([
      {
        number: 7,
        title: 'It breaks',
        state: 'CLOSED',
        stateReason: 'COMPLETED',
        url: 'https://github.com/o/r/issues/7',
        labels: [{ name: 'P0' }],
        comments: [{ author: { login: 'eve' }, body: 'Me too.', createdAt: '2026-01-02T03:04:05Z' }],
      },
    ]),
    'file',
    words,
  );
  assert.deepEqual(gh.items.map(brief), [
    { id: 'o/r#7', title: 'It breaks', status: 'done', priority: 'critical', links: [] },
  ]);
  assert.equal(planned(gh)[0]?.comments[0]?.body, 'eve, 2026-01-02:\n\nMe too.');
  assert.throws(
    () => readGithub('[{"number":1,"title":"x"}]', 'file', words),
    /Nothing in file could be read.*\n.*--source owner\/repo \(issue 1\)$/,
  );
  assert.equal(readGithub('[[{"number":1,"title":"x"}]]', 'file', words, 'o/r').items[0]?.id, 'o/r#1');
  assert.throws(() => readGithub('{"a":1}', 'file', words), /not a list of issues/);
  const page = (number: number) => JSON.stringify([{ number, title: 'x' }], null, 2);
  assert.equal(readGithub(`${page(1)}${page(2)}\n${page(3)}`, 'file', words, 'o/r').items.length, 3);
  const lines = readGithub(
    '{"number":1,"title":"x"}\n{"number":2,\n{"number":3,"title":"x"}',
    'file',
    words,
    'o/r',
  );
  assert.deepEqual(
    [lines.items.map(({ id }) => id), lines.leftOut.items],
    [['o/r#1', 'o/r#3'], [{ reason: 'is not JSON', count: 1, examples: ['line 2'] }]],
  );
});

test('a folder of Backlog.md is read with its archive and drafts; links and other files are skipped and reported', async () => {
  const root = join(folder, 'shop', 'backlog');
  for (const name of ['tasks', 'completed', 'archive/tasks', 'drafts'])
    mkdirSync(join(root, name), { recursive: true });
  const file = (name: string, front: string, body = '') =>
    writeFileSync(join(root, name), `---\n${front}\n---\n${body}`);
  file(
    'tasks/task-1 - One.md',
    "id: task-1\ntitle: 'One: first'\nstatus: In Progress\nassignee:\n  - @ann\nlabels: [web]\npriority: high\ncreated_date: 2026-01-02\ndependencies: []",
    '\n## Description\n\n<!-- SECTION:DESCRIPTION:BEGIN -->\nDo it.\n<!-- SECTION:DESCRIPTION:END -->\n\n## Acceptance Criteria\n<!-- AC:BEGIN -->\n- [ ] #1 It works\n<!-- AC:END -->\n',
  );
  file(
    'tasks/task-2.md',
    'id: TASK-2\ntitle: Two\nstatus: To Do\ndependencies: [task-1]\nparent_task_id: task-1',
  );
  file('completed/task-3.md', 'id: task-3\ntitle: Three\nstatus: In Progress');
  file('archive/tasks/task-4.md', 'id: task-4\ntitle: Four\nstatus: To Do');
  file('drafts/draft-1.md', 'id: draft-1\ntitle: Maybe\nstatus: Draft');
  writeFileSync(join(root, 'tasks', 'readme.md'), 'Nothing.');
  symlinkSync('/etc/hostname', join(root, 'tasks', 'task-9.md'));
  const { items, leftOut } = await readBacklogMd(join(folder, 'shop'), words);
  assert.deepEqual(items.map(brief), [
    { id: 'shop/task-1', title: 'One: first', status: 'open', priority: 'high', links: [] },
    {
      id: 'shop/task-2',
      title: 'Two',
      status: 'open',
      priority: 'medium',
      links: [
        { to: 'shop/task-1', type: 'parent' },
        { to: 'shop/task-1', type: 'depends_on' },
      ],
    },
    { id: 'shop/task-3', title: 'Three', status: 'done', priority: 'medium', links: [] },
    { id: 'shop/task-4', title: 'Four', status: 'cancelled', priority: 'medium', links: [] },
    { id: 'shop/draft-1', title: 'Maybe', status: 'blocked', priority: 'medium', links: [] },
  ]);
  assert.equal(items[0]?.assignee, 'ann');
  assert.equal(
    items[0]?.description,
    '## Description\n\nDo it.\n\n## Acceptance Criteria\n- [ ] #1 It works',
  );
  assert.deepEqual(leftOut.items.map(({ reason }) => reason).sort(), [
    'has no front matter with id and title',
    'is a link or not a regular file',
  ]);
  await assert.rejects(readBacklogMd(join(root, 'drafts'), words), /not a Backlog\.md folder/);
});

test('a YAML bomb in a front matter is skipped, and a folder with no other task is rejected', async () => {
  const root = join(folder, 'bomb');
  mkdirSync(join(root, 'tasks'), { recursive: true });
  const levels = Array.from({ length: 9 }, (_, at) =>
    at === 0
      ? 'a0: &a0 [x,x,x,x,x,x,x,x]'
      : `a${at}: &a${at} [${Array(8)
          .fill(`*a${at - 1}`)
          .join(',')}]`,
  );
  writeFileSync(join(root, 'tasks', 'task-1.md'), `---\n${levels.join('\n')}\n---\n`);
  await assert.rejects(
    readBacklogMd(root, words),
    /bomb could be read\.\n.*has front matter that is not valid YAML \(.+\) \(tasks\/task-1\.md\)$/,
  );
});

test('comma-separated values have quotes, line breaks in them, and other separators', () => {
  assert.deepEqual(readCsv('a,b\r\n"x ""y"",\nz",\r\n', 'f').rows, [{ cells: ['x "y",\nz', ''], line: 2 }]);
  assert.deepEqual(
    readCsv('a;b\n1;"2;3"\n\n4;5', 'f').rows.map(({ cells, line }) => [line, ...cells]),
    [
      [2, '1', '2;3'],
      [4, '4', '5'],
    ],
  );
  assert.deepEqual(readCsv('a\tb\n1\t2', 'f').rows[0]?.cells, ['1', '2']);
  for (const [row, fault] of [
    ['1,"2', 'opens a quote that is never closed'],
    ['1,2"3"', 'has a quote inside a cell that does not begin with one'],
    ['"1"2,3', 'has text after a closing quote'],
    ['1', 'has a different number of cells than the header, which has 2'],
    ['1,2,3', 'has a different number of cells than the header, which has 2'],
  ] as const) {
    const { rows, faults } = readCsv(`a,b\n${row}\n4,5,`, 'f');
    assert.deepEqual(faults, [{ line: 2, fault }], row);
    assert.deepEqual(rows, [{ cells: ['4', '5'], line: 3 }], row);
  }
  assert.throws(() => readCsv('', 'f'), /f is empty\.$/);
  assert.throws(
    () => readCsvTasks('title;b\n1\n2', 'f', words, { source: 's' }),
    /Nothing in f could be read\. Does --delimiter .*\n.*\n! 2 × has a different number .*\(line 2, line 3\)$/,
  );
  assert.throws(() => readCsv(`a\n${'"x"y\n'.repeat(1001)}`, 'f'), /f has more than 1000 rows that can't/);
});

test('columns are detected by their headers, or mapped; others become custom fields', () => {
  const text =
    'Issue key,Summary,State,Priority,Tags,Blocked by,Due,Team\nJ-1,First,Closed,Blocker,"a, b",,2026-12-24,red\nJ-2,Second,QA,,,J-1,24.12.2026,\nJ-2,Twice,,,,,,\n';
  const { items, leftOut } = readCsvTasks(
    text,
    'f',
    { statuses: new Map([['qa', 'blocked']]) },
    { source: 'jira' },
  );
  assert.deepEqual(items.map(brief), [
    { id: 'jira/J-1', title: 'First', status: 'done', priority: 'critical', links: [] },
    {
      id: 'jira/J-2',
      title: 'Second',
      status: 'blocked',
      priority: 'medium',
      links: [{ to: 'jira/J-1', type: 'depends_on' }],
    },
  ]);
  assert.deepEqual(items[0]?.customFields, {
    labels: ['a', 'b'],
    imported: { Team: 'red', id: 'J-1', status: 'Closed' },
  });
  assert.equal(items[0]?.dueDate, '2026-12-24T00:00:00.000Z');
  assert.deepEqual(
    leftOut.items.map(({ reason }) => reason),
    ['repeats an id', 'has a due date that is not in the format YYYY-MM-DD'],
  );
  const mapped = readCsvTasks('What,Nr\nDo it,1\n', 'f', words, { source: 's', map: 'title=What,id=Nr' });
  assert.deepEqual(mapped.items.map(brief), [
    { id: 's/1', title: 'Do it', status: 'open', priority: 'medium', links: [] },
  ]);
  assert.throws(
    () => readCsvTasks('a,b\n1,2\n', 'f', words, { source: 's' }),
    /No title column was detected.* a, b\.$/,
  );
  assert.throws(
    () => readCsvTasks('a,b\n1,2\n', 'f', words, { source: 's', map: 'colour=a' }),
    /--map has no field colour; valid fields: /,
  );
  assert.throws(
    () => readCsvTasks('a,b\n1,2\n', 'f', words, { source: 's', map: 'title=c' }),
    /has no column c/,
  );
});

test('texts that are too long are truncated, characters that can not be stored are removed, and both are reported', () => {
  const source = readBeads(
    lines(
      { id: 'a', title: 'x'.repeat(499) + '😀', status: 'open', description: 'ü'.repeat(524_000) },
      {
        id: 'b',
        title: ' \u0000\n ',
        status: 'open',
        comments: [{ text: 'y'.repeat(20_000) }],
        labels: ['z'.repeat(3000)],
      },
      { id: 'c'.repeat(401), title: 'T', status: 'open' },
    ),
    'file',
    words,
  );
  const items = planned(source);
  assert.deepEqual(
    items.map(({ title }) => title),
    ['x'.repeat(499), 'b'],
  );
  assert.ok(Buffer.byteLength(items[0]?.description ?? '') <= 900_000);
  assert.equal(items[1]?.comments[0]?.body.length, 10_000);
  assert.deepEqual(source.leftOut.items.map(({ reason }) => reason).sort(), [
    'comment was too long and has been truncated',
    'description was too long and has been truncated',
    'field was too long and has been truncated',
    'has an id of more than 400 characters',
    'title was too long and has been truncated',
  ]);
});

test('each skipped relation has a reason', () => {
  const source = readBeads(
    lines(
      {
        id: 'a',
        title: 'A',
        status: 'open',
        dependencies: [
          { on: 'b', type: 'blocks' },
          { on: 'absent', type: 'blocks' },
        ],
      },
      {
        id: 'b',
        title: 'B',
        status: 'open',
        dependencies: [
          { on: 'a', type: 'blocks' },
          { on: 'c', type: 'blocks' },
        ],
      },
      { id: 'c', title: 'C', status: 'tombstone' },
    ),
    'file',
    words,
  );
  assert.deepEqual(
    planned(source).flatMap(({ id, links }) => links.map(({ to }) => `${id} ${to}`)),
    ['a b'],
  );
  assert.deepEqual(source.leftOut.lines, [
    '! 1 × relation points to an item that is not in the source (a depends_on absent)',
    '! 1 × relation would close a cycle (b depends_on a)',
    '! 1 × relation waits for a cancelled item (b depends_on c)',
  ]);
});

test('a truncated export, a later format and another file are rejected', () => {
  const first = { kind: 'export', format: 1, tenant: { id: 't', slug: 's' } };
  assert.deepEqual(readExport(lines(first, { kind: 'end' }), 'f').items, []);
  assert.throws(() => readExport(lines(first), 'f'), /f is not complete/);
  assert.throws(
    () => readExport(lines({ ...first, format: 2 }, { kind: 'end' }), 'f'),
    /has format 2; this version reads format 1/,
  );
  assert.throws(() => readExport('{"kind":"task"}', 'f'), /f is not an export/);
  assert.throws(() => readExport('{"id":1}', 'f'), /f is not an export/);
});

test('text that is nested deeply, too long, too large or not UTF-8 is rejected early', async () => {
  const deep = `{"id":"a","title":"T","status":"open","x":${'['.repeat(100_000)}`;
  assert.throws(() => readBeads(deep, 'f', words), /is nested deeper than 64 levels \(line 1\)$/);
  assert.throws(() => readGithub('['.repeat(1_000_000), 'f', words), /f is nested deeper than 64 levels\.$/);
  assert.throws(
    () => readBeads('x'.repeat(5_000_000), 'f', words),
    /has more than 4194304 characters \(line 1\)$/,
  );
  const file = join(folder, 'large');
  writeFileSync(file, 'x'.repeat(3000));
  await assert.rejects(readSourceText(file, 2048), /is larger than 2 KiB: split it/);
  writeFileSync(file, Buffer.from([0xff, 0xfe, 0x61, 0]));
  await assert.rejects(readSourceText(file), /is not UTF-8 text: save it as UTF-8\.$/);
  await assert.rejects(readSourceText(folder), /is a folder: specify a file\.$/);
  await assert.rejects(readSourceText(join(folder, 'none')), /can't be read \(ENOENT\)\.$/);
});

test('a word of --status matches regardless of its punctuation in the source', () => {
  const { statuses } = { statuses: new Map([[plainWord('status: QA'), 'blocked' as const]]) };
  const issue = { number: 1, title: 'T', state: 'open', labels: [{ name: 'bug' }, { name: 'status: QA' }] };
  const github = readGithub(JSON.stringify([issue]), 'f', { statuses }, 'o/r');
  const beads = readBeads(lines({ id: 'a', title: 'T', status: 'status: QA' }), 'f', { statuses });
  assert.deepEqual(
    [github, beads].map(({ items }) => items[0]?.status),
    ['blocked', 'blocked'],
  );
});

test('columns with one header are all kept: as values of a field that may have several, else as a list', () => {
  const text =
    'Key,Summary,Labels,Labels,Sprint,Sprint,Comment,status,Stage,Parent,\n' +
    'J-1,First,"a, b",c,S1,S2,Only one,Old,Done,"J-2, J-3",lost\n';
  const map = 'status=Stage';
  const { items, leftOut } = readCsvTasks(text, 'f', words, { source: 'jira', map });
  assert.deepEqual(items[0]?.customFields, {
    labels: ['a', 'b', 'c'],
    imported: {
      Sprint: ['S1', 'S2'],
      Comment: 'Only one',
      'status (column)': 'Old',
      id: 'J-1',
      status: 'Done',
    },
  });
  assert.deepEqual(
    leftOut.items.map(({ reason }) => reason),
    ['has a column without a header', 'has several parents: the first one is used'],
  );
});

test('an export may have more lines than a source has items, and a task any number of comments on its line', () => {
  const task = { id: 't-1', title: 'T', systemStatusCategory: 'active' };
  const comments = Array.from({ length: 450 }, () => ({ body: 'c'.repeat(10_000) }));
  const text = [
    lines({ kind: 'export', format: 1, tenant: { id: 't', slug: 's' } }),
    ...Array.from({ length: 100_001 }, () => '{"kind":"run","value":{"id":"r"}}'),
    lines({ kind: 'task', value: task, comments }, { kind: 'end' }),
  ].join('\n');
  const { items, leftOut } = readExport(text, 'f');
  assert.deepEqual(
    items.map(({ id, comments: read }) => [id, read.length]),
    [['t-1', 450]],
  );
  assert.deepEqual(
    leftOut.items.map(({ count }) => count),
    [100_001],
  );
});

test("an export that can't be imported reports it", () => {
  assert.deepEqual(beyondImport({ tasks: 100_000, bytes: 1000 }), []);
  assert.match(beyondImport({ tasks: 100_001, bytes: 1000 }).join(), /more than 100000 tasks/);
  assert.match(beyondImport({ tasks: 1, bytes: 300_000_000 }).join(), /larger than 256 MiB.*--tasks-only/);
});

test('an export never overwrites an existing file, not even its temporary one', async () => {
  const path = join(folder, 'export.jsonl');
  const guessed = `${path}.${process.pid}.part`;
  writeFileSync(guessed, 'of somebody else');
  const written = await linesToNewFile(path);
  await written.write('{}');
  await written.finish();
  assert.deepEqual([readFileSync(path, 'utf8'), readFileSync(guessed, 'utf8')], ['{}\n', 'of somebody else']);
});

test('a relation of an item to itself is reported once', () => {
  const issue = { id: 'a', title: 'A', status: 'open', dependencies: [{ on: 'a', type: 'blocks' }] };
  const source = readBeads(lines(issue), 'f', words);
  planned(source);
  assert.deepEqual(
    source.leftOut.items.map(({ reason, count }) => [reason, count]),
    [['relation points to its own item', 1]],
  );
});
