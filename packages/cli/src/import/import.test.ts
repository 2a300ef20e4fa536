import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import {
  type BatonClient,
  createClient,
  etagOf,
  fetchTransport,
  type Task,
  type WireRequest,
} from '@baton/sdk';
import { program } from '@baton/testing/baton-process';
import { byDepth } from '@baton/testing/depth';
import { type RunningBaton, startRunningBaton } from '@baton/testing/running-baton';
import { interceptBaton, refusal } from '../apply/testing/intercepted-baton.ts';
import { Attempt, openAttempt } from '../attempt-keys.ts';
import { readConfig } from '../config.ts';
import { runCommand } from '../testing/run-command.ts';
import { findHold, holdCapability } from './hold-tasks.ts';
import { planImport, runImport } from './run-import.ts';
import { LeftOut, type Link, type Source, type SourceItem } from './source.ts';
import { findTargets, type TargetOptions } from './targets.ts';

// Imports and exports, against a whole Baton.

let baton: RunningBaton;
let folder: string;

before(async () => {
  // A separate Baton, because the remains of other imports, such as the capability that holds tasks back, would affect
  // these tests.
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

/** Every imported task of this source, by its name in the source. */
async function imported(prefix: string): Promise<Map<string, Task[]>> {
  const found: Task[] = [];
  for await (const task of baton.admin.tasks.list({ limit: 200 }))
    if (task.origin.ref?.startsWith(prefix)) found.push(task);
  return Map.groupBy(found, ({ origin }) => origin.ref?.slice(prefix.length) as string);
}

/** The one task with each name. */
async function tasksOf(prefix: string): Promise<Record<string, Task>> {
  const all = [...(await imported(prefix))];
  assert.deepEqual(
    all.filter(([, tasks]) => tasks.length !== 1),
    [],
  );
  return Object.fromEntries(all.map(([id, [task]]) => [id, task as Task]));
}

/** The tasks of an imported source that are available to others, in all workspaces or in one. */
async function offered(workspaceId: string | undefined, prefix: string): Promise<string[]> {
  const found: string[] = [];
  const within = workspaceId === undefined ? {} : { workspaceId };
  for await (const { origin } of baton.admin.work.listAvailable({ ...within, limit: 200 }))
    if (origin.ref?.startsWith(prefix)) found.push(origin.ref.slice(prefix.length));
  return found.sort();
}

/** A source as read from a file: ids, and the other fields of each item. */
function sourceOf(type: string, items: Readonly<Record<string, Partial<SourceItem>>>): Source {
  const rest = {
    description: '',
    status: 'open',
    priority: 'medium',
    customFields: {},
    links: [],
    comments: [],
  };
  const of = ([id, item]: [string, Partial<SourceItem>]) =>
    ({ ...rest, id, place: id, title: id, ...item }) as SourceItem;
  return { system: 'test', type, items: Object.entries(items).map(of), leftOut: new LeftOut() };
}

const waitsFor = (...ids: string[]): { links: Link[] } => ({
  links: ids.map((to) => ({ to, type: 'depends_on' })),
});

/** Imports within this process. @param client sends the requests */
async function importAs(client: BatonClient, source: Source, options: Partial<TargetOptions> = {}) {
  return (await plannedImport(client, source, options))();
}

/** Plans an import; the returned function carries it out. */
async function plannedImport(client: BatonClient, source: Source, options: Partial<TargetOptions> = {}) {
  const output = { line: () => undefined, progress: () => undefined, isTerminal: false, columns: 80 };
  const access = {
    ...baton.connection,
    token: '',
    credential: { token: '' },
    adminSecret: undefined,
    source: '',
  };
  const attempt = await openAttempt(client, access, readConfig({ HOME: folder }), {
    command: 'import',
    content: [source.system, source.type, ...source.items],
  });
  const targets = await findTargets(client, source, { people: new Map(), ...options });
  const plan = await planImport(client, source, targets, output);
  return () => runImport(client, plan, targets, output, attempt);
}

/** The administrator, whose requests go through a function. */
function watched(transport: (request: WireRequest) => Promise<Response>): BatonClient {
  const credential = { token: baton.connection.adminToken };
  return createClient({ url: baton.url, credential, transport });
}

const relationsOf = async ({ id }: Task) =>
  (await baton.admin.tasks.listRelations(id)).items.filter(({ fromTaskId }) => fromTaskId === id);

test('an administrator, whose only permission is admin, may create the capability that holds tasks back', async () => {
  const { baton: one } = await baton.participant(['admin'], 'human', ['control-plane:admin']);
  assert.deepEqual((await one.harness.getContext()).permissions, ['admin']);
  assert.equal(await findHold(one), 'to make');
});

test('a caller who may not create the capability to hold tasks back is notified before and after the import', async () => {
  const { baton: writer } = await baton.participant(
    ['tasks.read', 'tasks.write', 'task_types.read'],
    'human',
  );
  const items = { a: {}, b: waitsFor('a'), c: { status: 'done' } } as const;
  const { leftOut, failed } = await importAs(writer, sourceOf('unheld', items));
  assert.deepEqual(
    leftOut.items.map(({ reason, count }) => [
      /^can't be held back .* org\.manage .* import-finished once$/.test(reason),
      count,
    ]),
    [[true, 2]],
  );
  assert.equal(failed.size, 0);
  const { baton: reader } = await baton.participant(['tasks.read', 'task_types.read', 'org.read'], 'human');
  const source = sourceOf('unheld-too', items);
  const targets = await findTargets(reader, source, { people: new Map() });
  const output = { line: () => undefined, progress: () => undefined, isTerminal: false, columns: 80 };
  assert.equal((await planImport(reader, source, targets, output)).hold, 'impossible');
  assert.deepEqual(
    source.leftOut.items.map(({ count }) => count),
    [2],
  );
});

test("a backlog of beads becomes tasks; a second import changes nothing; a later one writes only the source's changes", async () => {
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
  assert.match(asked.text, /^! 1 × assignee is unknown here: map names with --people \(ann\)$/m);
  assert.match(asked.text, /^4 to create, 0 to change, 0 unchanged; 2 relations and 1 comment to write\.$/m);
  assert.match(asked.text, /Nothing was changed: pass --yes/);
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

  // Somebody changes a task that is unchanged in the source.
  await baton.admin.tasks.update(
    two.id,
    { priority: 'low' },
    { ifMatch: etagOf(await baton.admin.tasks.get(two.id)) },
  );
  const state = async () => [
    await tasksOf('beads/issue/'),
    await baton.admin.tasks.listComments(two.id),
    await relationsOf(two),
  ];
  const known = await state();
  assert.match(
    await done(['import', 'beads', file, '--yes']),
    /^0 to create, 0 to change, 4 unchanged; 0 relations/m,
  );
  assert.deepEqual(await state(), known);

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
    /^! 1 × is open again in the source, but ended here: an ended task is not reopened \(x-1\)$/m,
  );
  assert.match(changed, /^0 created and 3 changed in/m);
  const after2 = await baton.admin.tasks.get(two.id);
  assert.deepEqual([after2.title, after2.priority], ['Build it well', 'low']);
  assert.equal((await baton.admin.tasks.listComments(two.id)).items.length, 2);
  assert.equal((await baton.admin.tasks.get(three.id)).status, 'done');
  assert.deepEqual(await relationsOf(three), []);
  assert.match(await done(['import', 'beads', file, '--yes']), /^0 to create, 0 to change, 4 unchanged/m);
});

test('a task that somebody works on is left for the next import, and reported', async () => {
  const file = fileOf('held.jsonl', [{ id: 'h-1', title: 'Held', status: 'open' }]);
  await done(['import', 'beads', file, '--yes']);
  const { 'h-1': task } = await tasksOf('beads/issue/');
  const session = await baton.admin.sessions.open({ clientName: 'test' });
  const claim = await baton.admin.tasks.claim(task?.id as string, { sessionId: session.id });
  fileOf('held.jsonl', [{ id: 'h-1', title: 'Changed', status: 'open' }]);
  const { code, text } = await run(['import', 'beads', file, '--yes']);
  assert.equal(code, 1);
  assert.match(text, /^✘ h-1: It is being worked on: the next import changes it\.$/m);
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
    comments: at % 10 === 0 ? [{ text: `About ${at}.` }] : [],
  }));

