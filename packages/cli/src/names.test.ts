import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import type { Principal, Task } from '@baton/sdk';
import { type RunningBaton, sharedBaton } from '@baton/testing/running-baton';
import { runCommand } from './testing/run-command.ts';

// Names and e-mail addresses in place of ids, against a whole Baton.

let baton: RunningBaton;
let folder: string;
/** Names that no other test has. */
const family = `Family${process.pid}`;
const people = new Map<string, Principal>();

before(async () => {
  baton = await sharedBaton();
  folder = mkdtempSync(join(tmpdir(), 'baton-names-'));
  for (const name of ['Maria', 'Marianne', 'Otto', 'Otto']) {
    const made = await baton.admin.principals.create({ kind: 'human', displayName: `${name} ${family}` });
    people.set(name, made);
  }
  const otto = people.get('Otto') as Principal;
  const profile = { email: `otto@${family}.example`.toLowerCase() };
  people.set(
    'Otto',
    await baton.admin.principals.update(otto.id, { profile }, { ifMatch: `"principal-${otto.version}"` }),
  );
});
after(async () => {
  rmSync(folder, { recursive: true, force: true });
  await baton?.stop();
});

const run = (...args: string[]) => runCommand(args, { HOME: folder, BATON_HOME: baton.home });
async function json<Value>(...args: string[]): Promise<Value> {
  const { code, text } = await run(...args, '--json');
  assert.equal(code, 0, text);
  return JSON.parse(text) as Value;
}
const idOf = (name: string) => people.get(name)?.id;

test('an assignee can be given by name or e-mail address, in any case', async () => {
  const email = `OTTO@${family}.example`;
  for (const [name, whose] of [
    [`maria ${family}`, idOf('Maria')],
    [email, idOf('Otto')],
    [idOf('Marianne') ?? '', idOf('Marianne')],
  ] as const) {
    const { publicId, assigneeId } = await json<Task>('task', 'create', `For ${name}`, '--assignee', name);
    assert.equal(assigneeId, whose, name);
    const { items } = await json<{ items: Task[] }>('task', 'list', '--assignee', name);
    assert.ok(
      items.some((one) => one.publicId === publicId),
      name,
    );
  }
  const { id } = await json<Task>('task', 'create', 'For nobody yet');
  assert.equal((await json<Task>('task', 'edit', id, '--assignee', email)).assigneeId, idOf('Otto'));
  assert.equal((await json<Task>('task', 'edit', id, '--assignee', 'none')).assigneeId, null);
  assert.match((await run('task', 'view', id)).text, /^assignee +none$/m);
  assert.equal((await json<Task>('task', 'create', 'For nobody', '--assignee', 'none')).assigneeId, null);
});

test('several matches are listed, and nothing is changed', async () => {
  const title = `Never made ${family}`;
  const several = await run('task', 'create', title, '--assignee', `Otto ${family}`);
  assert.equal(several.code, 1);
  assert.match(several.text, /matches several; give the id of the principal\./);
  assert.match(
    several.text,
    new RegExp(`^ {2}${idOf('Otto')}  Otto ${family}, otto@\\S+ \\(human, active\\)$`, 'm'),
  );
  const none = await run('task', 'create', title, '--assignee', 'Nobody At All');
  assert.deepEqual([none.code, none.text], [1, 'There is no principal Nobody At All.\n']);
  const { items } = await json<{ items: Task[] }>('task', 'list', '--q', title);
  assert.deepEqual(items, []);
});

test("a principal whose name is part of another one's never gets the other one's tasks", async () => {
  const first = `Zoe${process.pid}`;
  const make = (kind: 'human' | 'agent', displayName: string) =>
    baton.admin.principals.create({ kind, displayName });
  const meant = await make('human', `${first} ${family}`);
  assert.equal((await json<Principal>('principal', 'view', first)).id, meant.id);
  const other = await make('agent', first);
  const refused = await run('task', 'create', 'For Zoe', '--assignee', first);
  assert.equal(refused.code, 1, refused.text);
  for (const { id } of [meant, other]) assert.match(refused.text, new RegExp(`^ {2}${id} `, 'm'));
  assert.equal((await json<Principal>('principal', 'view', `${first} ${family}`)).id, meant.id);
});

