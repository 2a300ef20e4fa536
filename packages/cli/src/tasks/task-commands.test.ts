import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import type { Task } from '@baton/sdk';
import { type Participant, type RunningBaton, sharedBaton } from '@baton/testing/running-baton';
import { runCommand } from '../testing/run-command.ts';

// The commands for one task, against a whole Baton.

let baton: RunningBaton;
let folder: string;
let person: Participant;

before(async () => {
  baton = await sharedBaton();
  folder = mkdtempSync(join(tmpdir(), 'baton-task-commands-'));
  person = await baton.participant(
    ['tasks.read', 'tasks.claim', 'sessions.open', 'task_types.read'],
    'human',
  );
});
after(async () => {
  rmSync(folder, { recursive: true, force: true });
  await baton?.stop();
});

const run = (args: readonly string[], env: Record<string, string> = { BATON_HOME: baton.home }) =>
  runCommand(args, { HOME: folder, ...env });
async function done(args: readonly string[], env?: Record<string, string>): Promise<string> {
  const { code, text } = await run(args, env);
  assert.equal(code, 0, text);
  return text;
}
const asPerson = (name: string) => ({
  BATON_URL: baton.url,
  BATON_TOKEN: person.token,
  XDG_CONFIG_HOME: join(folder, name),
});

test('close lists open prerequisites and changes nothing; --force completes the task anyway', async () => {
  const { admin } = baton;
  const [first, hidden, task] = [
    await admin.tasks.create({ title: 'First' }),
    await admin.tasks.create({ title: 'Also first' }),
    await admin.tasks.create({ title: 'Then' }),
  ];
  await admin.tasks.createRelation(task.id, { type: 'depends_on', toTask: first.id });
  await admin.tasks.createRelation(hidden.id, { type: 'blocks', toTask: task.id });
  const refused = await run(['task', 'close', task.publicId]);
  assert.equal(refused.code, 1);
  assert.equal(
    refused.text,
    `${task.publicId} has open prerequisites: ${first.publicId} (todo), ${hidden.publicId} (todo). Complete them first, or pass --force.\n`,
  );
  assert.equal((await admin.tasks.get(task.id)).status, 'todo');
  assert.equal(await done(['task', 'close', task.publicId, '--force']), `${task.publicId} is done.\n`);
  assert.equal(await done(['task', 'close', first.publicId]), `${first.publicId} is done.\n`);
});

test('view shows title, status, assignee, result and the last comments; --fields shows the rest', async () => {
  const { admin } = baton;
  const task = await admin.tasks.create({
    title: 'Paint it',
    description: 'Blue.\nTwice.',
    assigneeId: person.principalId,
  });
  for (const body of ['one', 'two', 'three', 'four']) await admin.tasks.createComment(task.id, { body });
  const env = asPerson('view');
  await done(['work', 'take', task.publicId], env);
  const held = await done(['task', 'view', task.publicId]);
  for (const line of [
    /^title +Paint it$/m,
    /^status +in_progress$/m,
    /^assignee +a test$/m,
    /^holder +a test, until \S+Z$/m,
    /^description:\n {2}Blue\.\n {2}Twice\.$/m,
    /^last comments \(--comments shows all\):\n {2}\S+Z {2}\S.*\n {4}two$/m,
  ])
    assert.match(held, line);
  assert.doesNotMatch(held, /tenantId|^ {4}one$|[\da-f]{8}-[\da-f]{4}-/m);
  await done(['work', 'done', '--output', '{"colour":"blue"}'], env);
  const finished = await done(['task', 'view', task.publicId]);
  assert.match(finished, /^status +done$/m);
  assert.match(finished, /^result:\n {2}\{"colour":"blue"\}$/m);
  const all = await done(['task', 'view', task.publicId, '--fields', 'all']);
  for (const name of ['tenantId', 'version', 'customFields']) assert.match(all, new RegExp(`^${name} `, 'm'));
  assert.match(
    await done(['task', 'view', task.publicId, '--fields', 'title,version']),
    /^title +Paint it\nversion +\d+\n$/,
  );
  const unknown = await run(['task', 'view', task.publicId, '--fields', 'colour']);
  assert.deepEqual(
    [unknown.code, /There is no field colour; valid fields: id, /.test(unknown.text)],
    [2, true],
  );
  const json = JSON.parse(await done(['task', 'view', task.publicId, '--json'])) as Task;
  assert.equal(json.id, task.id);
});

