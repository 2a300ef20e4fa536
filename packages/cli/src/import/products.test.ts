import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import type { Task } from '@baton/sdk';
import { type RunningBaton, sharedBaton } from '@baton/testing/running-baton';
import { runCommand } from '../testing/run-command.ts';

// Imports files in the formats of other products into a whole Baton.

const sources = join(import.meta.dirname, 'testing', 'sources');
let baton: RunningBaton;
let folder: string;

before(async () => {
  baton = await sharedBaton();
  folder = mkdtempSync(join(tmpdir(), 'baton-products-'));
});
after(async () => {
  await baton?.stop();
  rmSync(folder, { recursive: true, force: true });
});

const run = (args: readonly string[]) => runCommand(args, { HOME: folder, BATON_HOME: baton.home });

interface Imported {
  /** Tasks by their ids in the source, without the prefix of the ids. */
  readonly tasks: Readonly<Record<string, Task>>;
  readonly statuses: Readonly<Record<string, string>>;
  /** The tasks of the source that are offered to agents. */
  readonly offered: readonly string[];
  /** The skipped records: the reason, the count, and the places. */
  readonly leftOut: Readonly<Record<string, string>>;
  relationsOf(id: string): Promise<string[]>;
}

interface Result {
  readonly items: readonly {
    readonly externalId: string;
    readonly action: string;
    readonly taskId: string;
  }[];
  readonly leftOut: readonly {
    readonly reason: string;
    readonly count: number;
    readonly examples: string[];
  }[];
}

/**
 * Imports a source twice: the second import writes nothing.
 * @param prefix of its ids
 */
async function importTwice(args: readonly string[], prefix = ''): Promise<Imported> {
  const { id: workspace } = await baton.admin.workspaces.create({
    slug: `products-${crypto.randomUUID().slice(0, 8)}`,
    name: 'Products',
  });
  const once = async () => {
    const said = await run(['import', ...args, '--workspace', workspace, '--yes', '--json']);
    assert.equal(said.code, 0, said.text);
    return JSON.parse(said.text) as Result;
  };
  const first = await once();
  const again = await once();
  assert.deepEqual([...new Set(again.items.map(({ action }) => action))], ['unchanged']);
  const nameOf = (externalId: string) => externalId.slice(prefix.length);
  const names = new Map(first.items.map(({ externalId, taskId }) => [taskId, nameOf(externalId)]));
  const tasks = await Promise.all([...names.keys()].map((id) => baton.admin.tasks.get(id)));
  const offered = (await baton.admin.work.listAvailable({ workspaceId: workspace, limit: 200 })).items;
  return {
    tasks: Object.fromEntries(tasks.map((task) => [names.get(task.id), task])),
    statuses: Object.fromEntries(tasks.map((task) => [names.get(task.id), task.status])),
    offered: offered.map(({ id }) => names.get(id) ?? id).sort(),
    leftOut: Object.fromEntries(
      first.leftOut.map(({ reason, count, examples }) => [reason, [count, ...examples].join(' | ')]),
    ),
    async relationsOf(id) {
      const task = tasks.find((one) => names.get(one.id) === id);
      const { items } = await baton.admin.tasks.listRelations(task?.id ?? '');
      return items
        .filter(({ fromTaskId }) => fromTaskId === task?.id)
        .map(({ type, toTaskId }) => `${type} ${names.get(toTaskId)}`)
        .sort();
    },
  };
}