test('a principal is shown, disabled and enabled by name; a disabled one is listed, and its remaining access is reported', async () => {
  const name = `Marianne ${family}`;
  assert.equal((await json<Principal>('principal', 'view', name)).id, idOf('Marianne'));
  const disabled = await run('principal', 'disable', name, '--reason', 'left');
  assert.match(disabled.text, new RegExp(`^${name} is disabled`));
  assert.match(disabled.text, /until they expire, at most 300 s/);
  const listed = await run('principal', 'list', '--q', family);
  assert.match(listed.text, new RegExp(`^${idOf('Marianne')} +human +disabled +${name}$`, 'm'));
  assert.match(
    (await run('principal', 'enable', name)).text,
    new RegExp(`^${name} is enabled\\. Its links to identity`, 'm'),
  );
});

test('disabled principals of a demo are listed only with --all', async () => {
  const demo = `Demo${process.pid}`;
  const make = (name: string, metadata: Record<string, string>) =>
    baton.admin.principals.create({ kind: 'agent', displayName: `${name} ${demo}`, metadata });
  const removed = await make('Removed', { demo: 'demo-1' });
  for (const { id } of [removed, await make('Left', {})]) await baton.admin.principals.disable(id, {});
  await make('Working', { demo: 'demo-2' });
  const namesIn = async (...more: string[]) => {
    const { items } = await json<{ items: Principal[] }>('principal', 'list', '--q', demo, ...more);
    return items.map(({ displayName }) => displayName.split(' ')[0]).sort();
  };
  assert.deepEqual(await namesIn(), ['Left', 'Working']);
  assert.deepEqual(await namesIn('--all'), ['Left', 'Removed', 'Working']);
});

test('workspaces, projects, goals, rules, roles and task types can be given by their slugs, titles and keys', async () => {
  const slug = family.toLowerCase();
  const { id: workspaceId } = await json<{ id: string }>(
    'workspace',
    'create',
    slug,
    `Workspace of ${family}`,
  );
  const { admin } = baton;
  const role = await admin.roles.create({ slug, name: `Role of ${family}` });
  const goal = await admin.goals.create({ title: `Goal of ${family}`, desiredState: 'reached' });
  for (const [noun, name, id] of [
    ['workspace', slug, workspaceId],
    ['workspace', `workspace of ${family}`, workspaceId],
    ['role', slug, role.id],
    ['goal', `Goal of ${family}`, goal.id],
  ] as const)
    assert.equal((await json<{ id: string }>(noun, 'view', name)).id, id, noun);
  assert.equal((await json<{ key: string }>('task-type', 'view', 'task')).key, 'task');
  const made = await json<Task>('task', 'create', 'Of a workspace', '--workspace', slug);
  assert.equal(made.workspaceId, workspaceId);
  const { items } = await json<{ items: Task[] }>('task', 'list', '--workspace', `Workspace of ${family}`);
  assert.deepEqual(
    items.map(({ id }) => id),
    [made.id],
  );
  const lines = join(folder, 'issues.jsonl');
  writeFileSync(
    lines,
    `${JSON.stringify({ id: `${slug}-1`, title: 'Imported', status: 'open', priority: 2, issue_type: 'task' })}\n`,
  );
  const imported = await run('import', 'beads', lines, '--workspace', slug, '--yes');
  assert.equal(imported.code, 0, imported.text);
  const all = await json<{ items: Task[] }>('task', 'list', '--workspace', slug);
  assert.ok(all.items.some(({ title }) => title === 'Imported'));
  const below = await json<{ parentId: string }>(
    'workspace',
    'create',
    `${slug}-below`,
    'Below',
    '--parent',
    slug,
  );
  assert.equal(below.parentId, workspaceId);
  for (const noun of ['workspace', 'project', 'role', 'goal', 'rule', 'task-type'])
    assert.match((await run(noun, 'view', 'nothing-of-the-kind')).text, /^There is no /, noun);
});

test('TASK-42 works as the id of a task', async () => {
  const { id, publicId } = await json<Task>('task', 'create', 'With a lease');
  await baton.admin.sessions
    .open({ clientName: 'test' })
    .then(({ id: sessionId }) => baton.admin.tasks.claim(id, { sessionId }));
  const { items } = await json<{ items: { taskId: string }[] }>('claim', 'list', '--task-id', publicId);
  assert.deepEqual(
    items.map(({ taskId }) => taskId),
    [id],
  );
});
