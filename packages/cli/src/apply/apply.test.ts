import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import type { AgentSpecInput } from '@baton/sdk';
import { fastStart, program, repository } from '@baton/testing/baton-process';
import { assertTookLess, byDepth } from '@baton/testing/depth';
import { type RunningBaton, sharedBaton } from '@baton/testing/running-baton';
import { Attempt } from '../attempt-keys.ts';
import { readConfig } from '../config.ts';
import { runCommand } from '../testing/run-command.ts';
import type { Change } from './change.ts';
import { declaredIn, Problems } from './documents.ts';
import { planAll } from './plan.ts';
import { interceptBaton, refusal } from './testing/intercepted-baton.ts';
import { World } from './world.ts';

// `baton apply`, against a whole Baton.

let baton: RunningBaton;
let folder: string;

before(async () => {
  baton = await sharedBaton();
  folder = mkdtempSync(join(tmpdir(), 'baton-apply-'));
});
after(async () => {
  await baton?.stop();
  rmSync(folder, { recursive: true, force: true });
});

interface Item {
  readonly kind: string;
  readonly key: string;
  readonly action: string;
  readonly outcome: string | null;
  readonly fields: readonly { path: string; before: unknown; after: unknown }[];
}

const environment = () => ({ HOME: folder, BATON_HOME: baton.home });
const run = (args: readonly string[], env: Record<string, string> = environment(), input?: string) =>
  runCommand(['apply', ...args], { HOME: folder, ...env }, input);

const start = (args: readonly string[]) =>
  program('packages/cli/src/main.ts', ['apply', ...args], environment());

/** Runs as a separate process, in parallel with others. */
async function runApart(args: readonly string[]) {
  const running = start(args);
  return { code: await running.ended, text: running.output() };
}

/** The plan, or its result. */
async function itemsOf(args: readonly string[]): Promise<Item[]> {
  const { code, text } = await run([...args, '--json']);
  assert.equal(code, 0, text);
  const json = text.split('\n').find((line) => line.startsWith('{')) ?? text;
  return (JSON.parse(json) as { items: Item[] }).items;
}

const actionsOf = (items: readonly Item[]) => [...new Set(items.map(({ action }) => action))];

let files = 0;
function file(text: string, ending = 'yaml'): string {
  files += 1;
  const path = join(folder, `${files}.${ending}`);
  writeFileSync(path, text);
  return path;
}

const documentOf = (kind: string, key: string, spec: object) =>
  JSON.stringify({ apiVersion: 'baton/v1', kind, key, spec });
const example = join(repository, 'examples', 'apply');

test('the example is planned without a change, applied, and then unchanged', async () => {
  const before = (await baton.admin.roles.list({})).items;
  const planned = await run(['-f', example, '--dry-run']);
  assert.equal(planned.code, 0);
  assert.match(planned.text, /^\+ create {5}Role packer {2}\(.*people\.yaml:2\)$/m);
  assert.match(planned.text, /^14 to create, 0 to change, 0 unchanged\.$/m);
  assert.deepEqual((await baton.admin.roles.list({})).items, before);
  const applied = await itemsOf(['-f', example, '--yes']);
  assert.deepEqual(
    [applied.length, actionsOf(applied), [...new Set(applied.map(({ outcome }) => outcome))]],
    [14, ['create'], ['done']],
  );
  assert.deepEqual(actionsOf(await itemsOf(['-f', example, '--yes'])), ['unchanged']);
  const people = (await baton.admin.principals.list({ kind: 'human', limit: 200 })).items;
  const ada = people.find(({ displayName }) => displayName === 'Ada Okafor');
  assert.deepEqual([ada?.profile.email, ada?.metadata], ['ada@shop.example', { applyKey: 'ada' }]);
  const roles = (await baton.admin.principals.listRoles(ada?.id as string)).items;
  assert.deepEqual(roles.map(({ role }) => role.slug).sort(), ['packer', 'shop-manager']);
  const { items: projects } = await baton.admin.projects.list({ limit: 200 });
  const project = projects.find(({ ownerPrincipalId }) => ownerPrincipalId === ada?.id);
  assert.deepEqual(
    [project?.templateKey, project?.ownerPrincipalId, project?.customFields],
    ['improvement', ada?.id, { budget: 5000 }],
  );
  assert.equal((await baton.admin.processDefinitions.get('parcel-inspection')).identityAgent, 'shop-desk');
  assert.equal((await baton.admin.calendars.get('shop-hours')).version, 1);
});

test('every kind with all its fields is unchanged the second time, and a change is shown by field', async () => {
  const text = readFileSync(join(import.meta.dirname, 'testing', 'everything.yaml'), 'utf8');
  const identity = await baton.admin.identity.principals.create(baton.connection.tenantId, {
    kind: 'human',
    displayName: 'Kim',
  });
  const path = file(text.replace('IDENTITY', identity.id));
  await itemsOf(['-f', path, '--yes']);
  assert.deepEqual(actionsOf(await itemsOf(['-f', path, '--dry-run'])), ['unchanged']);
  const changed = readFileSync(path, 'utf8')
    .replaceAll('displayName: A ', 'displayName: The ')
    .replaceAll('name: A ', 'name: The ')
    .replace('description: Checked by hand', 'description: Checked twice')
    .replace('version: 1 # of the process', 'version: 2')
    .replace('permissions: [tasks.read] # of Kim', 'permissions: [tasks.read, tasks.write]')
    .replace('status: idea', 'status: going');
  writeFileSync(path, changed);
  const plan = await run(['-f', path, '--dry-run']);
  assert.match(plan.text, /^~ change {5}Role all-role .*\n {4}name: "A role" → "The role"$/m);
  assert.match(plan.text, /^ {4}access\.permissions: \["tasks\.read"\] → \["tasks\.read","tasks\.write"\]$/m);
  assert.match(plan.text, /^ {4}status: "idea" → "going"$/m);
  assert.match(plan.text, /^0 to create, 11 to change, 2 unchanged\.$/m);
  await itemsOf(['-f', path, '--yes']);
  assert.deepEqual(actionsOf(await itemsOf(['-f', path, '--dry-run'])), ['unchanged']);
  assert.equal((await baton.admin.taskTypes.list({ key: 'all-type' })).items[0]?.displayName, 'The type');
});

