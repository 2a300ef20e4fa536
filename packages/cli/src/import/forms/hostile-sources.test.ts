import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { planItems } from '../planned-item.ts';
import type { Source } from '../source.ts';
import { readBacklogMd } from './backlog-md.ts';
import { readExport } from './baton.ts';
import { readBeads } from './beads.ts';
import { readCsvTasks } from './csv.ts';
import { readGithub } from './github.ts';
import { readTaskmaster, readTaskmasterTasks } from './taskmaster.ts';

const folder = mkdtempSync(join(tmpdir(), 'baton-hostile-'));
after(() => rmSync(folder, { recursive: true }));

const words = { statuses: new Map() };
const planned = (source: Source) =>
  planItems(
    source,
    () => false,
    () => undefined,
  );
const reasons = ({ leftOut }: Source) => leftOut.items.map(({ reason, count }) => `${count} × ${reason}`);

/** An object without a conversion to text or number, which throws. */
const noText = { toString: 1, valueOf: 1 };

function taskFile(project: string, name: string, text: string): string {
  const root = join(folder, project);
  mkdirSync(join(root, 'tasks'), { recursive: true });
  writeFileSync(join(root, 'tasks', name), text);
  return root;
}

test("names of JavaScript's object members are ordinary fields, in each format", async () => {
  const beads = readBeads(
    '{"id":"__proto__","title":"T","status":"constructor","__proto__":"own","toString":"own too"}',
    'f',
    words,
  );
  const csv = readCsvTasks('id,title,__proto__,constructor\n__proto__,T,a,b\n', 'f', words, { source: 's' });
  const github = readGithub('[{"number":1,"title":"T","state":"open","__proto__":{}}]', 'f', words, 'o/r');
  const tags = '{"__proto__":{"tasks":[{"id":"__proto__","title":"T","__proto__":"own"}]}}';
  const taskmaster = readTaskmasterTasks(tags, 'f', words, 'p');
  const root = taskFile(
    'names',
    'task-1.md',
    '---\nid: task-1\ntitle: T\n__proto__: own\nconstructor: [a]\n---\n',
  );
  const backlogMd = await readBacklogMd(root, words);
  const imported = [beads, csv, github, taskmaster, backlogMd].map((source) => {
    const [item] = planned(source);
    return JSON.parse(JSON.stringify(item?.customFields['imported'])) as object;
  });
  const [ofBeads, ofCsv, , ofTaskmaster, ofBacklogMd] = imported.map((one) => Object.entries(one));
  const has = (entries: [string, unknown][] | undefined, name: string) =>
    entries?.find(([own]) => own === name)?.[1];
  assert.deepEqual([has(ofBeads, '__proto__'), has(ofBeads, 'toString')], ['own', 'own too']);
  assert.deepEqual([has(ofCsv, '__proto__'), has(ofCsv, 'constructor')], ['a', 'b']);
  assert.equal(has(ofTaskmaster, '__proto__'), 'own');
  assert.deepEqual([has(ofBacklogMd, '__proto__'), has(ofBacklogMd, 'constructor')], ['own', ['a']]);
  assert.equal(({} as { own?: unknown }).own, undefined);
});

test('values without a text or a number do not end the import', () => {
  const line = (value: object) => JSON.stringify(value);
  const issue = { id: 'a', title: 'T', status: 'open', priority: noText, assignee: noText, labels: [noText] };
  assert.equal(
    readBeads([{ _type: noText }, { id: noText }, issue].map(line).join('\n'), 'f', words).items.length,
    1,
  );
  const issues = [
    { number: noText, title: 'T' },
    noText,
    { number: 1, title: 'T', labels: noText, parent: noText },
  ];
  assert.equal(readGithub(JSON.stringify(issues), 'f', words, 'o/r').items.length, 1);
  const tasks = [
    { id: noText, title: 'T' },
    { id: 1, title: 'T', dependencies: noText, subtasks: noText, status: noText },
  ];
  assert.equal(readTaskmasterTasks(JSON.stringify({ tasks }), 'f', words, 'p').items.length, 1);
  const lines = [
    { kind: 'export', format: 1, tenant: { id: 't', slug: noText } },
    { kind: noText },
    { kind: 'role', value: { key: noText } },
    { kind: 'task', value: { id: noText, title: 'T' } },
    { kind: 'task', value: { id: 't', title: 'T', systemStatusCategory: 'constructor', priority: noText } },
    { kind: 'end' },
  ];
  const moved = readExport(lines.map(line).join('\n'), 'f');
  assert.deepEqual(
    moved.items.map(({ id, status }) => [id, status]),
    [['t', 'open']],
  );
  assert.deepEqual(reasons(moved), [
    '1 × is not a line of an export: it has no kind',
    '1 × is a role, which an import does not create (use npx baton apply)',
    '1 × is not a task: it has no id or no title',
  ]);
});

test('ids with a NUL, half of a character or 500 characters are left out, in items and relations', () => {
  const long = 'x'.repeat(500);
  const source = readBeads(
    [
      {
        id: 'a',
        title: 'T',
        status: 'open',
        dependencies: ['b\0', long, 'c'].map((on) => ({ on, type: 'blocks' })),
      },
      { id: 'b\0', title: 'T', status: 'open' },
      { id: 'half \ud800', title: 'T', status: 'open' },
      { id: 'c', title: 'T\0\u001b[2J', status: 'open' },
    ]
      .map((one) => JSON.stringify(one))
      .join('\n'),
    'f',
    words,
  );
  assert.deepEqual(
    planned(source).map(({ id, title, links }) => [id, title, links.map(({ to }) => to)]),
    [
      ['a', 'T', ['c']],
      ['c', 'T\u001b[2J', []],
    ],
  );
  assert.deepEqual(reasons(source), [
    '1 × relation has an invalid id',
    '2 × has an id with a NUL or half a character',
  ]);
});

