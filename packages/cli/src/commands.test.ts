import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import type { Task } from '@baton/sdk';
import { type Participant, type RunningBaton, sharedBaton } from '@baton/testing/running-baton';
import { runCommand } from './testing/run-command.ts';
import { commandLine, noTerminal, runAtTerminal } from './testing/terminal.ts';

// The command line, against a whole Baton.

let baton: RunningBaton;
let folder: string;
let person: Participant;

before(async () => {
  baton = await sharedBaton();
  folder = mkdtempSync(join(tmpdir(), 'baton-commands-'));
  const permissions = [
    'tasks.read',
    'tasks.write',
    'tasks.claim',
    'task_types.read',
    'sessions.open',
    'events.read',
  ];
  person = await baton.participant([...permissions, 'approvals.read', 'approvals.decide'], 'human');
});
after(async () => {
  await baton?.stop();
  rmSync(folder, { recursive: true, force: true });
});

/** Runs one command; by default as the administrator of the Baton of this machine. */
const run = (
  args: readonly string[],
  env: Record<string, string> = { BATON_HOME: baton.home },
  input?: string,
) => runCommand(args, { HOME: folder, ...env }, input);

/** Runs one command that must succeed. */
async function done(args: readonly string[], env?: Record<string, string>): Promise<string> {
  const { code, text } = await run(args, env);
  assert.equal(code, 0, text);
  return text;
}

const json = async <Value>(args: readonly string[], env?: Record<string, string>) =>
  JSON.parse(await done([...args, '--json'], env)) as Value;
const asPerson = () => ({ BATON_URL: baton.url, BATON_TOKEN: person.token });

test('a task is created, listed, shown, changed, commented and closed', async () => {
  const { publicId } = await json<Task>([
    'task',
    'create',
    'Write the page',
    '--priority',
    'high',
    '--assignee',
    'me',
  ]);
  assert.match(
    await done(['task', 'list', '--q', 'page', '--assignee', 'me']),
    new RegExp(`^${publicId}  todo +high +task +Write the page$`, 'm'),
  );
  assert.match(await done(['task', 'view', publicId]), /^title +Write the page$/m);
  assert.match(
    await done(['task', 'edit', publicId, '--title', 'Write both pages', '--status', 'blocked']),
    /Write both pages \(blocked, priority high\)/,
  );
  assert.equal(await done(['task', 'comment', publicId, 'Half is done.']), `Commented on ${publicId}.\n`);
  assert.equal(await done(['task', 'close', publicId]), `${publicId} is done.\n`);
  assert.match((await run(['task', 'edit', publicId])).text, /Name what to change/);
});

