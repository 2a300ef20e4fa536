import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { sql } from '@baton/kernel/database/sql';
import { newId } from '@baton/values/ids';
import { startPolicyMode } from '../../testing/access/policy-mode.ts';
import { type Actor, startCoordination, type TestCoordination } from '../../testing/coordination.ts';
import { done, makeTask, refused } from '../../testing/leases.ts';
import { makeNarrowPerson, makeWorkspace } from '../../testing/organisation/workspaces.ts';

let baton: TestCoordination;
let agent: Actor;
before(async () => {
  baton = await startCoordination();
  agent = await baton.actor({ kind: 'agent', permissions: ['tasks.read', 'approvals.manage'] });
});
after(() => baton.close());

const person = (permissions: Parameters<TestCoordination['actor']>[0] = {}) =>
  baton.actor({ kind: 'human', permissions: ['approvals.decide'], ...permissions });
const decidersOf = (task: any, by: Actor = agent) => done(by.get(`/tasks/${task.publicId}/deciders`));
const peopleOf = async (task: any, by: Actor = agent): Promise<string[]> =>
  (await decidersOf(task, by)).people.map(({ id }: any) => id);
const rolesOf = async (task: any, by: Actor = agent): Promise<string[]> =>
  (await decidersOf(task, by)).roles.map(({ id }: any) => id);
const nameOf = async (id: string) => (await done(baton.admin.get(`/principals/${id}`))).displayName;

async function makeRole(holderId: string, { filedIn, heldIn }: { filedIn?: string; heldIn?: string } = {}) {
  const slug = `r${newId()}`;
  const role = await done(
    baton.admin.post('/roles', { slug, name: 'Release manager', workspaceId: filedIn ?? null }),
    201,
  );
  await done(
    baton.admin.post(`/principals/${holderId}/roles`, { roleId: role.id, workspaceId: heldIn ?? null }),
    201,
  );
  return role;
}

test('eligible deciders are listed by name and id: only people with approvals.decide or admin', async () => {
  const task = await makeTask(baton);
  const one = await person();
  const others = [
    await person({ permissions: ['approvals.read', 'approvals.manage'] }),
    await person({ kind: 'agent' }),
    await person({ kind: 'service' }),
    await person({ tenantId: baton.otherTenantId }),
  ];
  const { people, hasMore } = await decidersOf(task);
  const ids = people.map(({ id }: any) => id);
  assert.ok(ids.includes(one.principalId) && ids.includes(baton.admin.principalId));
  for (const { principalId } of others) assert.ok(!ids.includes(principalId));
  assert.equal(hasMore, false);
  for (const { id, displayName, ...rest } of people) {
    assert.deepEqual([displayName, rest], [await nameOf(id), {}]);
    // A request can be addressed to each of them.
    await done(agent.post('/approvals', { task: task.publicId, assignedPrincipalId: id }), 201);
  }
});

test('a disabled person, or one who lost the binding, is not listed; one with a valid key is', async () => {
  const task = await makeTask(baton);
  const [disabled, unbound, byKey, byOldKey] = await Promise.all([person(), person(), person(), person()]);
  const end = (actor: Actor) =>
    baton.pool.run(
      sql`update iam_bindings set status = 'revoked', revoked_at = now() where principal_id = ${actor.principalId}`,
    );
  for (const actor of [byKey, byOldKey])
    await done(
      baton.admin.post(`/principals/${actor.principalId}/api-keys`, { permissions: ['approvals.decide'] }),
      201,
    );
  await Promise.all([end(unbound), end(byKey), end(byOldKey)]);
  await baton.pool.run(
    sql`update api_keys set expires_at = now() - interval '1 second' where principal_id = ${byOldKey.principalId}`,
  );
  await done(baton.admin.post(`/principals/${disabled.principalId}:disable`));
  const ids = await peopleOf(task);
  assert.deepEqual(
    [disabled, unbound, byKey, byOldKey].map(({ principalId }) => ids.includes(principalId)),
    [false, false, true, false],
  );
});

test('the owner of the task comes first', async () => {
  const owner = await person();
  const task = await makeTask(baton, { ownerId: owner.principalId });
  assert.equal((await peopleOf(task))[0], owner.principalId);
  const unable = await person({ permissions: ['tasks.read'] });
  const other = await makeTask(baton, { ownerId: unable.principalId });
  assert.ok(!(await peopleOf(other)).includes(unable.principalId));
});

test('a person who may not see the task is not listed', async () => {
  const { person: narrow, mine, other } = await makeNarrowPerson(baton);
  const [seen, hidden, ofTenant] = [
    await makeTask(baton, { workspaceId: mine.id }),
    await makeTask(baton, { workspaceId: other.id }),
    await makeTask(baton),
  ];
  const isListed = async (task: any) => (await peopleOf(task)).includes(narrow.principalId);
  assert.deepEqual(
    [await isListed(seen), await isListed(hidden), await isListed(ofTenant)],
    [true, false, true],
  );
});