test('a field for which the service would reject the whole task is omitted and reported', () => {
  const columns = Array.from({ length: 100 }, (_, at) => `Column ${at}`);
  const text = `id,title,API Token,${columns.join()}\n1,T,abc,${columns.map(() => 'x'.repeat(1999)).join()}\n`;
  const source = readCsvTasks(text, 'f', words, { source: 's' });
  const [item] = planned(source);
  const imported = item?.customFields['imported'] as Record<string, unknown>;
  assert.ok(Buffer.byteLength(JSON.stringify(item?.customFields)) < 65_536);
  assert.ok(Object.keys(imported).length > 20);
  assert.equal(imported['API Token'], undefined);
  const [secret, cut, large] = reasons(source);
  assert.deepEqual(
    [secret, cut],
    [
      '1 × field API Token is named like a secret and was skipped',
      '1 × field was too long and has been truncated',
    ],
  );
  assert.match(large ?? '', /^\d+ × has fields that are too large: the largest$/);
  const numbers = readBeads('{"id":"a","title":"T","big":1e400,"long":12345678901234567890}', 'f', words);
  const of = planned(numbers)[0]?.customFields['imported'] as Record<string, unknown>;
  assert.deepEqual([of['big'], of['long']], ['Infinity', '12345678901234567000']);
});

test('a report has at most 201 reasons, and counts the others', () => {
  const fields = Array.from({ length: 1000 }, (_, at) => [`list${at}`, [1]]);
  const issue = { id: 'a', title: 'T', ...(Object.fromEntries(fields) as object) };
  const { items, leftOut } = readBeads(JSON.stringify(issue), 'f', words);
  assert.deepEqual([items.length, leftOut.items.length], [1, 201]);
  assert.deepEqual(leftOut.items.at(-1), {
    reason: 'is skipped or changed for other reasons',
    count: 800,
    examples: ['a'],
  });
});

test('links and paths are not followed', async () => {
  const root = taskFile('paths', 'task-1.md', '---\nid: ../../../etc/passwd\ntitle: T\n---\n');
  symlinkSync('/etc/passwd', join(root, 'config.yml'));
  symlinkSync('/etc', join(root, 'completed'));
  mkdirSync(join(root, 'tasks', '..hidden'), { recursive: true });
  const source = await readBacklogMd(root, words, 'p');
  assert.deepEqual(
    source.items.map(({ id }) => id),
    ['p/../../../etc/passwd'],
  );
  const project = join(folder, 'linked');
  mkdirSync(join(project, '.taskmaster', 'tasks'), { recursive: true });
  symlinkSync('/etc/passwd', join(project, '.taskmaster', 'tasks', 'tasks.json'));
  await assert.rejects(readTaskmaster(project, words), /it has no \.taskmaster\/tasks\/tasks\.json\.$/);
});

// Each of these would take hours if one of its parts were searched again for each of its other parts.
test('hostile long texts are read in linear time', async () => {
  const long = 200_000;
  const front = (text: string) => `---\nid: task-1\ntitle: T\n${text}\n---\n`;
  const comments = `<!-- COMMENTS:BEGIN -->\n${'author: a\n'.repeat(long / 4)}<!-- COMMENTS:END -->`;
  const texts = [
    front('\n'.repeat(long)),
    front(`note: ${' '.repeat(long)}: ${' '.repeat(long)}x`),
    front(`id: ${'1.'.repeat(long)}x`),
    `${front('')}${comments}`,
    `${front('')}${'## Comments\n'.repeat(long / 4)}${comments}`,
  ];
  texts.forEach((text, at) => {
    taskFile('long', `task-${at}.md`, text);
  });
  assert.ok((await readBacklogMd(join(folder, 'long'), words)).items.length >= 1);
  const options = { source: 's' };
  const row = (cell: string) => `id,title,Blocked by\n1,T,"${cell}"\n2,U,\n`;
  for (const cell of ['a,'.repeat(long), 'a '.repeat(long), 'a ('.repeat(long), '('.repeat(long)])
    assert.equal(readCsvTasks(row(cell), 'f', words, options).items.length, 2);
  assert.equal(readCsvTasks(`title,b\n${'T,\n'.repeat(50_000)}`, 'f', words, options).items.length, 50_000);
  const chain = Array.from({ length: 20_000 }, (_, at) =>
    JSON.stringify({
      id: `c-${at}`,
      title: 'T',
      status: 'open',
      dependencies: [
        { on: `c-${at + 1}`, type: 'parent-child' },
        { on: `d-${at}`, type: 'blocks' },
      ],
    }),
  );
  const others = Array.from({ length: 20_000 }, (_, at) =>
    JSON.stringify({ id: `d-${at}`, title: 'T', status: 'open' }),
  );
  const { items } = readBeads([...chain, ...others].join('\n'), 'f', words);
  assert.equal(items[0]?.links.filter(({ type }) => type === 'depends_on').length, 51);
});

test('an ambiguous id of Backlog.md is reported for each relation that uses it, and skipped', async () => {
  const root = taskFile('doubt', 'task-07.md', '---\nid: task-07\ntitle: A\n---\n');
  taskFile('doubt', 'task-007.md', '---\nid: task-007\ntitle: B\n---\n');
  taskFile('doubt', 'task-8.md', '---\nid: task-8\ntitle: C\ndependencies: [task-7, task-07]\n---\n');
  const source = await readBacklogMd(root, words, 'p');
  assert.deepEqual(
    source.items.find(({ id }) => id === 'p/task-8')?.links.map(({ to }) => to),
    ['p/task-07'],
  );
  assert.deepEqual(reasons(source), ['1 × relation refers to an id that several tasks have']);
});
