import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { etagOf, type Task } from '@baton/sdk';
import { program } from '../../../../e2e/testing/baton-process.ts';
import { type RunningBaton, startRunningBaton } from '../../../../e2e/testing/running-baton.ts';
import { runCommand } from '../testing/run-command.ts';

// Imports and exports, against a whole Baton.

let baton: RunningBaton;
let folder: string;

before(async () => {
  baton = await startRunningBaton();
  folder = mkdtempSync(join(tmpdir(), 'baton-import-'));
});
after(async () => {
  await baton?.stop();
  rmSync(folder, { recursive: true, force: true });
});

const environment = () => ({ HOME: folder, BATON_HOME: baton.home });
const start = (args: readonly string[]) => program('packages/cli/src/main.ts', args, environment());
const run = (args: readonly string[], input?: string) => runCommand(args, environment(), input);

async function done(args: readonly string[], input?: string): Promise<string> {
  const { code, text } = await run(args, input);
  assert.equal(code, 0, text);
  return text;
}

interface Issue {
  id: string;
  title: string;
  status: string;
  [name: string]: unknown;
}

function fileOf(name: string, issues: readonly object[]): string {
  const path = join(folder, name);
  writeFileSync(path, issues.map((issue) => `${JSON.stringify(issue)}\n`).join(''));
  return path;
}

/** Every task that an import has made of this source, by its name there. */
async function imported(prefix: string): Promise<Map<string, Task[]>> {
  const found: Task[] = [];
  for await (const task of baton.admin.tasks.list({ limit: 200 }))
    if (task.origin.ref?.startsWith(prefix)) found.push(task);
  return Map.groupBy(found, ({ origin }) => origin.ref?.slice(prefix.length) as string);
}

/** The one task of each name. */
async function tasksOf(prefix: string): Promise<Record<string, Task>> {
  const all = [...(await imported(prefix))];
  assert.deepEqual(
    all.filter(([, tasks]) => tasks.length !== 1),
    [],
  );
  return Object.fromEntries(all.map(([id, [task]]) => [id, task as Task]));
}

const relationsOf = async ({ id }: Task) =>
  (await baton.admin.tasks.listRelations(id)).items.filter(({ fromTaskId }) => fromTaskId === id);

test('a backlog of beads becomes tasks; again, nothing changes; what changed there is changed here, and nothing else', async () => {
  const issues: Issue[] = [
    { id: 'x-1', title: 'Plan it', status: 'closed', priority: 0, issue_type: 'epic', assignee: 'ann' },
    {
      id: 'x-2',
      title: 'Build it',
      status: 'in_progress',
      priority: 1,
      description: 'In stone.',
      labels: ['gpu'],
      dependencies: [{ on: 'x-1', type: 'parent-child' }],
      comments: [{ text: 'Half is done.', author: 'ann', created_at: '2026-02-03T00:00:00Z' }],
    },
    { id: 'x-3', title: 'Sell it', status: 'open', dependencies: [{ on: 'x-2', type: 'blocks' }] },
    { id: 'x-4', title: 'Forget it', status: 'tombstone' },
  ];
  const file = fileOf('x.jsonl', issues);
  const asked = await run(['import', 'beads', file]);
  assert.equal(asked.code, 2);
  assert.match(asked.text, /^\+ create {2}x-1 {2}Plan it {2}\(done\)$/m);
  assert.match(asked.text, /^! 1 × assignee is nobody here: map names by --people \(ann\)$/m);
  assert.match(asked.text, /^4 to create, 0 to change, 0 unchanged; 2 relations and 1 comments to write\.$/m);
  assert.match(asked.text, /Nothing was changed: say --yes/);
  assert.equal((await imported('beads/issue/')).size, 0);

  assert.match(await done(['import', 'beads', file, '--yes']), /^4 created and 0 changed in [\d.]+ s\.$/m);
  const made = await tasksOf('beads/issue/');
  assert.deepEqual(
    Object.entries(made)
      .map(([id, { status, priority }]) => [id, status, priority])
      .sort(),
    [
      ['x-1', 'done', 'critical'],
      ['x-2', 'todo', 'high'],
      ['x-3', 'todo', 'medium'],
      ['x-4', 'cancelled', 'medium'],
    ],
  );
  const [two, three] = [made['x-2'] as Task, made['x-3'] as Task];
  assert.equal(two.description, 'In stone.');
  assert.deepEqual(two.customFields['labels'], ['gpu']);
  assert.deepEqual(
    (await baton.admin.tasks.listComments(two.id)).items.map(({ body }) => body),
    ['ann, 2026-02-03:\n\nHalf is done.'],
  );
  assert.deepEqual(
    (await relationsOf(two)).map(({ type, toTaskId }) => [type, toTaskId]),
    [['parent', made['x-1']?.id]],
  );
  assert.equal((await baton.admin.tasks.getClaimability(three.id)).claimable, false);

  // Somebody here writes to a task that stays as it was there.
  await baton.admin.tasks.update(
    two.id,
    { priority: 'low' },
    { ifMatch: etagOf(await baton.admin.tasks.get(two.id)) },
  );
  const lastEvent = async () => (await baton.admin.events.list({ tail: 1 })).items[0]?.id;
  const before = await lastEvent();
  assert.match(
    await done(['import', 'beads', file, '--yes']),
    /^0 to create, 0 to change, 4 unchanged; 0 relations/m,
  );
  assert.equal(await lastEvent(), before);

  const later = issues.map((issue) => ({ ...issue }));
  Object.assign(later[1] as Issue, {
    title: 'Build it well',
    comments: [
      ...(issues[1]?.['comments'] as object[]),
      { text: 'All is done.', author: 'bob', created_at: '2026-03-04T00:00:00Z' },
    ],
  });
  Object.assign(later[2] as Issue, { status: 'closed', dependencies: [] });
  Object.assign(later[0] as Issue, { status: 'open' });
  fileOf('x.jsonl', later);
  const changed = await done(['import', 'beads', file, '--yes']);
  assert.match(changed, /^~ change {2}x-2 {2}Build it well {2}\(title, comments\)$/m);
  assert.match(
    changed,
    /^! 1 × is open again in the source, and ended here: a task that ended stays so \(x-1\)$/m,
  );
  assert.match(changed, /^0 created and 3 changed in/m);
  const after2 = await baton.admin.tasks.get(two.id);
  assert.deepEqual([after2.title, after2.priority], ['Build it well', 'low']);
  assert.equal((await baton.admin.tasks.listComments(two.id)).items.length, 2);
  assert.equal((await baton.admin.tasks.get(three.id)).status, 'done');
  assert.deepEqual(await relationsOf(three), []);
  assert.match(await done(['import', 'beads', file, '--yes']), /^0 to create, 0 to change, 4 unchanged/m);
});