test("beads: issues that bd ready doesn't list are not offered, and records that aren't issues are counted", async () => {
  const { statuses, offered, leftOut, tasks, relationsOf } = await importTwice([
    'beads',
    join(sources, 'beads.jsonl'),
  ]);
  assert.deepEqual(offered, ['pot-1', 'pot-25', 'pot-7']);
  const byStatus = Object.entries(statuses).filter(([, status]) => status !== 'todo');
  assert.deepEqual(Object.fromEntries(byStatus), {
    ...{ 'pot-6': 'done', 'pot-20': 'done', 'pot-21': 'cancelled' },
    ...{ 'pot-10': 'blocked', 'pot-11': 'blocked', 'pot-12': 'blocked', 'pot-13': 'blocked' },
    ...{ 'pot-14': 'blocked', 'pot-16': 'blocked', 'pot-17': 'blocked', 'pot-18': 'blocked' },
    ...{ 'pot-19': 'blocked', 'pot-22': 'blocked' },
  });
  assert.equal(tasks['pot-9']?.startDate, '2199-06-01T00:00:00.000Z');
  assert.deepEqual(await relationsOf('pot-2'), ['depends_on pot-1']);
  assert.deepEqual(await relationsOf('pot-5'), ['depends_on pot-1', 'parent pot-3']);
  assert.deepEqual(await relationsOf('pot-8'), ['depends_on pot-6', 'depends_on pot-7']);
  assert.deepEqual(await relationsOf('pot-15'), ['depends_on pot-14']);
  const { imported } = tasks['pot-1']?.customFields as { imported: Record<string, unknown> };
  assert.deepEqual([imported['created_by'], imported['estimated_minutes']], ['ann', 90]);
  assert.deepEqual(leftOut, {
    'is a header of bd export, not an issue': '1 | line 1',
    'is of _type memory, not an issue': '1 | line 24',
    'is not an issue: it needs id, title and status as strings': '1 | line 25',
    'is not JSON': '1 | line 26',
    'is not work (agent): blocked, so it is not offered to agents': '1 | pot-12',
    'is not work (message): blocked, so it is not offered to agents': '1 | pot-13',
    'is not work (gate): blocked, so it is not offered to agents': '1 | pot-14',
    'is not work (template): blocked, so it is not offered to agents': '1 | pot-16',
    'is not work (pinned): blocked, so it is not offered to agents': '1 | pot-18',
    'is hooked for an agent in the source: blocked, so it is not offered to agents': '1 | pot-19',
    'waits for something outside of the file: blocked': '1 | pot-22',
    'is below a blocked item: blocked too': '2 | pot-11: pot-10 | pot-17: pot-16',
    'relation points to an item that is not in the source': '1 | pot-22 depends_on external:shop:glaze',
    'assignee is unknown here: map names with --people': '1 | joe',
  });
});

test('Backlog.md: ids are compared as it does, comments are comments, drafts are blocked, its last status is done', async () => {
  const { statuses, offered, leftOut, tasks, relationsOf } = await importTwice(
    ['backlog-md', join(sources, 'backlog-md')],
    'backlog-md/',
  );
  assert.deepEqual(statuses, {
    ...{ 'task-001': 'todo', 'task-1.1': 'todo', 'task-1.10': 'done', 'task-7': 'todo', 'task-9': 'todo' },
    ...{ 'task-3': 'done', 'task-4': 'cancelled', 'draft-1': 'blocked' },
  });
  assert.deepEqual(offered, ['task-001', 'task-1.1', 'task-9']);
  assert.deepEqual(await relationsOf('task-7'), [
    'depends_on task-001',
    'depends_on task-1.10',
    'parent task-001',
  ]);
  assert.deepEqual(await relationsOf('task-1.10'), ['depends_on task-1.1']);
  const quay = tasks['task-001'] as Task;
  assert.equal(quay.title, 'Build the quay: stone, not wood');
  assert.equal(quay.dueDate, '2026-12-24T17:00:00.000Z');
  assert.equal(quay.description, '## Description\n\nOf granite.\n\n## Final Summary\n\nNone yet.');
  const { imported } = quay.customFields as { imported: Record<string, unknown> };
  assert.deepEqual(
    [imported['reporter'], imported['assignees'], imported['references']],
    ['@bob', ['ann'], ['https://example.com/quay']],
  );
  const commentsOf = async (id: string) =>
    (await baton.admin.tasks.listComments(tasks[id]?.id ?? '')).items.map(({ body }) => body);
  assert.deepEqual(await commentsOf('task-001'), [
    'ann, 2026-03-02:\n\nHalf of it is done.',
    '2026-03-03:\n\nThe other half:\n\n---\nsinks.',
  ]);
  assert.deepEqual(await commentsOf('task-7'), ['eve, 2026-03-04:\n\nIt smokes.']);
  assert.deepEqual(await commentsOf('task-9'), ['ann, 2026-03-05:\n\nThe red is out.']);
  assert.equal(
    tasks['task-9']?.description,
    '## Description\n\nIn red and white.\n\n## Acceptance Criteria\n\n- [x] #1 No rust',
  );
  const { ['assignee is unknown here: map names with --people']: _, ...others } = leftOut;
  const [broken = ''] = Object.keys(others).filter((reason) => reason.startsWith('has front matter that'));
  assert.match(broken, /^has front matter that is not valid YAML \(.+\)$/);
  const { [broken]: where, ...named } = others;
  assert.equal(where, '1 | tasks/task-8.md');
  assert.deepEqual(named, {
    'is a subfolder of tasks, which Backlog.md does not read': '1 | tasks/old',
    'is a folder that contains no tasks': '3 | decisions | docs | archive/drafts',
  });
});