test('a title that moves the cursor or reverses text is escaped by every command', async () => {
  const title = 'A\u001b[2J\u009b2J\u202eb, and \u{1F469}\u200d\u{1F527}';
  const { publicId } = await json<Task>(['task', 'create', 'To be renamed', '--priority', 'critical']);
  for (const command of [
    ['task', 'edit', publicId, '--title', title],
    ['task', 'list', '--q', publicId],
    ['task', 'view', publicId],
    ['tasks'],
    ['work', 'take', publicId],
    ['work', 'status'],
  ]) {
    const text = await done(command);
    assert.match(text, /A \[2J 2J b, and \u{1F469}\u200d\u{1F527}/u, command.join(' '));
    assert.doesNotMatch(text, /[^\P{Cc}\n]|\u202e/u, command.join(' '));
  }
  await done(['work', 'drop']);
  await done(['task', 'cancel', publicId]);
});

test('of many comments the newest are shown, with a note about older ones', async () => {
  const { id, publicId } = await json<Task>(['task', 'create', 'Many comments']);
  for (let n = 0; n < 201; n += 50)
    await Promise.all(
      Array.from({ length: Math.min(50, 201 - n) }, () =>
        baton.admin.tasks.createComment(id, { body: 'An earlier comment.' }),
      ),
    );
  await baton.admin.tasks.createComment(id, { body: 'The last comment.' });
  for (const command of [
    ['task', 'comments', publicId],
    ['task', 'view', publicId, '--comments'],
  ]) {
    const text = await done(command);
    assert.match(text, /^2 older comments are not shown\.$/m);
    assert.match(text, /The last comment\.\n$/);
    assert.equal(text.match(/^ {2}(?:An earlier|The last) /gm)?.length, 200);
  }
  const page = await json<{ items: unknown[]; older: number }>(['task', 'comments', publicId]);
  assert.deepEqual([page.items.length, page.older], [200, 2]);
});

test('a task has labels, a parent, relations and comments, is shown with them, and is cancelled', async () => {
  const { publicId: parent } = await json<Task>(['task', 'create', 'All of it']);
  const file = join(folder, 'what.md');
  writeFileSync(file, 'Line one.\nLine two.');
  const fields = ['--parent', parent, '--label', 'gpu', '--label', 'night', '--description-file', file];
  const made = await json<Task>(['task', 'create', 'A part', ...fields]);
  assert.deepEqual(
    [made.customFields, made.description],
    [{ labels: ['gpu', 'night'] }, 'Line one.\nLine two.'],
  );
  assert.equal(
    await done(['task', 'relate', made.publicId, 'related_to', parent]),
    `${made.publicId} related_to ${parent}.\n`,
  );
  assert.equal(await done(['task', 'comments', made.publicId]), `${made.publicId} has no comments.\n`);
  await done(['task', 'comment', made.publicId, 'First\u001b[2J line.\nSecond line.']);
  assert.match(
    await done(['task', 'comments', made.publicId]),
    /^\S+Z {2}\S+\n {2}First \[2J line\.\n {2}Second line\.\n$/,
  );
  const shown = await done(['task', 'view', made.publicId, '--comments']);
  for (const line of [/^parent {2}\S+$/m, /^related_to {2}\S+$/m, /^ {2}Second line\.$/m])
    assert.match(shown, line);
  const { relations } = await json<{ relations: unknown[] }>(['task', 'show', made.publicId, '--comments']);
  assert.equal(relations.length, 2);
  assert.equal(await done(['task', 'view', made.publicId, '--web']), `${baton.url}/tasks/${made.publicId}\n`);
  await done(['task', 'unrelate', made.publicId, 'related_to', parent]);
  assert.equal((await run(['task', 'unrelate', made.publicId, 'related_to', parent])).code, 1);
  assert.equal(await done(['task', 'cancel', made.publicId]), `${made.publicId} is cancelled.\n`);
  assert.equal((await run(['task', 'cancel', made.publicId])).code, 1);
});

test('a newcomer can go from an empty folder to finished work with the command line only', async () => {
  const env = { BATON_HOME: baton.home, XDG_CONFIG_HOME: join(folder, 'newcomer') };
  assert.match(await done(['--help'], env), /^Begin:\n {2}start /m);
  assert.match(await done(['status'], env), /^coordination +up /m);
  assert.match(await done(['whoami'], env), /permissions: /);
  const { publicId } = await json<Task>(['task', 'create', 'My first task', '--priority', 'critical'], env);
  assert.match(await done(['work', 'next'], env), new RegExp(`^${publicId}  critical`, 'm'));
  assert.match(await done(['work', 'take'], env), new RegExp(`^You hold ${publicId}: My first task$`, 'm'));
  assert.match(await done(['run', 'list', '--status', 'running'], env), /running/);
  assert.equal(await done(['work', 'done'], env), `${publicId} is done.\n`);
  assert.match(await done(['events', '--types', 'task.completed'], env), /task\.completed/);
  assert.match(await done(['task', 'view', publicId], env), /^status +done$/m);
});

test('work that is finished after the lease expired is rejected, and somebody else finishes it', async () => {
  const env = { ...asPerson(), XDG_CONFIG_HOME: join(folder, 'lost') };
  const { publicId, id } = await baton.admin.tasks.create({ title: 'Slowly' });
  await done(['work', 'take', publicId], env);
  await baton.endLease(id);
  const late = await run(['work', 'done', '--output', '{"late":true}'], env);
  assert.equal(late.code, 1);
  assert.match(
    late.text,
    new RegExp(
      `^Your lease on ${publicId} has ended \\(\\w+\\): somebody else may work on it\\. Clear it with npx baton work drop\\.$`,
      'm',
    ),
  );
  const other = { BATON_HOME: baton.home, XDG_CONFIG_HOME: join(folder, 'other') };
  await done(['work', 'take', publicId], other);
  assert.equal((await run(['work', 'done'], env)).code, 1);
  assert.equal((await run(['work', 'checkpoint', 'still me'], env)).code, 1);
  assert.equal(await done(['work', 'done', '--output', '{"mine":true}'], other), `${publicId} is done.\n`);
  assert.match(await done(['work', 'drop'], env), /is released/);
  const runs = (await baton.admin.runs.list({ taskId: id })).items;
  assert.deepEqual(
    runs.filter(({ status }) => status === 'succeeded').map(({ output }) => output),
    [{ mine: true }],
  );
});

test('an artifact is created from a file, whose bytes are returned unchanged, from an address, and from a document', async () => {
  const { publicId } = await baton.admin.tasks.create({ title: 'With results' });
  const [source, back] = [join(folder, 'bytes'), join(folder, 'back')];
  const bytes = Buffer.from(Array.from({ length: 4096 }, (_, at) => (at * 7) % 256));
  writeFileSync(source, bytes);
  const { id } = await json<{ id: string }>([
    'artifact',
    'create',
    'raw',
    source,
    '--task',
    publicId,
    '--media-type',
    'image/png',
  ]);
  assert.equal(await done(['artifact', 'download', id, back]), `${back} has 4096 bytes.\n`);
  assert.deepEqual(readFileSync(back), bytes);
  assert.match(
    await done(['artifact', 'create', 'page', '--uri', 'https://a.example/x', '--task', publicId]),
    /is recorded: page\.$/m,
  );
  const document = await json<{ type: string; content: unknown }>([
    'artifact',
    'create',
    'figures',
    '--content',
    '{"n":1}',
    '--task',
    publicId,
  ]);
  assert.deepEqual([document.type, document.content], ['document', { n: 1 }]);
  for (const wrong of [
    ['artifact', 'create', 'none'],
    ['artifact', 'create', 'both', source, '--uri', 'x'],
  ])
    assert.equal((await run(wrong)).code, 2);
});

test('an unavailable task is shown with the reason, and with the call that would make it available', async () => {
  const first = await baton.admin.tasks.create({ title: 'First' });
  const second = await baton.admin.tasks.create({ title: 'Second' });
  await baton.admin.tasks.createRelation(second.id, { type: 'depends_on', toTask: first.id });
  const text = await done(['task', 'why', second.publicId]);
  assert.match(text, /^It waits for other tasks: .*\. Since \S+Z\.$/m);
  assert.match(text, /^ {2}.+: npx baton api (GET|POST|PATCH|DELETE) \//m);
  assert.match(await done(['task', 'why', first.publicId]), /can be taken now: npx baton work take/);
});

test('a person takes a task, saves a step, finishes it; another is released', async () => {
  const env = asPerson();
  const [first, second] = [
    await baton.admin.tasks.create({ title: 'Take me', priority: 'critical' }),
    await baton.admin.tasks.create({ title: 'Drop me' }),
  ];
  assert.match(await done(['work', 'next'], env), /Take me/);
  assert.match(
    await done(['work', 'take', first.publicId, '--intent', 'now'], env),
    new RegExp(`^You hold ${first.publicId}: Take me$`, 'm'),
  );
  const twice = await run(['work', 'take', second.publicId], env);
  assert.deepEqual([twice.code, /You hold .* already/.test(twice.text)], [1, true]);
  assert.match(await done(['work', 'status'], env), /It is yours until/);
  assert.match(await done(['work', 'checkpoint', 'half'], env), /Checkpoint 1/);
  assert.equal((await run(['work', 'done', '--output', '[1]'], env)).code, 2);
  assert.match(await done(['work', 'done', '--output', '{"said":"yes"}'], env), /is done\./);
  const [finished] = (await baton.admin.runs.list({ taskId: first.id })).items;
  assert.deepEqual([finished?.status, finished?.output], ['succeeded', { said: 'yes' }]);
  await done(['work', 'take', second.publicId], env);
  const [held] = (await baton.admin.runs.list({ taskId: second.id })).items;
  await baton.admin.claims.release(held?.claimId as string, { reason: 'taken away' });
  const lost = await run(['work', 'done'], env);
  assert.deepEqual([lost.code, /has ended \(.*\): somebody else/.test(lost.text)], [1, true]);
  assert.match(await done(['work', 'drop'], env), /is released/);
  assert.match((await run(['work', 'status'], env)).text, /You don.t hold a task here/);
  assert.equal((await baton.admin.sessions.get(held?.sessionId as string)).status, 'closed');
});

test('an approval is decided', async () => {
  const { id: task } = await baton.admin.tasks.create({ title: 'Release' });
  const { id } = await baton.admin.approvals.request({
    task,
    comment: 'May I?',
    assignedPrincipalId: person.principalId,
  });
  assert.match(
    await done(['approval', 'list', '--status', 'pending'], asPerson()),
    new RegExp(`${id}  pending .*May I\\?`),
  );
  assert.match(
    await done(['approval', 'approve', id, '--comment', 'Yes.'], asPerson()),
    /^It is approved\.$/m,
  );
  assert.equal((await baton.admin.approvals.get(id)).decisionComment, 'Yes.');
});

test('a process is started by its key, with data, once', async () => {
  const { admin, connection } = baton;
  const { tenantId, issuer } = connection;
  const { id } = await admin.identity.principals.create(tenantId, { kind: 'agent', displayName: 'desk' });
  const identity = {
    kind: 'service' as const,
    permissions: ['tasks.read', 'processes.operate', 'events.read'],
  };
  await admin.agents.publish({ key: 'desk', spec: { displayName: 'Desk', identity, state: 'running' } });
  await admin.agents.linkIdentity('desk', { issuer, iamTenantId: tenantId, iamPrincipalId: id });
  await admin.processDefinitions.publish({
    key: 'returns',
    spec: {
      version: 1,
      displayName: 'Something is sent back',
      identity: { agent: 'desk' },
      owner: [{ principal: (await admin.harness.getContext()).principal.id }],
      start: { on: { observation: 'parcel-back' }, key: 'event.payload.data.order' },
      data: { type: 'object', properties: { order: { type: 'string' } }, required: ['order'] },
      stages: [{ id: 'one', steps: [{ id: 'end', complete: { outcome: 'done' } }] }],
    },
  });
  const start = ['process', 'start', 'returns', 'order-1', '--data'];
  assert.match(await done([...start, '{"order":"4711"}']), /^Process \S+ is \w+\.$/m);
  const { items } = await json<{ items: { data: unknown }[] }>(['process', 'list']);
  assert.deepEqual(
    items.map(({ data }) => data),
    [{ order: '4711' }],
  );
  assert.equal((await run([...start, 'no JSON'])).code, 2);
  assert.match((await run([...start, '{}'])).text, /^invalid_process_data: /);
});

test('every list and its header', async () => {
  const lists = [
    'claim',
    'run',
    'approval',
    'artifact',
    'agent',
    'skill',
    'project',
    'process',
    'principal',
    'directory',
    'token',
    'workspace',
    'goal',
    'rule',
    'task-type',
    'role',
    'session',
    'access',
    'access role',
  ];
  for (const noun of lists) {
    const { items } = await json<{ items: unknown[] }>([...noun.split(' '), 'list', '--limit', '2']);
    assert.ok(Array.isArray(items) && items.length <= 2, noun);
  }
  assert.match(await done(['principal', 'list']), /^ID +KIND +STATUS +NAME$/m);
});

test('a principal that only identity has disabled is listed as such, until it is enabled there', async () => {
  const { tenantId, issuer } = baton.connection;
  const displayName = `Dana ${process.pid}`;
  const person = { kind: 'human' as const, displayName };
  const { id: iamPrincipalId } = await baton.admin.identity.principals.create(tenantId, person);
  const { id } = await baton.admin.principals.create(person);
  const permissions = ['tasks.read'];
  await baton.admin.principals.createIamBinding(id, {
    issuer,
    iamTenantId: tenantId,
    iamPrincipalId,
    permissions,
  });
  const listed = (...args: string[]) => done(['principal', 'list', '--q', displayName, ...args]);
  const line = (status: string) => new RegExp(`^${id} +human +${status} +${displayName}$`, 'm');
  assert.match(await listed(), line('active'));
  await done(['directory', 'disable', iamPrincipalId]);
  assert.match(await listed(), line('disabled at identity'));
  const [item] = (JSON.parse(await listed('--json')) as { items: Record<string, unknown>[] }).items;
  assert.deepEqual([item?.['status'], item?.['identityStatus']], ['active', 'disabled']);
  // Without identity's admin secret, the status in identity can't be read.
  const remote = { BATON_URL: baton.url, BATON_TOKEN: baton.connection.adminToken };
  assert.match(await done(['principal', 'list', '--q', displayName], remote), line('active'));
  await done(['directory', 'enable', iamPrincipalId]);
  assert.match(await listed(), line('active'));
});

test('a token is issued, signs in, and is revoked', async () => {
  const [{ id: principal }] = (await json<{ items: { id: string }[] }>(['directory', 'list'])).items as [
    { id: string },
  ];
  const { tenantId, issuer } = baton.connection;
  // A person can get a token only shortly after signing in.
  await baton.admin.identity.principals.recordAuthenticationContext(tenantId, principal, { issuer });
  const create = ['token', 'create', principal, 'from the test', '--days', '1', '--json'];
  const { token, credential } = JSON.parse(await done(create)) as {
    token: string;
    credential: { id: string };
  };
  const { id } = credential;
  const env = { BATON_URL: baton.url, BATON_TOKEN: token };
  assert.match(await done(['whoami'], env), /permissions: /);
  assert.match(await done(['token', 'list']), new RegExp(`^${id} .* from the test$`, 'm'));
  assert.equal(await done(['token', 'revoke', id]), `Token ${id} is revoked.\n`);
  assert.equal((await run(['whoami'], env)).code, 4);
  const wrong = await run(['token', 'list'], asPerson());
  assert.match(wrong.text, /Only the operator of Baton can run this/);
});

test('login stores a profile that only its owner may read, and context and logout use it', async () => {
  const config = join(folder, 'login');
  const env = { XDG_CONFIG_HOME: config };
  const refused = await run(['login', '--url', baton.url], env, 'wrong\n');
  assert.equal(refused.code, 4);
  const { text, code } = await run(['login', '--url', baton.url, '--name', 'here'], env, `${person.token}\n`);
  assert.equal(code, 0, text);
  assert.match(text, /^Signed in at \S+ as a test \(tenant \w+\); the profile is here\.$/m);
  const file = join(config, 'baton', 'profiles.json');
  assert.equal(statSync(file).mode & 0o777, 0o600);
  const beside = { ...env, BATON_HOME: baton.home };
  for (const variables of [env, beside]) {
    const text = await done(['whoami'], variables);
    assert.match(text, new RegExp(person.principalId));
    assert.match(text, /^at http\S+, by profile here \(in use\)$/m);
  }
  const explicit = { ...beside, BATON_URL: baton.url, BATON_TOKEN: baton.connection.adminToken };
  assert.match(await done(['whoami'], explicit), /by BATON_URL and BATON_TOKEN$/m);
  assert.match(await done(['whoami', '--profile', 'here'], explicit), new RegExp(person.principalId));
  await done(['context', 'local'], beside);
  assert.match(
    await done(['whoami'], beside),
    /by the connection file of BATON_HOME \(.*\), as the administrator$/m,
  );
  await done(['context', 'here'], env);
  assert.match(await done(['context'], env), /^\* +here +http/m);
  assert.equal((await run(['whoami', '--profile', 'elsewhere'], env)).code, 4);
  await done(['logout'], env);
  assert.doesNotMatch(readFileSync(file, 'utf8'), new RegExp(person.token));
});

test('--json prints the selected fields, and --jq filters them', async () => {
  const { publicId } = await json<Task>(['task', 'create', 'For jq']);
  const fields = JSON.parse(await done(['task', 'list', '--q', 'jq', '--json', 'publicId,title']));
  assert.deepEqual(fields, [{ publicId, title: 'For jq' }]);
  assert.equal(await done(['task', 'view', publicId, '--jq', '.title']), 'For jq\n');
  assert.equal(await done(['task', 'list', '--q', 'jq', '--jq', '.items[].title']), 'For jq\n');
  assert.equal(await done(['task', 'list', '--q', 'jq', '--json', 'title', '--jq', '.[].title']), 'For jq\n');
  const unknown = await run(['task', 'view', publicId, '--json', 'colour']);
  assert.deepEqual(
    [unknown.code, /There is no field colour; valid fields: id, /.test(unknown.text)],
    [2, true],
  );
  assert.equal((await run(['task', 'view', publicId, '--jq', '.title | nonsense('])).code, 2);
});

test('the API is called with fields, a file, placeholders, and page after page', async () => {
  const fields = ['-F', 'title=By the API', '-f', 'description=42', '-F', 'startDate=null'];
  const created = JSON.parse(await done(['api', 'post', '/tasks', ...fields])) as Task;
  assert.equal(created.description, '42');
  const deeper = [
    '-F',
    'customFields[labels][]=a',
    '-F',
    'customFields[labels][]=2',
    '-F',
    'customFields[x][y]=true',
  ];
  const nested = JSON.parse(await done(['api', 'POST', '/tasks', '-f', 'title=Deep', ...deeper])) as Task;
  assert.deepEqual(nested.customFields, { labels: ['a', 2], x: { y: true } });
  const file = join(folder, 'body.json');
  writeFileSync(file, JSON.stringify({ title: 'From a file' }));
  assert.match(await done(['api', 'POST', '/api/v1/tasks', '--input', file]), /"From a file"/);
  assert.match(await done(['api', 'GET', '/principals/{me}']), /"kind"/);
  assert.match(await done(['api', 'GET', '/iam/api/v1/tenants/{tenant}']), /"slug"/);
  const all = JSON.parse(await done(['api', 'GET', '/tasks', '-F', 'limit=2', '--paginate'])) as {
    items: unknown[];
  };
  assert.ok(all.items.length > 2);
  // A query has the same effect in the path, in fields, or in both, on every page.
  const word = `pages${process.pid}`;
  for (let n = 0; n < 5; n += 1) await baton.admin.tasks.create({ title: `${word} ${n}` });
  for (const query of [
    [`/tasks?q=${word}&limit=2`],
    [`/tasks?q=${word}`, '-F', 'limit=2'],
    ['/tasks', '-f', `q=${word}`, '-F', 'limit=2'],
  ]) {
    const { items } = JSON.parse(await done(['api', 'GET', ...query, '--paginate'])) as { items: Task[] };
    assert.deepEqual(
      items.map(({ title }) => title).sort(),
      [0, 1, 2, 3, 4].map((n) => `${word} ${n}`),
    );
  }
  for (const args of [
    ['api', 'FETCH', '/tasks'],
    ['api', 'GET', '/tasks/{what}'],
    ['api', 'POST', '/tasks', '-F', 'title'],
    ['api', 'POST', '/tasks', '-F', 'a=1', '-F', 'a[b]=1'],
    ['api', 'POST', '/tasks', '-F', 'title=x', '--input', file],
  ])
    assert.equal((await run(args)).code, 2, args.join(' '));
});

test('doctor finds no problem here, and reports a problem with its remedy', async () => {
  const good = await done(['doctor']);
  for (const check of [
    'node',
    'disk',
    'signed in',
    'coordination',
    'identity',
    'clock',
    'version',
    'signing keys',
    'token',
  ])
    assert.match(good, new RegExp(`^✔ ${check} `, 'm'));
  const away = await run(['doctor'], { BATON_URL: 'http://127.0.0.1:9', BATON_TOKEN: 'x' });
  assert.equal(away.code, 1);
  assert.match(away.text, /^✘ coordination +http\S+ can't be reached\.\n {2}Start it with npx baton start;/m);
  const wrong = await run(['doctor'], { BATON_URL: baton.url, BATON_TOKEN: 'wrong' });
  assert.match(wrong.text, /^✘ token +\w+\n {2}Sign in again: npx baton login\.$/m);
});

test("at a terminal, JSON and filter output can't move the cursor; a program gets them unchanged", {
  skip: noTerminal,
}, async () => {
  const title = 'Hostile\u001b[2J\u009b2J\u202e';
  const { publicId } = await baton.admin.tasks.create({ title });
  const env = { HOME: folder, BATON_HOME: baton.home };
  const moves = (text: string) => ['\u001b', '\u009b', '\u202e'].some((one) => text.includes(one));
  for (const [words, prints] of [
    [`task view ${publicId} --json title`, JSON.stringify({ title })],
    [`task view ${publicId} --jq .title`, title],
    [`task view ${publicId} --jq .`, undefined],
    [`api GET /tasks/${publicId} --json`, undefined],
  ] as const) {
    const command = commandLine(words);
    const piped = execFileSync('sh', ['-c', command], {
      env: { PATH: process.env.PATH, ...env },
      encoding: 'utf8',
    });
    assert.ok(moves(piped), words);
    if (prints !== undefined) assert.equal(piped, `${prints}\n`);
    const { text } = await runAtTerminal(command, { cwd: folder, env });
    assert.ok(!moves(text), words);
    assert.match(text, /Hostile\\u001b\[2J\\u009b2J\\u202e/, words);
  }
});

test('the console is opened for the current account, here or elsewhere', async () => {
  const elsewhere = { BATON_URL: baton.url, BATON_TOKEN: person.token };
  for (const env of [{ BATON_HOME: baton.home }, elsewhere]) {
    const { url } = JSON.parse(await done(['console', '--no-browser', '--json'], env)) as { url: string };
    const [, code] = /\/sign-in#code=([\w-]{43})$/.exec(url) ?? [];
    const answer = await fetch(`${baton.url}/console/sign-in`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'baton-console-key': 'A'.repeat(43) },
      body: JSON.stringify({ code }),
    });
    assert.equal(answer.status, 200, await answer.text());
  }
});

test("--passkey prints a link for a passkey of the administrator, on Baton's machine only", async () => {
  const args = ['console', '--passkey', '--no-browser'];
  const here = { BATON_HOME: baton.home };
  const { url } = JSON.parse(await done([...args, '--json'], here)) as { url: string };
  const [, secret] = /\/invite#(iam_inv_[\w-]+)$/.exec(url) ?? [];
  const answer = await fetch(`${baton.url}/iam/api/v1/invitations:read`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ token: secret }),
  });
  const { kind, displayName } = (await answer.json()) as { kind: string; displayName: string };
  assert.deepEqual([answer.status, kind, displayName], [200, 'recovery', 'Administrator']);
  assert.match(await done(args, here), /^At this address you create a passkey .*within five minutes:$/m);

  const { code, text } = await run(args, { BATON_URL: baton.url, BATON_TOKEN: person.token });
  assert.equal(code, 1);
  assert.match(text, /--passkey requires Baton's connection file: run it on Baton's machine/);
});