test('a task that somebody works on is left for the next import, and said', async () => {
  const file = fileOf('held.jsonl', [{ id: 'h-1', title: 'Held', status: 'open' }]);
  await done(['import', 'beads', file, '--yes']);
  const { 'h-1': task } = await tasksOf('beads/issue/');
  const session = await baton.admin.sessions.open({ clientName: 'test' });
  const claim = await baton.admin.tasks.claim(task?.id as string, { sessionId: session.id });
  fileOf('held.jsonl', [{ id: 'h-1', title: 'Changed', status: 'open' }]);
  const { code, text } = await run(['import', 'beads', file, '--yes']);
  assert.equal(code, 1);
  assert.match(text, /^✘ h-1: Somebody works on it now: the next import changes it\.$/m);
  await baton.admin.claims.release(claim.id, {});
  await done(['import', 'beads', file, '--yes']);
  assert.equal((await baton.admin.tasks.get(task?.id as string)).title, 'Changed');
  await baton.admin.sessions.close(session.id);
});

const many = (prefix: string, count: number) =>
  Array.from({ length: count }, (_, at) => ({
    id: `${prefix}-${at}`,
    title: `Do ${at}`,
    status: at % 3 === 0 ? 'closed' : 'open',
    dependencies: at % 2 === 0 || at === 0 ? [] : [{ on: `${prefix}-${at - 1}`, type: 'blocks' }],
    comments: at % 10 === 0 ? [{ text: `Said of ${at}.` }] : [],
  }));

test('an import that is killed half-way is taken up by the next one: every task, relation and comment once', async () => {
  const file = fileOf('killed.jsonl', many('k', 60));
  for (const made of [4, 40]) {
    const running = start(['import', 'beads', file, '--yes']);
    const prefix = 'beads/issue/k-';
    while ((await imported(prefix)).size < made) if (running.child.exitCode !== null) break;
    running.child.kill('SIGKILL');
    await running.ended;
  }
  await done(['import', 'beads', file, '--yes']);
  const made = await tasksOf('beads/issue/k-');
  assert.equal(Object.keys(made).length, 60);
  for (const [at, task] of Object.entries(made)) {
    const number = Number(at);
    assert.equal(task.status, number % 3 === 0 ? 'done' : 'todo', at);
    const comments = (await baton.admin.tasks.listComments(task.id)).items;
    assert.equal(comments.length, number % 10 === 0 ? 1 : 0, at);
    assert.equal((await relationsOf(task)).length, number % 2, at);
  }
  assert.match(await done(['import', 'beads', file, '--yes']), /^0 to create, 0 to change, 60 unchanged/m);
});

test('two imports of the same at the same time make everything once', async () => {
  const file = fileOf('twice.jsonl', many('t', 30));
  const both = [start(['import', 'beads', file, '--yes']), start(['import', 'beads', file, '--yes'])];
  await Promise.all(both.map(({ ended }) => ended));
  await done(['import', 'beads', file, '--yes']);
  const made = await tasksOf('beads/issue/t-');
  assert.equal(Object.keys(made).length, 30);
  for (const [at, task] of Object.entries(made))
    assert.equal(
      (await baton.admin.tasks.listComments(task.id)).items.length,
      Number(at) % 10 === 0 ? 1 : 0,
      at,
    );
});