test('claude-task-master: tags, subtasks, dependencies, and test strategies as checks', async () => {
  const { statuses, offered, leftOut, tasks, relationsOf } = await importTwice(
    ['taskmaster', join(sources, 'taskmaster')],
    'taskmaster/',
  );
  assert.deepEqual(statuses, {
    ...{ 'master/1': 'done', 'master/2': 'todo', 'master/2.1': 'done', 'master/2.2': 'todo' },
    ...{ 'master/2.3': 'todo', 'master/3': 'todo', 'master/3.1': 'todo', 'master/4': 'blocked' },
    ...{ 'master/5': 'cancelled', 'garden/1': 'todo' },
  });
  assert.deepEqual(offered, ['garden/1', 'master/2', 'master/2.2']);
  assert.deepEqual(await relationsOf('master/2.2'), ['depends_on master/2.1', 'parent master/2']);
  assert.deepEqual(await relationsOf('master/2.3'), ['depends_on master/2.2', 'parent master/2']);
  assert.deepEqual(await relationsOf('master/3'), ['depends_on master/2', 'depends_on master/2.3']);
  assert.deepEqual(await relationsOf('master/3.1'), [
    'depends_on master/2',
    'depends_on master/2.3',
    'parent master/3',
  ]);
  const two = tasks['master/2'] as Task;
  assert.deepEqual(
    two.acceptance.map(({ key, kind, description }) => [key, kind, description]),
    [['test-strategy', 'human', 'Wait a week, then hit it with a hammer.']],
  );
  assert.match(
    two.description,
    /^Of concrete\.\n\n## Details\n\nTwo metres deep\.\n\n## Test strategy\n\nWait/,
  );
  assert.deepEqual(
    [tasks['master/1']?.acceptance, tasks['master/2.2']?.priority, tasks['garden/1']?.customFields['labels']],
    [[], 'high', ['garden']],
  );
  assert.deepEqual(leftOut, {
    'is not a list of tasks': '1 | note',
    'field relevantFiles is left out': '1 | taskmaster/master/3',
    'is not a task: it needs id and title': '1 | master, task 6',
  });
});

test('a test strategy that changes in the source changes its check, and no other', async () => {
  const file = join(folder, 'tasks.json');
  const write = (testStrategy: string) =>
    writeFileSync(file, JSON.stringify({ tasks: [{ id: 1, title: 'Weigh it', testStrategy }] }));
  const args = ['import', 'taskmaster', file, '--source', 'scale', '--yes', '--json'];
  const once = async () => JSON.parse((await run(args)).text) as Result;
  write('By hand.');
  const [made] = (await once()).items;
  const task = await baton.admin.tasks.get(made?.taskId ?? '');
  const check = { key: 'own', kind: 'human' as const, description: 'Ours.' };
  await baton.admin.tasks.update(
    task.id,
    { acceptance: [...task.acceptance, check] },
    { ifMatch: `"task-${task.version}"` },
  );
  write('By a scale.');
  assert.deepEqual(
    (await once()).items.map(({ action }) => action),
    ['change'],
  );
  const { acceptance } = await baton.admin.tasks.get(task.id);
  assert.deepEqual(
    acceptance.map(({ key, description }) => [key, description]),
    [
      ['own', 'Ours.'],
      ['test-strategy', 'By a scale.'],
    ],
  );
});