test('a principal takes an access role in place of permissions, and the plan names it', async () => {
  const { tenantId } = baton.connection;
  const identity = await baton.admin.identity.principals.create(tenantId, {
    kind: 'human',
    displayName: 'Robin',
  });
  const textWith = (access: string) => `apiVersion: baton/v1
kind: Principal
key: role-robin
spec:
  kind: human
  displayName: Role Robin
  access: {identity: ${identity.id}, ${access}}
`;
  const path = file(textWith('accessRole: member'));
  assert.match(
    (await run(['-f', path, '--dry-run'])).text,
    /^ {4}access\.accessRole: "member"\nGrants Principal role-robin: the access role member$/m,
  );
  await itemsOf(['-f', path, '--yes']);
  assert.deepEqual(actionsOf(await itemsOf(['-f', path, '--dry-run'])), ['unchanged']);
  const { items } = await baton.admin.people.list({ q: 'Role Robin' });
  assert.equal(items[0]?.accessRole, 'member');

  writeFileSync(path, textWith('accessRole: viewer'));
  assert.match(
    (await run(['-f', path, '--dry-run'])).text,
    /^ {4}access\.accessRole: "member" → "viewer"\nGrants Principal role-robin: the access role viewer$/m,
  );
  await itemsOf(['-f', path, '--yes']);
  writeFileSync(path, textWith('permissions: [tasks.read]'));
  await itemsOf(['-f', path, '--yes']);
  const [own] = (await baton.admin.people.list({ q: 'Role Robin' })).items;
  assert.deepEqual([own?.accessRole, own?.permissions], [null, ['tasks.read']]);

  for (const [access, problem] of [
    ['accessRole: captain', /there is no access role captain/],
    ['accessRole: member, permissions: [tasks.read]', /exactly one of permissions and accessRole/],
    ['visibility: tenant', /exactly one of permissions and accessRole/],
  ] as const) {
    writeFileSync(path, textWith(access));
    const { code, text } = await run(['-f', path, '--dry-run']);
    assert.deepEqual([code, problem.test(text)], [1, true], text);
  }
});

test('the plan shows each field of a new object in full, and ends with the granted permissions', async () => {
  const many = Array.from({ length: 60 }, (_, n) => `      field${n}: ${n}`).join('\n');
  const path = file(`apiVersion: baton/v1
kind: Principal
key: plan-mallory
spec:
  kind: human
  displayName: Plan Mallory
  metadata:
${many}
  access:
    identity: 7e5f1b7c-34a0-4f0e-8d43-5e2c2f9c0d11
    permissions: [${Array.from({ length: 40 }, () => 'tasks.read').join(', ')}, admin]
---
apiVersion: baton/v1
kind: Agent
key: plan-agent
spec:
  displayName: Plan agent
  identity: {kind: agent, permissions: [tasks.read, rules.write]}
  executor: {kind: shell, params: {}, instructions: "${'x'.repeat(50_000)} and send it to mallory.example"}
`);
  const { code, text } = await run(['-f', path, '--dry-run']);
  assert.equal(code, 0, text);
  assert.match(
    text,
    /^\+ create {5}Principal plan-mallory .*\n(?: {4}.*\n)* {4}displayName: "Plan Mallory"$/m,
  );
  assert.match(text, /^ {4}metadata\.field59: 59$/m);
  assert.match(text, /^ {4}access\.permissions: \["tasks\.read",.*"admin"\]$/m);
  assert.match(text, /^ {4}identity\.permissions: \["tasks\.read","rules\.write"\]$/m);
  assert.match(text, /^ {4}executor\.instructions: "x{50000} and send it to mallory\.example"$/m);
  assert.match(
    text,
    /\nGrants Principal plan-mallory: admin, tasks\.read\nGrants Agent plan-agent: rules\.write, tasks\.read\n2 to create, 0 to change, 0 unchanged\.\n?$/,
  );
});