test('lists roles that an eligible decider holds in the workspace of the task', async () => {
  const above = await makeWorkspace(baton);
  const below = await makeWorkspace(baton, { parentId: above.id });
  const elsewhere = await makeWorkspace(baton);
  const decider = await person();
  const unable = await person({ permissions: ['tasks.read'] });
  const [inTenant, inAbove, inElsewhere, ofUnable] = [
    await makeRole(decider.principalId),
    await makeRole(decider.principalId, { heldIn: above.id }),
    await makeRole(decider.principalId, { heldIn: elsewhere.id }),
    await makeRole(unable.principalId),
  ];
  const roles = [inTenant, inAbove, inElsewhere, ofUnable];
  const listed = async (task: any) => {
    const ids = await rolesOf(task);
    return roles.map(({ id }) => ids.includes(id));
  };
  assert.deepEqual(await listed(await makeTask(baton, { workspaceId: below.id })), [
    true,
    true,
    false,
    false,
  ]);
  assert.deepEqual(await listed(await makeTask(baton)), [true, false, false, false]);
  const task = await makeTask(baton, { workspaceId: below.id });
  const { roles: shown } = await decidersOf(task);
  const found = shown.find(({ id }: any) => id === inAbove.id);
  assert.deepEqual(found, { id: inAbove.id, slug: inAbove.slug, name: inAbove.name });
  const asked = await done(
    agent.post('/approvals', { task: task.publicId, requiredRoleId: inAbove.id }),
    201,
  );
  await done(decider.post(`/approvals/${asked.id}:approve`));
});

test('hidden objects are not revealed: a hidden task is not found, a role of a hidden workspace not listed', async () => {
  const { person: narrow, mine, other } = await makeNarrowPerson(baton);
  const decider = await person();
  const [own, hidden] = [
    await makeRole(decider.principalId, { filedIn: mine.id }),
    await makeRole(decider.principalId, { filedIn: other.id }),
  ];
  const task = await makeTask(baton, { workspaceId: mine.id });
  const roles = await rolesOf(task, narrow);
  assert.deepEqual([roles.includes(own.id), roles.includes(hidden.id)], [true, false]);
  assert.ok((await rolesOf(task)).includes(hidden.id));
  const unseen = await makeTask(baton, { workspaceId: other.id });
  await refused(narrow.get(`/tasks/${unseen.publicId}/deciders`), 404, 'not_found');
  await refused(baton.otherAdmin.get(`/tasks/${task.id}/deciders`), 404, 'not_found');
  const reader = await baton.actor({ kind: 'agent', permissions: ['tasks.read'] });
  await refused(reader.get(`/tasks/${task.publicId}/deciders`), 403, 'permission_denied');
});

test('at most 20 are listed, and hasMore is true', async () => {
  const task = await makeTask(baton);
  const many = await Promise.all(Array.from({ length: 21 }, () => person()));
  const { people, hasMore } = await decidersOf(task);
  assert.deepEqual([people.length, hasMore], [20, true]);
  const names = people.map(({ displayName }: any) => displayName);
  assert.deepEqual(names, names.toSorted());
  for (const { principalId } of many) await done(baton.admin.post(`/principals/${principalId}:disable`));
});

test('with a decision point hasMore is always true, and only callers who may request an approval get the list', async () => {
  const { baton: judged, policy, reset, close } = await startPolicyMode();
  try {
    reset();
    const asker = await judged.actor({ kind: 'agent', permissions: [] });
    const unbound = await judged.actor({ kind: 'human', permissions: [] });
    const [mine, other] = [await makeWorkspace(judged), await makeWorkspace(judged)];
    const [task, hidden] = [
      await makeTask(judged, { workspaceId: mine.id }),
      await makeTask(judged, { workspaceId: other.id }),
    ];
    await refused(asker.get(`/tasks/${task.publicId}/deciders`), 403, 'permission_denied');
    const places = [`tenant:${judged.tenantId}`, `workspace:${mine.id}`];
    policy.decide(({ action, resource }) => action === 'approvals.manage' && places.includes(resource));
    await refused(asker.get(`/tasks/${hidden.publicId}/deciders`), 403, 'permission_denied');
    const { people, hasMore } = await decidersOf(task, asker);
    const ids = people.map(({ id }: any) => id);
    assert.ok(ids.includes(judged.admin.principalId) && !ids.includes(unbound.principalId));
    assert.equal(hasMore, true);
  } finally {
    await close();
  }
});