const csv = (file: string, ...more: string[]) =>
  importTwice(['csv', join(sources, `${file}.csv`), ...more], `${file}/`);

test('Jira: parents by either id, links in both directions, and unfinished closed issues are cancelled', async () => {
  const { statuses, offered, leftOut, tasks, relationsOf } = await csv('jira');
  assert.deepEqual(statuses, {
    ...{ 'GRD-1': 'todo', 'GRD-2': 'done', 'GRD-3': 'todo', 'GRD-4': 'cancelled', 'GRD-5': 'cancelled' },
    'GRD-7': 'todo',
  });
  assert.deepEqual(offered, ['GRD-1', 'GRD-7']);
  assert.deepEqual(await relationsOf('GRD-2'), ['parent GRD-1']);
  assert.deepEqual(await relationsOf('GRD-3'), [
    ...['depends_on GRD-1', 'depends_on GRD-2', 'parent GRD-1', 'related_to GRD-4'],
  ]);
  const plan = tasks['GRD-1'] as Task;
  assert.deepEqual(
    [plan.priority, plan.dueDate, plan.customFields['labels']],
    ['critical', '2026-12-24T00:00:00.000Z', ['a', 'b']],
  );
  assert.deepEqual(leftOut, {
    'has a different number of cells than the header, which has 19': '1 | line 7',
  });
});

test('both ids of a row can be mapped, by --map id=… twice', async () => {
  const file = join(folder, 'two-ids.csv');
  writeFileSync(file, 'Nr,Code,What,Above\n1,A-1,First,\n2,A-2,Second,A-1\n3,A-3,Third,1\n');
  const { relationsOf } = await importTwice(
    ['csv', file, '--map', 'id=Code', '--map', 'id=Nr', '--map', 'title=What,parent=Above'],
    'two-ids/',
  );
  assert.deepEqual(await relationsOf('A-2'), ['parent A-1']);
  assert.deepEqual(await relationsOf('A-3'), ['parent A-1']);
});

test('Asana: a completion date means done, links are by title, and an ambiguous title is reported', async () => {
  const { statuses, offered, leftOut, tasks, relationsOf } = await csv('asana');
  assert.deepEqual(
    [statuses['1201'], offered, tasks['1206']?.startDate],
    ['done', ['1203', '1204', '1205'], '2199-01-01T00:00:00.000Z'],
  );
  assert.deepEqual(await relationsOf('1202'), ['depends_on 1201', 'depends_on 1203']);
  assert.deepEqual(await relationsOf('1204'), ['parent 1203']);
  assert.deepEqual(await relationsOf('1206'), []);
  assert.deepEqual(leftOut, { 'relation refers to a name that several rows have': '1 | 1206 → Sweep' });
});

test('TickTick: lines above the header, numbers as status and priority, and notes', async () => {
  const { statuses, offered, leftOut, tasks, relationsOf } = await csv('ticktick');
  assert.deepEqual(statuses, {
    ...{ '71': 'todo', '72': 'todo', '73': 'done', '74': 'cancelled', '75': 'blocked' },
  });
  assert.deepEqual(offered, ['71', '72']);
  assert.deepEqual(
    [tasks['71']?.priority, tasks['72']?.priority, tasks['73']?.priority],
    ['high', 'low', 'medium'],
  );
  assert.deepEqual(tasks['71']?.customFields['labels'], ['hull', 'spring']);
  assert.deepEqual(await relationsOf('72'), ['parent 71']);
  assert.deepEqual(leftOut, {
    'has lines above its header, which are not rows': '1 | line 1',
    'is a note, not work: blocked, so it is not offered to agents': '1 | 75',
  });
});