test('why explains why a task is not available, with the command that would change it', async () => {
  const { admin } = baton;
  const why = (ref: string, env?: Record<string, string>) => done(['task', 'why', ref], env);
  const [first, second] = [
    await admin.tasks.create({ title: 'First' }),
    await admin.tasks.create({ title: 'Second' }),
  ];
  await admin.tasks.createRelation(second.id, { type: 'depends_on', toTask: first.id });
  assert.match(await why(first.publicId), /can be taken now: npx baton work take TASK-\d+$/m);
  const waiting = await why(second.publicId);
  assert.match(
    waiting,
    new RegExp(`^It waits for other tasks: ${first.publicId} \\(todo\\)\\. Since \\S+Z\\.$`, 'm'),
  );
  assert.match(
    waiting,
    new RegExp(`^ {2}complete the prerequisite: npx baton task close ${first.publicId}$`, 'm'),
  );
  assert.match(waiting, /^ {2}remove the dependency: npx baton api DELETE \//m);
  await done(['work', 'take', first.publicId], asPerson('why'));
  assert.match(
    await why(first.publicId),
    /^a test holds it until \S+Z, unless the holder extends the lease\./m,
  );
  assert.match(await why(first.publicId), /^ {2}end the lease: npx baton claim release \S+$/m);
  await done(['work', 'drop'], asPerson('why'));
  await admin.tasks.update(
    first.id,
    { status: 'blocked' },
    { ifMatch: `"task-${(await admin.tasks.get(first.id)).version}"` },
  );
  assert.match(
    await why(first.publicId),
    /^It is blocked: its status is blocked, and it isn't available until/m,
  );
  assert.match(
    await why(first.publicId),
    new RegExp(`npx baton task edit ${first.publicId} --status STATUS`),
  );
  const later = await admin.tasks.create({ title: 'Later', startDate: '2999-01-01' });
  assert.match(await why(later.publicId), /^It starts at 2999-01-01T\S+, and can't be taken before\.$/m);
  await done(['task', 'cancel', later.publicId]);
  assert.match(await why(later.publicId), /^It has ended: its status is cancelled\./m);
});

test("drop ends the run as cancelled, which doesn't count as a failed attempt", async () => {
  const task = await baton.admin.tasks.create({ title: 'Not today' });
  const env = asPerson('drop');
  await done(['work', 'take', task.publicId], env);
  await done(['work', 'drop', '--reason', 'tomorrow'], env);
  const [run] = (await baton.admin.runs.list({ taskId: task.id })).items;
  assert.equal(run?.status, 'cancelled');
  assert.match(await done(['task', 'why', task.publicId]), /can be taken now/);
});

test('a pause after a failed attempt is ended by make-available', async () => {
  const { admin } = baton;
  const task = await admin.tasks.create({ title: 'Flaky' });
  const { id: sessionId } = await admin.sessions.open({ clientName: 'test' });
  const { id: claimId, fencingToken } = await admin.tasks.claim(task.id, { sessionId });
  const { id } = await admin.tasks.startRun(task.id, { claimId, fencingToken });
  await admin.runs.fail(id, { failureReason: 'it did not work' });
  await admin.claims.release(claimId);
  assert.match(
    await done(['task', 'why', task.publicId]),
    /^It is paused until \S+, because an attempt failed\.[^]*end the pause: npx baton task make-available/m,
  );
  const taken = await run(['work', 'take', task.publicId]);
  assert.match(taken.text, /^task_not_due: .* It is blocked until \d{4}-\S+Z\. /);
  assert.equal(
    await done(['task', 'make-available', task.publicId]),
    `${task.publicId} is no longer paused.\n`,
  );
  assert.match(await done(['task', 'why', task.publicId]), /can be taken now/);
  await done(['task', 'edit', task.publicId, '--status', 'blocked']);
  assert.equal(
    await done(['task', 'make-available', task.publicId]),
    `${task.publicId} is no longer paused, but its status blocked holds it back: npx baton task edit ${task.publicId} --status STATUS.\n`,
  );
});

test('a wrong priority, status or type lists the right ones, and a missing permission is reported', async () => {
  const { publicId } = await baton.admin.tasks.create({ title: 'To be changed' });
  for (const [args, code, text] of [
    [['task', 'create', 'x', '--priority', 'urgent'], 2, /critical, high, medium, low/],
    [['task', 'list', '--priority', 'urgent'], 1, /^invalid_priority: .*critical, high, medium, low\./],
    [
      ['task', 'edit', publicId, '--status', 'gone'],
      1,
      /^status_not_in_lifecycle: .* It can be: .*\bdone\b.*\./,
    ],
    [
      ['task', 'create', 'x', '--type', 'nope'],
      1,
      /^There is no task type nope; there are: .*\btask\b.*\.$/m,
    ],
    [['task', 'list', '--type', 'nope'], 1, /^There is no task type nope; there are: .*\btask\b.*\.$/m],
  ] as const) {
    const said = await run(args);
    assert.equal(said.code, code, said.text);
    assert.match(said.text, text);
  }
  const denied = await run(['task', 'create', 'x'], asPerson('denied'));
  assert.equal(denied.code, 1);
  assert.match(denied.text, /^permission_denied: .* It requires tasks\.write\./);
});
