import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { type Participant, type RunningBaton, sharedBaton } from '@baton/testing/running-baton';
import { runCommand } from '../testing/run-command.ts';

let baton: RunningBaton;
let maria: Participant;

before(async () => {
  baton = await sharedBaton();
  maria = await baton.participant(['tasks.read'], 'human');
});
after(() => baton?.stop());

const run = (args: readonly string[]) => runCommand(args, { BATON_HOME: baton.home });

async function done(args: readonly string[]): Promise<string> {
  const { code, text } = await run(args);
  assert.equal(code, 0, text);
  return text;
}

test('access show has the rights of somebody in words, access set gives a role, access list shows it', async () => {
  const { principalId: id } = maria;
  const { displayName } = await baton.admin.principals.get(id);
  assert.equal(
    (await done(['access', 'show', id])).trim(),
    `${displayName} has permissions without an access role, which allows to:\n  - see tasks, who works on them, and what was done`,
  );
  const text = await done(['access', 'set', id, 'Member']);
  assert.match(text, new RegExp(`^${displayName} has the access role member, which allows to:$`, 'm'));
  assert.match(text, /^ {2}- decide what is addressed to them or to one of their roles; people only$/m);
  const listed = await done(['access', 'list', '--access-role', 'member']);
  assert.match(listed, /^ID +KIND +STATUS +ROLE +LAST USED +NAME$/m);
  assert.match(listed, new RegExp(`^${id} +human +active +member `, 'm'));
  const { items } = JSON.parse(await done(['access', 'list', '--access-role', 'member', '--json']));
  // Other test files use the same Baton.
  const found = items.find((one: { id: string }) => one.id === id);
  assert.equal(found?.accessRole, 'member');
});

test('somebody without an identity has no access to show or to change', async () => {
  const { id } = await baton.admin.principals.create({ kind: 'agent', displayName: 'Unbound agent' });
  assert.match(await done(['access', 'show', id]), /^Unbound agent can't sign in: no identity is bound/);
  assert.match((await run(['access', 'set', id, 'viewer'])).text, /^principal_not_bound: /);
  assert.match(
    await done(['access', 'list', '--kind', 'agent']),
    new RegExp(`^${id} +agent +active +no access `, 'm'),
  );
});

test('an access role is created, changed for everybody who has it, and deleted', async () => {
  const created = await done([
    ...['access', 'role', 'create', 'planner', 'Planner', '--permissions', 'tasks.read, tasks.write'],
    ...['--description', 'Plans tasks.'],
  ]);
  assert.match(created, /^Planner \(planner\): Plans tasks\.\nAllows to:\n {2}- see tasks/);
  await done(['access', 'set', maria.principalId, 'planner']);
  const changed = await done([
    'access',
    'role',
    'update',
    'Planner',
    '--permissions',
    'goals.read',
    '--name',
    'Reader',
  ]);
  assert.match(
    changed,
    /^Reader \(planner\): Plans tasks\.\nAllows to:\n {2}- see goals and their progress$/m,
  );
  assert.match(
    await done(['access', 'show', maria.principalId]),
    /access role planner, .*\n {2}- see goals and their progress$/m,
  );
  assert.match(await done(['access', 'role', 'list']), /^planner +Reader +custom +Plans tasks\.$/m);
  assert.match((await run(['access', 'role', 'delete', 'planner'])).text, /^access_role_in_use: /);
  await done(['access', 'set', maria.principalId, 'viewer']);
  assert.match(await done(['access', 'role', 'delete', 'planner']), /^Reader is deleted\.$/m);
  assert.match(
    (await run(['access', 'set', maria.principalId, 'planner'])).text,
    /^There is no access role planner\.$/m,
  );
});

test('built-in roles and permissions are explained in words', async () => {
  assert.match(
    await done(['access', 'role', 'show', 'viewer']),
    /^Viewer \(viewer\): Sees the work, .*\nAllows to:\n {2}- see people/,
  );
  assert.match(
    await done(['access', 'permissions']),
    /^tasks\.read +see tasks, who works on them, and what was done$/m,
  );
  assert.match(
    (await run(['access', 'role', 'update', 'viewer', '--name', 'x'])).text,
    /^access_role_built_in: /,
  );
});