test('ClickUp: null is empty, [a,b] is a list, 1 is urgent, and a parent has two ids', async () => {
  const { statuses, leftOut, tasks, relationsOf } = await csv('clickup');
  assert.deepEqual(statuses, { '86a1': 'todo', '86a2': 'done', '86a3': 'todo' });
  const one = tasks['86a1'] as Task;
  assert.deepEqual(
    [one.priority, one.dueDate, one.customFields['labels'], one.description],
    ['critical', '2026-12-24T00:00:00.000Z', ['field', 'winter'], 'Before winter.'],
  );
  assert.deepEqual(
    [tasks['86a2']?.priority, tasks['86a2']?.description, tasks['86a3']?.priority],
    ['low', '', 'medium'],
  );
  assert.deepEqual(await relationsOf('86a2'), ['parent 86a1']);
  assert.deepEqual(await relationsOf('86a3'), ['parent 86a1']);
  assert.deepEqual(leftOut, {
    'has several assignees: it is assigned to the first one; all are kept in its fields': '1 | 86a1',
    'assignee is unknown here: map names with --people': '2 | ann',
  });
});

test('Notion: relations by the titles of pages, a checkbox for done, and a range of dates', async () => {
  const { statuses, offered, tasks, relationsOf } = await csv('notion');
  assert.deepEqual(statuses, {
    ...{ 'Print the poster': 'todo', 'Draw it, then ink it': 'todo' },
    ...{ 'Choose paper': 'done', 'Sharpen pencils': 'todo' },
  });
  assert.deepEqual(offered, ['Draw it, then ink it', 'Sharpen pencils']);
  assert.deepEqual(await relationsOf('Print the poster'), [
    'depends_on Choose paper',
    'depends_on Draw it, then ink it',
  ]);
  assert.deepEqual(await relationsOf('Sharpen pencils'), ['parent Draw it, then ink it']);
  assert.deepEqual(
    [tasks['Choose paper']?.startDate, tasks['Choose paper']?.dueDate],
    ['2026-12-01T00:00:00.000Z', '2026-12-03T00:00:00.000Z'],
  );
});

test('rows without an id are identified by their title, even if several have the same', async () => {
  const file = join(folder, 'twins.csv');
  writeFileSync(file, 'Name,Notes,Blocked by\nSweep,hall,\nSweep,yard,\nLock up,,Sweep\nGo,,Sweep (2)\n');
  const { tasks, leftOut, relationsOf } = await importTwice(['csv', file], 'twins/');
  assert.deepEqual(Object.keys(tasks), ['Sweep', 'Sweep (2)', 'Lock up', 'Go']);
  assert.deepEqual([tasks['Sweep (2)']?.title, tasks['Sweep (2)']?.description], ['Sweep', 'yard']);
  assert.deepEqual(await relationsOf('Lock up'), []);
  assert.equal(leftOut['has no id and the same title as another row; imported as'], '1 | Sweep (2)');
  assert.equal(leftOut['relation refers to a name that several rows have'], '1 | Lock up → Sweep');
});

test("Redmine: # is the id, related issues contain their kind, and 100 % doesn't mean done", async () => {
  const { statuses, offered, relationsOf, tasks } = await csv('redmine');
  assert.deepEqual(statuses, { '41': 'todo', '42': 'todo', '43': 'cancelled' });
  assert.deepEqual(offered, ['41']);
  assert.equal(tasks['41']?.priority, 'critical');
  assert.deepEqual(await relationsOf('42'), ['depends_on 41', 'parent 41', 'related_to 43']);
  assert.deepEqual(await relationsOf('43'), ['parent 41']);
});

test('Linear: completion dates with statuses of any name, and relations by id', async () => {
  const { statuses, offered, leftOut, tasks, relationsOf } = await csv('linear');
  assert.deepEqual(statuses, { 'OAK-1': 'done', 'OAK-2': 'todo', 'OAK-3': 'cancelled', 'OAK-4': 'backlog' });
  assert.deepEqual(offered, ['OAK-2']);
  assert.equal(tasks['OAK-1']?.dueDate, '2026-12-24T10:00:00.000Z');
  assert.deepEqual(await relationsOf('OAK-2'), ['depends_on OAK-1', 'parent OAK-1']);
  assert.deepEqual(await relationsOf('OAK-3'), ['related_to OAK-2']);
  assert.deepEqual(await relationsOf('OAK-4'), ['depends_on OAK-2', 'parent OAK-2']);
  assert.deepEqual(leftOut, {
    'relation points to an item that is not in the source': '1 | linear/OAK-4 depends_on linear/OAK-9',
  });
});