test('a killed import is continued by the next one: every task, relation and comment once', async () => {
  const file = fileOf('killed.jsonl', many('k', 60));
  for (const made of [4, 40]) {
    const running = start(['import', 'beads', file, '--yes']);
    const prefix = 'beads/issue/k-';
    while ((await imported(prefix)).size < made) if (running.child.exitCode !== null) break;
    running.child.kill('SIGKILL');
    await running.ended;
    // Closed issues, and issues that depend on open ones, are not offered.
    const early = (await offered(undefined, prefix)).filter((at) => {
      const waits = Number(at) % 2 === 1 && (Number(at) - 1) % 3 !== 0;
      return Number(at) % 3 === 0 || waits;
    });
    assert.deepEqual(early, []);
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

test('two concurrent imports of one source create each object once', async () => {
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

test("nobody else can use an import's idempotency keys first: neither by the old derivation, nor with all data but the file", async () => {
  const stranger = await baton.participant(['tasks.read', 'tasks.write']);
  const useUp = (idempotencyKey: string) => stranger.baton.tasks.create({ title: 'x' }, { idempotencyKey });
  const old = JSON.stringify(['beads', 'issue', 'f-0', 'task']);
  await useUp(`import-${createHash('sha256').update(old).digest('hex').slice(0, 48)}`);
  const issues = many('f', 1);
  const guess = new Attempt(readConfig({ HOME: join(folder, 'stranger') }), {
    command: 'import',
    server: baton.url,
    principalId: (await baton.admin.harness.getContext()).principal.id,
    content: issues,
  });
  // Simulates attackers who even know the request, and use its guessed key first.
  const between = await interceptBaton(baton.url, async ({ method, path, body, forward }) => {
    if (method === 'POST' && path === '/api/v1/tasks') await useUp(guess.keyOf('task', JSON.parse(body)));
    return forward();
  });
  try {
    const env = { HOME: folder, BATON_URL: between.url, BATON_TOKEN: baton.connection.adminToken };
    const { code, text } = await runCommand(
      ['import', 'beads', fileOf('foreseen.jsonl', issues), '--yes'],
      env,
    );
    assert.equal(code, 0, text);
    assert.deepEqual(Object.keys(await tasksOf('beads/issue/f-')), ['0']);
  } finally {
    between.close();
  }
});

test('a task that the service creates only after the import was killed is created once by the next import', async () => {
  const HOME = join(folder, 'late');
  mkdirSync(HOME);
  const sent: (string | undefined)[] = [];
  const arrived = Promise.withResolvers<void>();
  let late: (() => Promise<Response>) | undefined;
  const between = await interceptBaton(baton.url, async ({ method, path, key, forward }) => {
    if (method !== 'POST' || path !== '/api/v1/tasks') return forward();
    sent.push(key);
    if (late === undefined) {
      late = forward;
      arrived.resolve();
      return new Promise<undefined>(() => undefined);
    }
    assert.equal((await late()).ok, true);
    return forward();
  });
  try {
    const env = { HOME, BATON_URL: between.url, BATON_TOKEN: baton.connection.adminToken };
    const args = ['import', 'beads', fileOf('late.jsonl', many('late', 1)), '--yes'];
    const running = program('packages/cli/src/main.ts', args, env);
    await Promise.race([arrived.promise, running.ended.then(() => assert.fail(running.output()))]);
    running.child.kill('SIGKILL');
    await running.ended;
    const attempts = join(HOME, '.config', 'baton', 'attempts');
    assert.equal(readdirSync(attempts).length, 1);
    const { code, text } = await runCommand(args, env);
    assert.equal(code, 0, text);
    assert.deepEqual([sent.length, new Set(sent).size], [2, 1]);
    assert.deepEqual(readdirSync(attempts), []);
    assert.deepEqual(Object.keys(await tasksOf('beads/issue/late-')), ['0']);
  } finally {
    between.close();
  }
});

test('a rejected idempotency key is reported as such, and the next import uses new ones', async () => {
  const source = () => sourceOf('refused', { a: {} });
  const sent: (string | undefined)[] = [];
  const client = watched((request) => {
    const isCreation = request.method === 'POST' && request.url.endsWith('/api/v1/tasks');
    if (isCreation) sent.push(request.headers['idempotency-key']);
    return isCreation && sent.length === 1
      ? Promise.resolve(refusal(409, 'idempotency_key_reused'))
      : (fetchTransport(request) as Promise<Response>);
  });
  const { failed } = await importAs(client, source());
  assert.match(failed.get('a') ?? '', /another request under the idempotency key .* discarded: run it again/);
  assert.deepEqual([...(await importAs(client, source())).failed], []);
  assert.equal(sent.length, 2);
  assert.notEqual(sent[0], sent[1]);
});

describe('two people who import the same source at the same time', () => {
  const items = {
    a: {},
    b: waitsFor('a'),
    c: { status: 'done', comments: [{ body: 'It works.' }] },
    d: { comments: [{ body: 'Said.' }] },
    e: { links: [{ to: 'd', type: 'blocks' as const }] },
    f: waitsFor('e', 'c'),
    g: { status: 'done' },
  } satisfies Record<string, Partial<SourceItem>>;
  const another = async () =>
    (await baton.participant(['tasks.read', 'tasks.write', 'task_types.read', 'org.read'], 'human')).baton;

  /** Every item has one valid task, with its comments and relations once; the others are cancelled. */
  async function assertOnce(type: string): Promise<void> {
    const all = await imported(`test/${type}/`);
    const counting = new Map(
      [...all].map(([id, tasks]) => [
        id,
        tasks.filter(({ systemStatusCategory }) => systemStatusCategory !== 'terminal_cancelled'),
      ]),
    );
    assert.deepEqual(
      [...counting].map(([id, tasks]) => [id, tasks.length]).sort(),
      Object.keys(items).map((id) => [id, 1]),
    );
    const of = (id: string) => counting.get(id)?.[0] as Task;
    for (const [id, { links, comments }] of Object.entries<Partial<SourceItem>>(items)) {
      assert.equal((await baton.admin.tasks.listComments(of(id).id)).items.length, comments?.length ?? 0, id);
      assert.deepEqual(
        (await relationsOf(of(id))).map(({ toTaskId }) => toTaskId).sort(),
        (links ?? []).map(({ to }) => of(to).id).sort(),
        id,
      );
      assert.deepEqual((await baton.admin.tasks.getRequirements(of(id).id)).capabilities, [], id);
    }
  }

  test('the later one is notified, cancels its own tasks, and uses those of the other', async () => {
    const type = 'both-in-turn';
    const first = await plannedImport(baton.admin, sourceOf(type, items));
    const second = await plannedImport(await another(), sourceOf(type, items));
    assert.deepEqual([...(await first()).failed], []);
    const { failed, created } = await second();
    assert.deepEqual([[...failed.keys()].sort(), created], [Object.keys(items), 0]);
    for (const why of failed.values())
      assert.match(
        why,
        /^Somebody else imported it .* that task is used\. \S+, which this import created, is cancelled: run it again\.$/,
      );
    await assertOnce(type);
  });

  test('interrupted at any point, everything exists once after one of them has run again', async () => {
    for (let round = 0; round < byDepth(3, 20); round += 1) {
      const type = `both-${round}`;
      const other = await another();
      const both = [
        await plannedImport(baton.admin, sourceOf(type, items)),
        await plannedImport(other, sourceOf(type, items)),
      ];
      const results = await Promise.all(both.map((carryOut) => carryOut()));
      for (const { failed } of results)
        for (const why of failed.values()) assert.match(why, /^Somebody else imported it|^It waits for/);
      assert.deepEqual([...(await importAs(other, sourceOf(type, items))).failed], []);
      await assertOnce(type);
    }
  });
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
  writeFileSync(people, 'ann: me\nbob: 12\n');
  const badPerson = await run(['import', 'github', '-', '--people', people, '--yes'], issues);
  assert.deepEqual(
    [badPerson.code, /maps bob to a value that is not a string/.test(badPerson.text)],
    [2, true],
  );
  const badWord = await run(['import', 'github', '-', '--status', 'QA=maybe'], issues);
  assert.deepEqual([badWord.code, /--status takes WORD=STATUS/.test(badWord.text)], [2, true]);
});

test('an export contains everything that the API lists, and another tenant imports its tasks once', async () => {
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
  await baton.admin.tasks.createComment(first.id, { body: 'An earlier comment.' });
  const workspaces = (await baton.admin.workspaces.list({ limit: 200 })).items.length;
  const file = join(folder, 'export.jsonl');
  assert.match(
    await done(['export', '--file', file]),
    new RegExp(`^\\d+ exported: .*\\d+ principal.* ${workspaces} workspace.*\\d+ task\\.$`, 'm'),
  );
  const again = await run(['export', '--file', file]);
  assert.deepEqual([again.code, /already exists/.test(again.text)], [1, true]);
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
  assert.deepEqual([own.code, /comes from the tenant that you are signed in to/.test(own.text)], [1, true]);

  // Simulates the export of another tenant, whose names are unknown in this one; its second task was created by a
  // process.
  const elsewhere = join(folder, 'elsewhere.jsonl');
  const step = {
    externalSystem: 'control-plane',
    externalType: 'process_step',
    externalId: 'an-instance:a-step',
  };
  const lines = text.split('\n').map((line) => {
    if (!line.includes('"title":"Second to move"')) return line;
    const fields = JSON.parse(line) as { references?: object[] };
    return JSON.stringify({ ...fields, references: [...(fields.references ?? []), step] });
  });
  writeFileSync(
    elsewhere,
    lines.join('\n').replaceAll(baton.connection.tenantId, '0190b2c4-0000-4000-8000-000000000001'),
  );
  const before = (await imported('')).size;
  const told = await done(['import', 'baton', elsewhere, '--yes']);
  assert.match(told, /^! \d+ × is a principal, which an import does not create/m);
  assert.match(told, /^! 1 × was a step of a process, which an import does not create/m);
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
  assert.match(comment?.body ?? '', /^Administrator, \d{4}-\d\d-\d\d:\n\nAn earlier comment\.$/);
  assert.ok((await imported('')).size > before);
  assert.match(
    await done(['import', 'baton', elsewhere, '--yes']),
    /^0 to create, 0 to change, \d+ unchanged/m,
  );
});

/**
 * Every kind of item that an import holds back: waiting (in both directions, in any status), blocked and closed ones.
 */
const toHold = {
  a: {},
  b: waitsFor('a'),
  c: { status: 'done', comments: [{ body: 'It works.' }] },
  d: { status: 'cancelled' },
  e: { status: 'blocked' },
  f: { status: 'backlog', ...waitsFor('a') },
  g: { comments: [{ body: 'First.' }, { body: 'Second.' }] },
  h: { links: [{ to: 'g', type: 'blocks' }] },
} satisfies Record<string, Partial<SourceItem>>;
const ready = ['a', 'h'];

async function assertAllOfToHold(workspaceId: string, type: string): Promise<void> {
  const made = await tasksOf(`test/${type}/`);
  const statuses = Object.entries(made).map(([id, { status }]) => [id, status] as const);
  assert.deepEqual(Object.fromEntries(statuses), {
    ...{ a: 'todo', b: 'todo', c: 'done', d: 'cancelled', e: 'blocked', f: 'backlog', g: 'todo', h: 'todo' },
  });
  assert.deepEqual(await offered(workspaceId, `test/${type}/`), ready);
  for (const [id, task] of Object.entries(made)) {
    assert.deepEqual(await baton.admin.tasks.getRequirements(task.id), {
      roles: [],
      capabilities: [],
      skills: [],
    });
    assert.equal((await relationsOf(task)).length, ['b', 'f', 'h'].includes(id) ? 1 : 0, id);
    assert.equal((await baton.admin.tasks.listComments(task.id)).items.length, { c: 1, g: 2 }[id] ?? 0, id);
  }
}

test('no task is offered before its import is complete', async () => {
  const { id: workspace } = await baton.admin.workspaces.create({ slug: 'offers', name: 'Offers' });
  let early: string[] = [];
  const client = watched(async (request) => {
    if (request.method !== 'GET' && request.url.includes('/tasks'))
      early = [...early, ...(await offered(workspace, 'test/offers/')).filter((id) => !ready.includes(id))];
    return fetchTransport(request) as Promise<Response>;
  });
  const { failed } = await importAs(client, sourceOf('offers', toHold), { workspace });
  assert.deepEqual([...failed], []);
  assert.deepEqual(early, []);
  await assertAllOfToHold(workspace, 'offers');
});

test('wherever an import ends, its incomplete tasks are held back, and the next import releases them', async () => {
  const { id: workspace } = await baton.admin.workspaces.create({ slug: 'ends', name: 'Ends' });
  // An import makes 34 writes: the interruptions fall among the tasks, their relations, their comments and their
  // references.
  for (const writesMax of [3, 11, 18, 24, 30]) {
    const type = `ends-${writesMax}`;
    let writes = 0;
    const dying = watched(async (request) => {
      const answer = (await fetchTransport(request)) as Response;
      if (request.method !== 'GET' && request.url.includes('/api/v1/')) writes += 1;
      if (writes < writesMax) return answer;
      await answer.body?.cancel();
      return Response.json(
        { error: { code: 'scope_not_granted', message: 'It ends here.' } },
        { status: 403 },
      );
    });
    await assert.rejects(importAs(dying, sourceOf(type, toHold), { workspace }), /It ends here/);
    const early = await offered(workspace, `test/${type}/`);
    assert.deepEqual(
      early.filter((id) => !ready.includes(id)),
      [],
      type,
    );
    await importAs(baton.admin, sourceOf(type, toHold), { workspace });
    await assertAllOfToHold(workspace, type);
  }
});

test('an item that can not be related to its dependency remains held back, and is reported, until it can be', async () => {
  const { id: workspace } = await baton.admin.workspaces.create({ slug: 'missing', name: 'Missing' });
  const nobody = '0190b2c4-0000-4000-8000-00000000000f';
  const items = {
    a: { assignee: 'ghost' },
    b: waitsFor('a'),
    c: {},
    d: { assignee: 'ghost', links: [{ to: 'c', type: 'blocks' as const }] },
  };
  const first = await importAs(baton.admin, sourceOf('missing', items), {
    workspace,
    people: new Map([['ghost', nobody]]),
  });
  assert.deepEqual([...first.failed.keys()].sort(), ['a', 'b', 'c', 'd']);
  assert.match(
    first.failed.get('b') ?? '',
    /^It waits for a, but that relation could not be created. The item is held back/,
  );
  assert.deepEqual(await offered(workspace, 'test/missing/'), []);
  const { b } = await tasksOf('test/missing/');
  const { reasons } = await baton.admin.tasks.getClaimability(b?.id as string);
  assert.match(JSON.stringify(reasons), new RegExp(`"not_eligible".*"${holdCapability}"`));
  const second = await importAs(baton.admin, sourceOf('missing', items), {
    workspace,
    people: new Map([['ghost', 'me']]),
  });
  assert.deepEqual([...second.failed], []);
  assert.deepEqual(await offered(workspace, 'test/missing/'), ['a', 'd']);
});

test("an item gets its type's status from the source, if a transition to it exists", async () => {
  const statuses = [
    { key: 'new', category: 'active' as const },
    { key: 'review', category: 'active' as const },
    { key: 'waiting', category: 'blocked' as const },
    { key: 'good', category: 'terminal_success' as const },
  ];
  const transitions = [{ from: 'new', to: ['review', 'good'] }];
  await baton.admin.taskTypes.create({
    key: 'reviewed',
    displayName: 'Reviewed',
    lifecycleSchema: { statuses, initialStatus: 'new', transitions },
  });
  await baton.admin.taskTypes.create({
    key: 'proved',
    displayName: 'Proved',
    acceptance: [{ key: 'seen', kind: 'external_state', description: 'Somebody saw it.' }],
  });
  const typeKey = 'reviewed';
  const source = sourceOf('statuses', {
    a: { typeKey, statusKey: 'review' },
    b: { typeKey, status: 'blocked' },
    c: { typeKey: 'proved', status: 'done' },
    d: { typeKey: 'nowhere' },
  });
  const { id: workspace } = await baton.admin.workspaces.create({ slug: 'statuses', name: 'Statuses' });
  const { leftOut, failed } = await importAs(baton.admin, source, { workspace });
  assert.deepEqual([...failed], []);
  const made = await tasksOf('test/statuses/');
  assert.deepEqual(
    ['a', 'b', 'c'].map((id) => made[id]?.status),
    ['review', 'new', 'todo'],
  );
  assert.deepEqual(leftOut.items.map(({ reason, examples }) => [reason, ...examples]).sort(), [
    ['is blocked, and the task type reviewed has no transition to a blocked status: it stays held back', 'b'],
    ['is done in the source; here its checks decide whether it is', 'c'],
  ]);
  assert.deepEqual(await offered(workspace, 'test/statuses/'), ['a', 'd']);
  assert.deepEqual(source.leftOut.items, [
    { reason: 'task type does not exist here: the task gets the type task', count: 1, examples: ['nowhere'] },
  ]);
});

test('a relation that the caller may not remove is reported, and does not end the import', async () => {
  const spawned = { b: { links: [{ to: 'a', type: 'spawned_by' as const }] } };
  const { baton: writer } = await baton.participant(
    ['tasks.read', 'tasks.write', 'task_types.read', 'org.read'],
    'human',
  );
  await importAs(writer, sourceOf('spawned', { a: {}, ...spawned }));
  const { leftOut, failed } = await importAs(writer, sourceOf('spawned', { a: {}, b: { title: 'Other' } }));
  assert.deepEqual([...failed], []);
  assert.deepEqual(leftOut.items, [
    {
      reason: 'relation was removed in the source, and you may not remove it here (spawned_by)',
      count: 1,
      examples: ['b'],
    },
  ]);
  assert.equal((await tasksOf('test/spawned/'))['b']?.title, 'Other');
});

test('progress is shown while an import searches the existing tasks', async () => {
  let shown = '';
  const output = {
    line: () => undefined,
    progress: (text: string) => (shown += text),
    isTerminal: true,
    columns: 80,
  };
  const ended: boolean[] = [];
  const client = watched((request) => {
    if (request.method === 'GET' && /\/tasks\?/.test(request.url)) ended.push(shown.endsWith('\n'));
    return fetchTransport(request) as Promise<Response>;
  });
  const source = sourceOf('progress', { a: {}, b: {} });
  const targets = await findTargets(client, source, { people: new Map() });
  await planImport(client, source, targets, output);
  assert.ok(ended.length > 0);
  assert.ok(!ended.includes(true));
  assert.match(shown, /comparing .* 2\/2 {2}\d+ tasks searched\n$/);
});