test('issues of GitHub come from standard input, with people by a file, into a workspace', async () => {
  const person = await baton.participant(['tasks.read'], 'human');
  const { id: workspace } = await baton.admin.workspaces.create({ slug: 'web', name: 'Web' });
  const people = join(folder, 'people.yaml');
  writeFileSync(people, `ann: ${person.principalId}\nbob: me\n`);
  const issues = JSON.stringify([
    {
      number: 1,
      title: 'One',
      state: 'OPEN',
      url: 'https://github.com/o/r/issues/1',
      assignees: [{ login: 'ann' }],
    },
    {
      number: 2,
      title: 'Two',
      state: 'OPEN',
      url: 'https://github.com/o/r/issues/2',
      assignees: [{ login: 'bob' }],
    },
  ]);
  const args = ['import', 'github', '-', '--people', people, '--workspace', workspace, '--yes', '--json'];
  const result = JSON.parse(await done(args, issues)) as { created: number; items: { taskId: string }[] };
  assert.equal(result.created, 2);
  const [one] = result.items;
  const task = await baton.admin.tasks.get(one?.taskId as string);
  assert.deepEqual([task.assigneeId, task.workspaceId], [person.principalId, workspace]);
  assert.equal((await run(['import', 'github', '-', '--yes'], '[')).code, 1);
  const nowhere = await run(['import', 'github', '-', '--type', 'none', '--yes'], issues);
  assert.deepEqual(
    [nowhere.code, /There is no task type none here; there are: .*task/.test(nowhere.text)],
    [2, true],
  );
  const badWord = await run(['import', 'github', '-', '--status', 'QA=maybe'], issues);
  assert.deepEqual([badWord.code, /--status takes WORD=STATUS/.test(badWord.text)], [2, true]);
});

test('an export holds all that the API lists; another tenant gets its tasks from it, once', async () => {
  const { id: workspaceId } = await baton.admin.workspaces.create({ slug: 'moved', name: 'Moved' });
  const first = await baton.admin.tasks.create({
    title: 'First to move',
    description: 'With all.',
    priority: 'high',
    workspaceId,
    customFields: { labels: ['a'], deep: { n: [1, { m: null }] } },
    dueDate: '2026-12-24T12:00:00Z',
  });
  const second = await baton.admin.tasks.create({ title: 'Second to move' });
  await baton.admin.tasks.createRelation(second.id, { type: 'depends_on', toTask: first.id });
  await baton.admin.tasks.createComment(first.id, { body: 'Said before.' });
  const file = join(folder, 'export.jsonl');
  assert.match(
    await done(['export', '--file', file]),
    /^\d+ exported: .*\d+ principal.* 2 workspace.*\d+ task\.$/m,
  );
  const again = await run(['export', '--file', file]);
  assert.deepEqual([again.code, /is there already/.test(again.text)], [1, true]);
  const text = readFileSync(file, 'utf8');
  const kinds = new Set(
    text
      .trim()
      .split('\n')
      .map((line) => (JSON.parse(line) as { kind: string }).kind),
  );
  for (const kind of ['export', 'principal', 'workspace', 'task-type', 'task', 'claim', 'end'])
    assert.ok(kinds.has(kind), kind);
  assert.doesNotMatch(text, new RegExp(baton.connection.adminToken));
  const own = await run(['import', 'baton', file, '--yes']);
  assert.deepEqual([own.code, /is of the tenant that you are signed in to/.test(own.text)], [1, true]);

  // As another tenant sees it: this one knows none of the names in the file.
  const elsewhere = join(folder, 'elsewhere.jsonl');
  writeFileSync(
    elsewhere,
    text.replaceAll(baton.connection.tenantId, '0190b2c4-0000-4000-8000-000000000001'),
  );
  const before = (await imported('')).size;
  const told = await done(['import', 'baton', elsewhere, '--yes']);
  assert.match(told, /^! \d+ × is a principal, which an import does not make/m);
  const moved = await tasksOf('baton/task/');
  const [one, two] = [moved[first.id] as Task, moved[second.id] as Task];
  const shape = ({ title, description, priority, workspaceId: place, customFields, dueDate }: Task) => ({
    title,
    description,
    priority,
    place,
    customFields,
    dueDate,
  });
  assert.deepEqual(shape(one), shape(await baton.admin.tasks.get(first.id)));
  assert.deepEqual(
    (await relationsOf(two)).map(({ type, toTaskId }) => [type, toTaskId]),
    [['depends_on', one.id]],
  );
  const [comment] = (await baton.admin.tasks.listComments(one.id)).items;
  assert.match(comment?.body ?? '', /^Administrator, \d{4}-\d\d-\d\d:\n\nSaid before\.$/);
  assert.ok((await imported('')).size > before);
  assert.match(
    await done(['import', 'baton', elsewhere, '--yes']),
    /^0 to create, 0 to change, \d+ unchanged/m,
  );
});