test('Trello: cards that are complete are done, archived ones cancelled, labels have no colours', async () => {
  const { statuses, offered, tasks } = await csv('trello');
  assert.deepEqual(statuses, { '5f01': 'todo', '5f02': 'done', '5f03': 'cancelled' });
  assert.deepEqual(offered, ['5f01']);
  assert.deepEqual(tasks['5f01']?.customFields['labels'], ['camp', 'gear']);
});

test('GitHub by REST: an issue that another one blocks is blocked, even if the list does not contain that one', async () => {
  const { statuses, offered, leftOut, relationsOf } = await importTwice(
    ['github', join(sources, 'github-rest.json')],
    'lamp/post',
  );
  assert.deepEqual([statuses, offered], [{ '#1': 'blocked', '#2': 'todo' }, ['#2']]);
  assert.deepEqual(await relationsOf('#2'), ['parent #1']);
  assert.deepEqual(leftOut, {
    'is not a GitHub issue: it needs a number and a title': '1 | issue 3',
    'is blocked by an open issue that this list does not contain (blocked_by): blocked': '1 | lamp/post#1',
  });
});

test('GitHub by GraphQL: blockers, sub-issues, labels and comments', async () => {
  const { statuses, offered, leftOut, tasks, relationsOf } = await importTwice(
    ['github', join(sources, 'github-graphql.json')],
    'lamp/post',
  );
  assert.deepEqual(statuses, { '#10': 'todo', '#11': 'todo', '#13': 'blocked', '#14': 'cancelled' });
  assert.deepEqual(offered, ['#11']);
  assert.deepEqual(await relationsOf('#10'), ['depends_on #11']);
  assert.deepEqual(await relationsOf('#13'), ['parent #11']);
  assert.deepEqual(tasks['#10']?.customFields['labels'], ['electric']);
  assert.equal((await baton.admin.tasks.listComments(tasks['#10']?.id ?? '')).items.length, 1);
  assert.deepEqual(Object.keys(leftOut).sort(), [
    'assignee is unknown here: map names with --people',
    'has comments that this list does not contain: gh issue list --json comments prints them',
    'is blocked by an open issue that this list does not contain (blocked_by): blocked',
    'relation points to an item that is not in the source',
  ]);
});

test("a task that starts later is blocked if its type doesn't hold tasks until their start date", async () => {
  await baton.admin.taskTypes.create({
    key: 'hasty',
    displayName: 'Hasty',
    execution: { startDateHolds: false },
  });
  const { statuses, offered, leftOut } = await csv('asana', '--type', 'hasty');
  assert.equal(statuses['1206'], 'blocked');
  assert.ok(!offered.includes('1206'));
  assert.equal(
    leftOut['starts later, and the task type hasty does not hold tasks until their start date: blocked'],
    '1 | asana/1206: 2199-01-01T00:00:00.000Z',
  );
});

test("records that the service would reject don't prevent the import of the others", async () => {
  const file = join(folder, 'odd.csv');
  writeFileSync(
    file,
    `id,title,Parent,due\nodd-1,\u001b]0;owned\u0007First\u202e,${'p'.repeat(600)},99999-01-01\nodd-\0,Second,,\nodd-3,Third,odd-\0,\n`,
  );
  const said = await run(['import', 'csv', file, '--yes']);
  assert.equal(said.code, 0, said.text);
  assert.match(said.text, /^2 created and 0 changed/m);
  assert.match(said.text, /^! 1 × has an id with a NUL or half a character \(line 3\)$/m);
  for (const character of ['\0', '\u0007', '\u001b', '\u202e']) assert.ok(!said.text.includes(character));
});