test('if the services run separately, the message names the command that serves a console', async () => {
  const coordination = createServer((_req, res) => res.writeHead(404).end('{}')).listen(0, '127.0.0.1');
  await once(coordination, 'listening');
  const { port } = coordination.address() as AddressInfo;
  const { code, text } = await run(['console', '--no-browser'], {
    BATON_URL: `http://127.0.0.1:${port}`,
    BATON_TOKEN: person.token,
  });
  coordination.close();
  assert.equal(code, 1);
  assert.match(text, /serves no console: if the services run separately, npx baton console serve serves it/);
});

test('errors without a sign-in and for a missing task', async () => {
  const nobody = await run(['task', 'list'], {
    XDG_CONFIG_HOME: join(folder, 'none'),
    BATON_PROFILE: 'none',
  });
  assert.equal(nobody.code, 4);
  const missing = await run(['task', 'view', 'TASK-999999']);
  assert.equal(missing.code, 1);
  assert.match(
    missing.text,
    /^not_found: .* \(\/api\/v1\/tasks\/TASK-999999\) \(request req_\w+\)\nSee docs\/errors\.md#not_found\n$/,
  );
  const assignee = '00000000-0000-4000-8000-000000000000';
  const { publicId } = await baton.admin.tasks.create({ title: 'For nobody' });
  const unknown = await run(['task', 'edit', publicId, '--assignee', assignee]);
  assert.match(unknown.text, new RegExp(`^not_found: .* \\(assigneeId ${assignee}\\) `));
});

test("untrusted text can't move the cursor of a terminal", async () => {
  await baton.admin.tasks.create({ title: 'evil \u001b[2Jscreen' });
  assert.match(await done(['task', 'list', '--q', 'evil']), /evil {1,2}\[2Jscreen/);
});

test('the completion of bash contains the commands and their options', async () => {
  const script = await done(['completion', 'bash']);
  const complete = (...words: string[]) =>
    execFileSync(
      'bash',
      [
        '-c',
        `${script}\nCOMP_WORDS=(baton ${words.join(' ')} ''); COMP_CWORD=${words.length + 1}; _baton; echo "\${COMPREPLY[@]}"`,
      ],
      { encoding: 'utf8' },
    );
  assert.match(complete(), /\btask\b.*\bwork\b/);
  assert.match(complete('task'), /\bcreate\b/);
  assert.match(complete('task', 'create'), /--priority/);
  for (const shell of ['zsh', 'fish']) assert.match(await done(['completion', shell]), /task create/);
});