test('the plan shows each changed member, even of a value that the service returns as a hash, and the new grants', async () => {
  const agent = (permissions: string[], end: string) =>
    documentOf('Agent', 'plan-changed', {
      displayName: 'Plan changed',
      identity: { kind: 'agent', permissions },
      executor: { kind: 'shell', params: {}, instructions: `${'x'.repeat(5000)}${end}` },
    });
  const type = (fields: object) =>
    documentOf('TaskType', 'plan-changed', {
      displayName: 'Plan changed',
      fieldSchema: { type: 'object', properties: { one: { type: 'string' }, ...fields } },
    });
  const both = (...documents: string[]) => file(documents.join('\n---\n'));
  await itemsOf(['-f', both(agent(['tasks.read'], 'before'), type({})), '--yes']);
  const path = both(agent(['tasks.read', 'tasks.write'], 'after'), type({ two: { type: 'number' } }));
  const { code, text } = await run(['-f', path, '--dry-run']);
  assert.equal(code, 0, text);
  assert.match(text, /^ {4}identity\.permissions: \["tasks\.read"\] → \["tasks\.read","tasks\.write"\]$/m);
  assert.match(text, /^ {4}executor: \{"\w+".* → \{.*"instructions":"x{5000}after".*\}$/m);
  assert.match(text, /^ {4}fieldSchema\.properties\.two: nothing → \{"type":"number"\}$/m);
  assert.match(
    text,
    /\nGrants Agent plan-changed: tasks\.write\n0 to create, 2 to change, 0 unchanged\.\n?$/,
  );
});

test('invisible characters are written as their codes, in names and in values', async () => {
  const metadata = {
    'pla\u202ein': 'a\u202eb\u009b2J\u001b[2J\u200bc\u{e0101}d',
    plain: 'line\none',
    emoji: '\u2764\ufe0f',
  };
  const path = file(
    documentOf('Principal', 'plan\u2066-x', { kind: 'human', displayName: 'Hidden \u202ename', metadata }),
  );
  const { code, text } = await run(['-f', path, '--dry-run']);
  assert.equal(code, 0, text);
  for (const line of [
    '+ create     Principal plan⟨U+2066⟩-x  (',
    '    displayName: "Hidden ⟨U+202E⟩name"',
    '    metadata.pla⟨U+202E⟩in: "a⟨U+202E⟩b⟨U+009B⟩2J\\u001b[2J⟨U+200B⟩c⟨U+E0101⟩d"',
    '    metadata.plain: "line\\none"',
    '    metadata.emoji: "\u2764\ufe0f"',
  ])
    assert.ok(
      text.split('\n').some((one) => one.startsWith(line)),
      `${line}\n${text}`,
    );
});

test('objects, members and roles that are not in the file remain', async () => {
  const [role, other] = ['stays', 'stays-too'].map((key) => documentOf('Role', key, { name: key }));
  const principal = (spec: object) =>
    documentOf('Principal', 'stays-person', { kind: 'human', displayName: 'Stays', ...spec });
  const first = file(
    [role, other, principal({ roles: ['stays', 'stays-too'], metadata: { a: 1 } })].join('\n---\n'),
  );
  await itemsOf(['-f', first, '--yes']);
  await itemsOf(['-f', file(principal({ roles: ['stays'], metadata: { b: 2 } })), '--yes']);
  const found = (await baton.admin.principals.list({ limit: 200 })).items.find(
    ({ displayName }) => displayName === 'Stays',
  );
  assert.deepEqual(found?.metadata, { a: 1, b: 2, applyKey: 'stays-person' });
  assert.equal((await baton.admin.principals.listRoles(found?.id ?? '')).items.length, 2);
  assert.ok((await baton.admin.roles.list({ limit: 200 })).items.some(({ slug }) => slug === 'stays-too'));
});

test('a manually created principal is not created again, and is taken over by id', async () => {
  const { id } = await baton.admin.principals.create({
    kind: 'human',
    displayName: 'By hand',
    metadata: { a: 1 },
  });
  const path = file(documentOf('Principal', 'by-hand', { kind: 'human', displayName: 'By hand' }));
  const refused = await run(['-f', path, '--yes']);
  assert.equal(refused.code, 1);
  assert.match(refused.text, new RegExp(`spec\\.displayName: there already is one .* id: ${id}`));
  writeFileSync(path, documentOf('Principal', 'by-hand', { kind: 'human', displayName: 'By hand', id }));
  await itemsOf(['-f', path, '--yes']);
  assert.deepEqual((await baton.admin.principals.get(id)).metadata, { a: 1, applyKey: 'by-hand' });
  assert.deepEqual(actionsOf(await itemsOf(['-f', path, '--dry-run'])), ['unchanged']);
});

describe('standard input', () => {
  const text = documentOf('Role', 'from-input', { name: 'From input' });

  test('is read for -, and is not applied without a terminal or --yes', async () => {
    const refused = await run(['-f', '-'], undefined, text);
    assert.deepEqual([refused.code, /pass --yes/.test(refused.text)], [2, true]);
    assert.match((await run(['-f', '-', '--yes'], undefined, text)).text, /^One change is made\.$/m);
    const { code, text: said } = await run(['-f', '-', '--jq', '.items[].action'], undefined, text);
    assert.deepEqual([code, said], [0, 'unchanged\n']);
  });

  test('of several documents as one list of JSON', async () => {
    const list = `[${text}, ${documentOf('Role', 'listed', { name: 'Listed' })}]`;
    assert.match(
      (await run(['-f', '-', '--dry-run'], undefined, list)).text,
      /^1 to create, 0 to change, 1 unch/m,
    );
  });
});

describe('a change of somebody else between plan and apply', () => {
  const planOf = (...documents: string[]) => planAs('somebody', ...documents);

  /** @param principalId the principal of the attempt */
  async function planAs(principalId: string, ...documents: string[]) {
    const problems = new Problems();
    const declared = declaredIn([{ name: 'test.yaml', text: documents.join('\n---\n') }], problems);
    const { admin } = baton;
    const access = {
      ...baton.connection,
      token: '',
      credential: { token: '' },
      adminSecret: undefined,
      source: '',
    };
    const attempt = new Attempt(readConfig({ HOME: folder }), {
      command: 'apply',
      server: baton.url,
      principalId,
      content: documents,
    });
    const world = new World(admin);
    const changes = await planAll({ baton: admin, access, attempt, world, problems, declared });
    problems.throwIfAny();
    return changes;
  }

  test('is not overwritten: of a role, a principal, and a workspace', async () => {
    const { admin } = baton;
    const role = await admin.roles.create({ slug: 'raced', name: 'Before' });
    const workspace = await admin.workspaces.create({ slug: 'raced', name: 'Before' });
    const person = await admin.principals.create({
      kind: 'human',
      displayName: 'Before',
      metadata: { applyKey: 'raced' },
    });
    const changes = await planOf(
      documentOf('Role', 'raced', { name: 'File' }),
      documentOf('Workspace', 'raced', { name: 'File' }),
      documentOf('Principal', 'raced', { kind: 'human', displayName: 'File' }),
    );
    await admin.roles.update(role.id, { name: 'Theirs' }, { ifMatch: '"role-1"' });
    await admin.workspaces.update(workspace.id, { name: 'Theirs' }, { ifMatch: '"workspace-1"' });
    await admin.principals.update(person.id, { displayName: 'Theirs' }, { ifMatch: '"principal-1"' });
    for (const change of changes) await assert.rejects(change.carryOut(), { code: 'version_conflict' });
    assert.equal((await admin.roles.get(role.id)).name, 'Theirs');
  });

  test('is not overwritten: of a task type, an agent, a calendar, a template and a process', async () => {
    const { admin } = baton;
    const agent: AgentSpecInput = {
      displayName: 'x',
      identity: { kind: 'agent', permissions: ['tasks.read'] },
    };
    const calendar = { displayName: 'x', timezone: 'Europe/Berlin', years: [{ year: 2026 }] };
    const process = (displayName: string) => ({
      version: 1,
      displayName,
      identity: { agent: 'shop-desk' },
      owner: [{ agent: 'shop-desk' }],
      data: { type: 'object' },
      start: { on: { observation: 'raced' }, key: 'event.payload.data.order' },
      stages: [{ id: 'one', steps: [{ id: 'end', complete: { outcome: 'done' } }] }],
    });
    const changes = await planOf(
      documentOf('TaskType', 'raced', { displayName: 'File' }),
      documentOf('Agent', 'raced', agent),
      documentOf('Calendar', 'raced', calendar),
      documentOf('ProjectTemplate', 'raced', { displayName: 'File' }),
      documentOf('Process', 'raced', process('File')),
    );
    await admin.taskTypes.create({ key: 'raced', displayName: 'Theirs' });
    await admin.agents.publish({ key: 'raced', spec: { ...agent, displayName: 'Theirs' } });
    await admin.calendars.publish({ key: 'raced', spec: { ...calendar, displayName: 'Theirs' } });
    await admin.projectTemplates.create({ key: 'raced', displayName: 'Theirs' });
    await admin.processDefinitions.publish({ key: 'raced', spec: process('Theirs') });
    for (const change of changes)
      await assert.rejects(
        change.carryOut(),
        /Somebody has changed (TaskType|Agent|Calendar|ProjectTemplate|Process) raced/,
      );
    assert.equal((await admin.taskTypes.list({ key: 'raced' })).items.length, 1);
    assert.equal((await admin.agents.get('raced')).displayName, 'Theirs');
  });

  test('of two people who create a principal at the same moment, one succeeds at most, and the next apply makes it once', async () => {
    const spec = (key: string) => documentOf('Principal', key, { kind: 'human', displayName: key });
    const planBy = async (person: string, key: string) => (await planAs(person, spec(key)))[0] as Change;
    const activeOf = async (key: string) =>
      (await baton.admin.principals.list({ limit: 200 })).items.filter(
        ({ metadata, status }) => metadata['applyKey'] === key && status === 'active',
      ).length;
    for (let round = 0; round < byDepth(5, 40); round += 1) {
      const key = `both-${round}`;
      const changes = [await planBy('one', key), await planBy('two', key)];
      const ended = await Promise.allSettled(changes.map((change) => change.carryOut()));
      for (const one of ended)
        if (one.status === 'rejected')
          assert.match(
            String(one.reason),
            /Somebody else created Principal both-|was created after the plan/,
          );
      const succeeded = ended.filter(({ status }) => status === 'fulfilled').length;
      assert.ok(succeeded <= 1, `${succeeded} have succeeded`);
      assert.equal(await activeOf(key), succeeded);
      const next = await planBy('three', key);
      assert.equal(next.action, succeeded === 1 ? 'unchanged' : 'create');
      await next.carryOut();
      assert.equal(await activeOf(key), 1);
    }
    const [first, second] = [await planBy('one', 'in-turn'), await planBy('two', 'in-turn')];
    await first.carryOut();
    await assert.rejects(second.carryOut(), /Principal in-turn was created after the plan/);
    assert.equal(await activeOf('in-turn'), 1);
  });

  test('a version of somebody else that was published at the same moment is reported', async () => {
    const { taskTypes, projectTemplates } = baton.admin;
    const theirs = { key: 'between', displayName: 'Theirs' };
    for (const [kind, path, publish] of [
      ['TaskType', 'task-types', () => taskTypes.create(theirs)],
      ['ProjectTemplate', 'project-templates', () => projectTemplates.create(theirs)],
    ] as const) {
      // Publishes a rival's version after the last comparison of the state.
      const between = await interceptBaton(baton.url, async ({ method, path: asked, forward }) => {
        if (method === 'POST' && asked === `/api/v1/${path}`) await publish();
        return forward();
      });
      try {
        const env = { BATON_URL: between.url, BATON_TOKEN: baton.connection.adminToken };
        const document = file(documentOf(kind, 'between', { displayName: 'Ours' }));
        const { code, text } = await run(['-f', document, '--yes'], env);
        assert.equal(code, 1, text);
        assert.match(
          text,
          new RegExp(
            `Somebody else published ${kind} between .* theirs is version 1, yours is version 2 and`,
          ),
        );
      } finally {
        between.close();
      }
    }
  });

  test('eight concurrent applies of one file create each object once; a concurrent apply of another file succeeds or is rejected', async () => {
    const documents = (name: string) =>
      file(
        [
          documentOf('Role', 'at-once', { name }),
          documentOf('TaskType', 'at-once', { displayName: name }),
          documentOf('Workspace', 'at-once', { name }),
          documentOf('Principal', 'at-once', { kind: 'service', displayName: name, roles: ['at-once'] }),
          documentOf('ProjectTemplate', 'at-once', { displayName: name }),
        ].join('\n---\n'),
      );
    const [one, two] = [documents('One'), documents('Two')];
    const all = await Promise.all(
      Array.from({ length: byDepth(4, 8) }, (_, n) => runApart(['-f', n % 4 === 3 ? two : one, '--yes'])),
    );
    for (const { code, text } of all.filter((said) => said.code !== 0))
      assert.match(
        text,
        /Somebody (has changed|else (published|created))|was created after the plan|_conflict/,
        `${code} ${text}`,
      );
    await itemsOf(['-f', one, '--yes']);
    const { admin } = baton;
    const named = (items: readonly { metadata: Record<string, unknown> }[]) =>
      items.filter(({ metadata }) => metadata['applyKey'] === 'at-once').length;
    assert.equal(named((await admin.principals.list({ limit: 200 })).items), 1);
    assert.equal(
      (await admin.roles.list({ limit: 200 })).items.filter(({ slug }) => slug === 'at-once').length,
      1,
    );
    const types = (await admin.taskTypes.list({ key: 'at-once' })).items.map(
      ({ displayName }) => displayName,
    );
    assert.ok(
      types.every((name, n) => name !== types[n + 1]),
      `a version repeats the one before: ${types.join()}`,
    );
    assert.deepEqual(actionsOf(await itemsOf(['-f', one, '--dry-run'])), ['unchanged']);
  });
});

/**
 * The kinds whose writes use an idempotency key of apply: a document of each kind, and the number of its objects or
 * versions.
 */
const keyedKinds = {
  Principal: {
    path: 'principals',
    spec: { kind: 'service', displayName: 'Keyed' },
    count: async (key: string) =>
      (await baton.admin.principals.list({ limit: 200 })).items.filter(
        ({ metadata }) => metadata['applyKey'] === key,
      ).length,
  },
  TaskType: {
    path: 'task-types',
    spec: { displayName: 'Keyed' },
    count: async (key: string) => (await baton.admin.taskTypes.list({ key })).items.length,
  },
  ProjectTemplate: {
    path: 'project-templates',
    spec: { displayName: 'Keyed' },
    count: async (key: string) => (await baton.admin.projectTemplates.list({ key })).items.length,
  },
  Calendar: {
    path: 'calendars',
    spec: { displayName: 'Keyed', timezone: 'Europe/Berlin', years: [{ year: 2026 }] },
    count: async (key: string) => (await baton.admin.calendars.get(key)).latestVersion,
  },
  Agent: {
    path: 'agents',
    spec: { displayName: 'Keyed', identity: { kind: 'agent', permissions: ['tasks.read'] } },
    count: async (key: string) => (await baton.admin.agents.get(key)).currentRevision,
  },
} as const;

describe('idempotency keys', () => {
  let home: string;
  const token = () => baton.connection.adminToken;
  const homeOf = (name: string) => {
    home = join(folder, name);
    mkdirSync(home, { recursive: true });
    return home;
  };
  const kept = () => {
    const attempts = join(home, '.config', 'baton', 'attempts');
    return existsSync(attempts) ? readdirSync(attempts).map((name) => join(attempts, name)) : [];
  };

  test('nobody else can use them first: neither by the old derivation, nor with all data but the file', async () => {
    const stranger = await baton.participant(['tasks.read', 'tasks.write']);
    const me = (await baton.admin.harness.getContext()).principal.id;
    const entries = Object.entries(keyedKinds);
    const stamps = {
      Principal: 'create',
      TaskType: '0 ',
      Agent: '0',
      Calendar: '0',
      ProjectTemplate: 'none',
    };
    const content = entries.map(([kind, { spec }]) => [kind, 'foreseen', spec]);
    const guess = new Attempt(readConfig({ HOME: homeOf('stranger') }), {
      command: 'apply',
      server: baton.url,
      principalId: me,
      content,
    });
    for (const [kind, { spec }] of entries) {
      const stamp = stamps[kind as keyof typeof stamps];
      const body = { ...spec, key: 'foreseen' };
      const parts = JSON.stringify([kind, 'foreseen', stamp]);
      const old = `apply-${createHash('sha256').update(parts).digest('hex').slice(0, 48)}`;
      for (const idempotencyKey of [old, guess.keyOf(kind, stamp, body), guess.keyOf(kind, body)])
        await stranger.baton.tasks.create({ title: 'x' }, { idempotencyKey });
    }
    const documents = entries.map(([kind, { spec }]) => documentOf(kind, 'foreseen', spec));
    const env = { HOME: homeOf('foreseen'), BATON_HOME: baton.home };
    const { code, text } = await run(['-f', file(documents.join('\n---\n')), '--yes'], env);
    assert.equal(code, 0, text);
    assert.match(text, /^5 changes are made\.$/m);
    assert.deepEqual(kept(), [], 'the attempt has succeeded');
  });

  for (const [kind, { path: place, spec, count }] of Object.entries(keyedKinds))
    test(`a ${kind} that the service creates only after apply was killed is created once by the next apply`, async () => {
      const HOME = homeOf(`late-${kind}`);
      const key = `late-${kind.toLowerCase()}`;
      const sent: string[] = [];
      const replayed: (string | null)[] = [];
      let late: (() => Promise<Response>) | undefined;
      const arrived = Promise.withResolvers<void>();
      const between = await interceptBaton(baton.url, async ({ method, path, key: sentKey, forward }) => {
        if (method !== 'POST' || path !== `/api/v1/${place}`) return forward();
        sent.push(String(sentKey));
        if (late === undefined) {
          late = forward;
          arrived.resolve();
          return new Promise<undefined>(() => undefined);
        }
        assert.equal((await late()).ok, true);
        const response = await forward();
        replayed.push(response.headers.get('idempotency-replayed'));
        return response;
      });
      try {
        const env = { HOME, BATON_URL: between.url, BATON_TOKEN: token() };
        const path = file(documentOf(kind, key, spec));
        const running = program('packages/cli/src/main.ts', ['apply', '-f', path, '--yes'], env);
        await Promise.race([arrived.promise, running.ended.then(() => assert.fail(running.output()))]);
        running.child.kill('SIGKILL');
        await running.ended;
        const [record = '', ...more] = kept();
        assert.deepEqual([statSync(record).mode & 0o777, more], [0o600, []]);
        assert.ok(!readFileSync(record, 'utf8').includes(token()));
        const { code, text } = await run(['-f', path, '--yes'], env);
        assert.equal(code, 0, text);
        assert.deepEqual([sent.length, new Set(sent).size, replayed], [2, 1, ['true']]);
        assert.equal(await count(key), 1);
        assert.deepEqual(kept(), []);
      } finally {
        between.close();
      }
    });

  test('a rejected key is not reported as a change by somebody; it is discarded, and the next apply uses new ones', async () => {
    for (const [code, told, keptAfter] of [
      ['idempotency_key_reused', /another request under the idempotency key of this change.*discarded/, 0],
      [
        'idempotency_in_flight',
        /Another run of this apply is making the same change.*Wait until it has ended/,
        1,
      ],
    ] as const) {
      const HOME = homeOf(code);
      const sent = new Set<string | undefined>();
      let isRefused = true;
      const between = await interceptBaton(baton.url, async ({ method, path, key, forward }) => {
        if (method !== 'POST' || path !== '/api/v1/task-types') return forward();
        sent.add(key);
        return isRefused ? refusal(409, code) : forward();
      });
      try {
        const env = { HOME, BATON_URL: between.url, BATON_TOKEN: token() };
        const path = file(documentOf('TaskType', code.replaceAll('_', '-'), { displayName: 'Refused' }));
        const refused = await run(['-f', path, '--yes'], env);
        assert.equal(refused.code, 1, refused.text);
        assert.match(refused.text, told);
        assert.match(refused.text, /Run it again/);
        assert.doesNotMatch(refused.text, /Somebody has changed/);
        assert.equal(kept().length, keptAfter);
        isRefused = false;
        const again = await run(['-f', path, '--yes'], env);
        assert.equal(again.code, 0, again.text);
        assert.equal(sent.size, keptAfter === 1 ? 1 : 2);
        assert.deepEqual(kept(), []);
      } finally {
        between.close();
      }
    }
  });

  test("if they can't be stored, this is reported, and the apply continues", async () => {
    const HOME = join(folder, 'no-folder');
    writeFileSync(HOME, '');
    const path = file(documentOf('Role', 'unstored', { name: 'Unstored' }));
    const { code, text } = await run(['-f', path, '--yes'], { HOME, BATON_HOME: baton.home });
    assert.equal(code, 0, text);
    assert.match(text, /^The idempotency keys of this command could not be stored .* wait a minute/m);
    assert.match(text, /^One change is made\.$/m);
  });
});

test('if apply is killed midway, the next one completes it without duplicates', async () => {
  const count = 60;
  const path = file(
    Array.from({ length: count }, (_, n) =>
      documentOf('Principal', `killed-${n}`, {
        kind: 'service',
        displayName: `Killed ${n}`,
        roles: ['packer'],
      }),
    ).join('\n---\n'),
  );
  const killed = async () => {
    const all: string[] = [];
    for await (const { metadata } of baton.admin.principals.list({ limit: 200 }))
      if (String(metadata['applyKey']).startsWith('killed-')) all.push(String(metadata['applyKey']));
    return all;
  };
  const running = start(['-f', path, '--yes']);
  while ((await killed()).length < 3) assert.equal(running.child.exitCode, null);
  running.child.kill('SIGKILL');
  await running.ended;
  const before = (await killed()).length;
  assert.ok(before < count, `${before} were made before it was killed`);
  assert.match((await run(['-f', path, '--yes'])).text, /changes are made\.$/m);
  const made = await killed();
  assert.deepEqual([made.length, new Set(made).size], [count, count]);
  assert.deepEqual(actionsOf(await itemsOf(['-f', path, '--dry-run'])), ['unchanged']);
});

describe('an error in a file is reported by file, line, document and field, and nothing is applied', () => {
  const head = (kind: string, key = 'x') => `apiVersion: baton/v1\nkind: ${kind}\nkey: ${key}\nspec:`;
  const cases: readonly [name: string, text: string, told: RegExp][] = [
    ['no YAML', 'a: [1', /\.yaml:\d+:\d+: .*\./],
    [
      'a field that is none',
      `${head('Role')}\n  name: A\n  nmae: B`,
      /:6:3: document 1 \(Role x\), spec\.nmae: unknown field; valid fields: name, description\./,
    ],
    [
      'a field of another form',
      `${head('Role')}\n  name: 12`,
      /:5:3: .*spec\.name: write a string in quotes\./,
    ],
    ['a field that is missing', `${head('Role')}\n  description: A`, /:4:1: .*, spec: it lacks name\./],
    [
      'the second document',
      `${head('Role')} {name: A}\n---\n${head('Rule')} {}`,
      /:7:1: document 2, kind: write one of Role, /,
    ],
    [
      'another version',
      'apiVersion: v2\nkind: Role\nkey: a\nspec: {name: A}',
      /:1:1: document 1, apiVersion: write apiVersion: baton\/v1\./,
    ],
    [
      'a key that is a number',
      `${head('Role', '12')} {name: A}`,
      /:3:1: document 1, key: put the key in quotes\./,
    ],
    [
      'the same thing twice',
      `${head('Role')} {name: A}\n---\n${head('Role')} {name: B}`,
      /:8:1: document 2 \(Role x\), key: .*\.yaml:3:1 already declares it/,
    ],
    [
      'a role that is nowhere',
      `${head('Principal')}\n  kind: human\n  displayName: A\n  roles: [packer, nowhere]`,
      /:7:19: .*spec\.roles\.1: no role nowhere exists in Baton or in the files\./,
    ],
    [
      'a workspace that is nowhere',
      `${head('Workspace', 'a/b')} {name: A}`,
      /:3:1: .*there is no workspace a\b/,
    ],
    [
      'a project without template',
      `${head('Workspace')} {name: A}\n---\n${head('Project')} {template: none}`,
      /:9:8: .*spec\.template: there is no project template none/,
    ],
    [
      'what only the service knows',
      `${head('TaskType')}\n  displayName: A\n  fieldSchema:\n    type: nothing`,
      /:\d+:\d+: document 1 \(TaskType x\), spec\.fieldSchema.*invalid_json_schema/,
    ],
    [
      'a list within, that only the service knows',
      `${head('Agent')}\n  displayName: A\n  identity:\n    kind: agent\n    permissions:\n      - tasks.read\n      - tasks.fly`,
      /document 1 \(Agent x\), .*invalid_permissions/,
    ],
    ['a part of a package', `${head('View')} {}`, /:2:1: document 1, kind: View belongs in a package/],
    ['no object', '- 1\n- [2]', /:1:3: document 1: it is not an object/],
    ['nothing', '# only a remark\n', /the file contains no document/],
  ];
  for (const [name, text, told] of cases)
    test(name, async () => {
      const { code, text: said } = await run(['-f', file(text), '--yes']);
      assert.equal(code, 1, said);
      assert.match(said, told);
      assert.match(said, /Nothing was changed: correct the files and apply again\.$/m);
    });

  test('all of it at once, up to 20 lines', async () => {
    const wrong = Array.from({ length: 30 }, (_, n) => `${head('Role', `w${n}`)} {}`).join('\n---\n');
    const { text } = await run(['-f', file(wrong), '--yes']);
    assert.equal(text.match(/it lacks name/g)?.length, 20);
    assert.match(text, /^And 10 more\.$/m);
  });
});

describe('a malicious file is rejected within seconds, with a message', () => {
  const head = 'apiVersion: baton/v1\nkind: Role\nkey: evil\nspec:\n';
  const bomb = [
    '  a: &a [x,x,x,x,x,x,x,x,x]',
    ...'bcdefgh'.split('').map((name, n) => {
      const before = 'abcdefg'[n] as string;
      return `  ${name}: &${name} [${Array.from({ length: 9 }, () => `*${before}`).join()}]`;
    }),
  ].join('\n');
  const cases: readonly [name: string, text: string | Buffer, told: RegExp][] = [
    ['aliases that grow', head + bomb, /more than 20000 values, aliases counted each time/],
    [
      'more aliases than 100',
      `${head}  a: &a 1\n${Array.from({ length: 101 }, (_, n) => `  k${n}: *a`).join('\n')}`,
      /aliases exceeded maxAliases \(100\)/,
    ],
    ['an alias of itself', `${head}  name: &a [*a]`, /nested deeper than 64/],
    ['depth', `${head}  name: ${'['.repeat(100_000)}`, /nesting exceeded maxDepth/],
    ['questions', `${'? '.repeat(50_000)}x`, /nesting exceeded maxDepth/],
    ['a program in a tag', `${head}  name: !!js/function 'process.exit()'`, /unknown scalar tag/],
    ['a prototype', `${head}  __proto__: { name: A }`, /spec\.__proto__: unknown field/],
    ['size', `${head}  name: ${'x'.repeat(1_048_576)}`, /larger than 1048576 bytes: split it/],
    ['documents', '---\n{}\n'.repeat(20_000), /a file may contain at most 1000 documents/],
    ['a number that is lost', `${head}  name: 12345678901234567890`, /in quotes/],
    ['bytes that are no text', Buffer.from([0xff, 0xfe, 0x00]), /is not UTF-8 text/],
    ['half a character', `${head}  name: "\\ud800"`, /surrogate|escape|unexpected|unknown/i],
  ];
  for (const [name, text, told] of cases)
    test(name, async () => {
      const path = join(folder, 'evil.yaml');
      writeFileSync(path, text);
      const began = performance.now();
      const { code, text: said } = await run(['-f', path, '--yes']);
      assert.equal(code, 1, said.slice(0, 500));
      assert.match(said, told);
      assert.ok(said.length < 10_000, `${said.length} characters`);
      assertTookLess(began, 10_000);
    });

  test('text that moves the cursor or reverses the direction is escaped', async () => {
    const name = 'a\u001b[2J\u009b2J\u202eb';
    const { text } = await run(['-f', file(documentOf('Role', name, { name })), '--dry-run']);
    assert.match(text, /create/);
    assert.doesNotMatch(text.replaceAll('\n', ''), /[\p{Cc}\p{Cf}]/u);
  });

  test('a file that is not there, a folder without files, and one without end', async () => {
    mkdirSync(join(folder, 'empty', '.hidden'), { recursive: true });
    writeFileSync(join(folder, 'empty', '.hidden', 'a.yaml'), 'x');
    assert.match((await run(['-f', join(folder, 'none.yaml')])).text, /none\.yaml can't be read \(ENOENT\)/);
    assert.match((await run(['-f', join(folder, 'empty')])).text, /contains no file that ends in/);
    assert.match((await run(['-f', '/dev/zero'])).text, /\/dev\/zero is larger than 1048576 bytes/);
  });
});

test('a missing permission is reported, and no object is created', async () => {
  const reader = await baton.participant(['tasks.read', 'org.read', 'task_types.read'], 'human');
  const env = { BATON_URL: baton.url, BATON_TOKEN: reader.token };
  const role = file(documentOf('Role', 'forbidden', { name: 'Forbidden' }));
  const refused = await run(['-f', role, '--yes'], env);
  assert.equal(refused.code, 1);
  assert.match(
    refused.text,
    /Role forbidden was not changed:\npermission_denied: .*\n.*whoami.*\nIt requires org\.manage\./,
  );
  assert.match(refused.text, /^0 of 1 changes were made\./m);
  const type = file(documentOf('TaskType', 'forbidden', { displayName: 'Forbidden' }));
  assert.match(
    (await run(['-f', type, '--dry-run'], env)).text,
    /permission_denied.*\n.*\nIt requires packages\.plan\./,
  );
  const person = file(documentOf('Principal', 'forbidden', { kind: 'human', displayName: 'Forbidden' }));
  assert.match((await run(['-f', person], env)).text, /Principals can't be read: permission_denied/);
});

test('after a rejected change, the report lists what was created; with --json, for each', async () => {
  const path = file(
    [
      documentOf('Role', 'midway', { name: 'Midway' }),
      documentOf('Workspace', 'Not A Slug', { name: 'Wrong' }),
      documentOf('Principal', 'midway', { kind: 'human', displayName: 'Midway' }),
    ].join('\n---\n'),
  );
  const { code, text } = await run(['-f', path, '--yes', '--json', 'key,outcome']);
  assert.equal(code, 1);
  const line = text.split('\n').find((one) => one.startsWith('[')) as string;
  assert.deepEqual(JSON.parse(line), [
    { key: 'midway', outcome: 'done' },
    { key: 'Not A Slug', outcome: 'failed' },
    { key: 'midway', outcome: 'not reached' },
  ]);
  assert.match(text, /:3:65: Workspace Not A Slug was not changed:\n.*body\.slug/);
  assert.match(text, /^1 of 3 changes were made\. Run it again: changes already made are skipped\.$/m);
});

test('too many documents for one plan are rejected with advice', async () => {
  const types = (count: number, spec: object) =>
    file(Array.from({ length: count }, (_, n) => documentOf('TaskType', `much-${n}`, spec)).join('\n---\n'));
  const many = await run(['-f', types(101, { displayName: 'x' }), '--dry-run']);
  assert.match(many.text, /more than 100 calendars, task types, agents, .* change: apply them in parts\./);
});

test('an object of a package is not changed', async () => {
  await baton.admin.roles.create({ slug: 'packaged', name: 'Packaged' });
  await baton.admin.packages.record({
    package: { key: 'returns', version: '1' },
    objects: [{ kind: 'Role', key: 'packaged' }],
  });
  const { text } = await run(['-f', file(documentOf('Role', 'packaged', { name: 'Mine' })), '--yes']);
  assert.match(text, /key: it is an object of the package returns: change that\./);
});

test('an object that was renamed since its creation by a file is created again', async () => {
  const path = file(
    [
      documentOf('Role', 'moved', { name: 'Moved' }),
      documentOf('Principal', 'moved', { kind: 'service', displayName: 'Moved' }),
    ].join('\n---\n'),
  );
  await itemsOf(['-f', path, '--yes']);
  const { admin } = baton;
  const role = (await admin.roles.list({ limit: 200 })).items.find(({ slug }) => slug === 'moved');
  await admin.roles.update(role?.id ?? '', { slug: 'elsewhere' }, { ifMatch: '"role-1"' });
  const person = (await admin.principals.list({ limit: 200 })).items.find(
    ({ metadata }) => metadata['applyKey'] === 'moved',
  );
  const unknown = { displayName: 'Elsewhere', metadata: {} };
  await admin.principals.update(person?.id ?? '', unknown, { ifMatch: '"principal-1"' });
  assert.deepEqual(actionsOf(await itemsOf(['-f', path, '--yes'])), ['create']);
  assert.deepEqual(actionsOf(await itemsOf(['-f', path, '--dry-run'])), ['unchanged']);
});

test('a project loses its owner and its date by null', async () => {
  const project = (spec: object) =>
    file(documentOf('Project', 'shop/returns', { template: 'improvement', ...spec }));
  const before = { owner: 'ada', targetDate: '2027-03-01T00:00:00Z' };
  const path = project({ owner: null, targetDate: null });
  const [item] = await itemsOf(['-f', path, '--yes']);
  assert.deepEqual(item?.fields.map(({ path: at, after }) => [at, after]).sort(), [
    ['/owner', null],
    ['/targetDate', null],
  ]);
  assert.deepEqual(actionsOf(await itemsOf(['-f', path, '--dry-run'])), ['unchanged']);
  await itemsOf(['-f', project(before), '--yes']);
  assert.deepEqual(actionsOf(await itemsOf(['-f', example, '--dry-run'])), ['unchanged']);
});

// From util-linux: runs a command in a separate terminal.
const script = '/usr/bin/script';
const noTerminal = !existsSync(script) && `${script} is not there`;

test('at a terminal it prompts after the plan, and only yes continues', { skip: noTerminal }, async () => {
  const path = file(documentOf('Role', 'asked', { name: 'Asked' }));
  const answered = async (answer: string) => {
    const command = `${process.execPath} --import ${fastStart} packages/cli/src/main.ts apply -f ${path}`;
    const env = { PATH: process.env['PATH'], HOME: folder, BATON_HOME: baton.home };
    const child = spawn(script, ['-qec', command, '/dev/null'], { cwd: repository, env });
    let text = '';
    child.stdout.on('data', (part: Buffer) => {
      const isAsked = /continues: /.test(text);
      text += part.toString();
      if (!isAsked && /continues: /.test(text)) child.stdin.write(answer);
    });
    const [code] = (await once(child, 'close')) as [number];
    return { code, text };
  };
  for (const { code, text } of await Promise.all(['y\n', '\n', '\u0004', '\u0003'].map(answered))) {
    assert.equal(code, 1, text);
    assert.match(text, /create +Role asked[^]*Nothing was changed\./);
  }
  const { code, text } = await answered('yes\n');
  assert.equal(code, 0, text);
  assert.match(text, /One change is made\./);
});
