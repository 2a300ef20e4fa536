import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { sql } from '@baton/kernel/database/sql';
import { newId } from '@baton/values/ids';
import { permissionNames } from '../../service/permissions.ts';
import { setAccess } from '../../testing/access/set-access.ts';
import {
  type Actor,
  type Answer,
  startCoordination,
  type TestCoordination,
} from '../../testing/coordination.ts';
import { makeNarrowPerson } from '../../testing/organisation/workspaces.ts';
import { openStream } from '../../testing/stream/stream-client.ts';
import { newRoleKey } from './access-roles.fixtures.ts';

let baton: TestCoordination;
let admin: Actor;
before(async () => {
  baton = await startCoordination();
  admin = baton.admin;
});
after(() => baton.close());

function refused(answer: Answer, status: number, code: string, details?: object): void {
  assert.deepEqual([answer.status, answer.body.error?.code], [status, code], JSON.stringify(answer.body));
  if (details !== undefined) assert.deepEqual(answer.body.error.details, details);
}

const role = (permissions: readonly string[] = ['principals.read', 'tasks.read']) => ({
  key: newRoleKey(),
  name: 'Role',
  permissions,
});

async function makeRole(permissions?: readonly string[]) {
  const { status, body } = await admin.post('/access-roles', role(permissions));
  assert.equal(status, 201, JSON.stringify(body));
  return body as { id: string; key: string; version: number };
}

const change = (ref: string, body: object, version = 1, actor = admin) =>
  actor.patch(`/access-roles/${ref}`, body, { 'if-match': `"access_role-${version}"` });

/** A person or an agent whose only binding names the role. */
async function holder(accessRole: string, kind: 'human' | 'agent' = 'human'): Promise<Actor> {
  const actor = await baton.actor({ kind });
  const { status, body } = await setAccess(admin, actor.principalId, { accessRole });
  assert.equal(status, 200, JSON.stringify(body));
  return actor;
}

const bindingOf = async ({ principalId }: Actor) =>
  (await admin.get(`/principals/${principalId}/iam-bindings`)).body.items[0];

function eventsOf(entityId: string) {
  return baton.pool.rows<{ type: string; payload: object }>(sql`
    select type, payload from events where entity_id = ${entityId} order by position, sequence`);
}

test('the list begins with the built-in roles, from the fewest to the most permissions, with words for each', async () => {
  const { key } = await makeRole();
  const { status, body } = await admin.get('/access-roles');
  assert.equal(status, 200);
  const keys = body.items.map((item: { key: string }) => item.key);
  assert.deepEqual(keys.slice(0, 5), ['viewer', 'member', 'lead', 'operator', 'administrator']);
  assert.ok(keys.includes(key));
  for (const item of body.items.slice(0, 5)) {
    assert.deepEqual([item.id, item.isBuiltIn, item.createdAt], [null, true, null]);
    assert.ok(item.description.endsWith('.'));
    assert.deepEqual(item.permissions, item.permissions.toSorted());
  }
  const [viewer, member, lead, operator, administrator] = body.items;
  assert.deepEqual(administrator.permissions, permissionNames.toSorted());
  assert.equal(administrator.allows.length, 1);
  assert.equal(viewer.allows.length, viewer.permissions.length);
  assert.ok(viewer.allows.includes('see tasks, who works on them, and what was done'));
  const lacks = (of: { permissions: string[] }, other: { permissions: string[] }) =>
    of.permissions.filter((name) => !other.permissions.includes(name));
  assert.deepEqual(
    [lacks(viewer, member), lacks(member, lead), lacks(lead, operator)],
    [[], [], ['approvals.decide']],
  );
  assert.deepEqual(lacks(administrator, operator), ['admin', 'approvals.decide', 'principals.write']);
  assert.ok(viewer.permissions.every((name: string) => name.endsWith('.read')));
});

test('a member decides what is addressed to them, and nothing else', async () => {
  const [member, other] = [await holder('member'), await holder('member')];
  const { body: approval } = await member.post('/approvals', {
    assignedPrincipalId: member.principalId,
    comment: 'May I?',
  });
  assert.ok(approval.id, JSON.stringify(approval));
  refused(await other.post(`/approvals/${approval.id}:approve`), 403, 'not_eligible');
  assert.equal((await member.post(`/approvals/${approval.id}:approve`)).status, 200);
});

test('every permission is listed with what it allows, and whether only people have it', async () => {
  const { status, body } = await admin.get('/permissions');
  assert.deepEqual([status, body.nextCursor], [200, null]);
  assert.deepEqual(
    body.items.map(({ name }: { name: string }) => name),
    permissionNames,
  );
  const ofPeople = body.items.filter((item: { peopleOnly: boolean }) => item.peopleOnly);
  assert.deepEqual(
    ofPeople.map(({ name }: { name: string }) => name),
    ['approvals.decide', 'admin'],
  );
  assert.ok(body.items.every(({ allows }: { allows: string }) => allows.length > 10));
});

test('an own role is created, found by key and id, and changed with its version', async () => {
  const body = { ...role(['tasks.write', 'tasks.read', 'tasks.read']), description: 'Plans.' };
  const made = await admin.post('/access-roles', body);
  assert.deepEqual([made.status, made.headers.get('etag')], [201, '"access_role-1"']);
  const { id, createdAt: _created, updatedAt: _updated, ...fields } = made.body;
  assert.deepEqual(fields, {
    key: body.key,
    name: 'Role',
    description: 'Plans.',
    permissions: ['tasks.read', 'tasks.write'],
    allows: [
      'see tasks, who works on them, and what was done',
      'create and change tasks, and comment on them',
    ],
    isBuiltIn: false,
    version: 1,
  });
  for (const ref of [id, body.key])
    assert.deepEqual((await admin.get(`/access-roles/${ref}`)).body, made.body);
  const changed = await change(id, { name: 'Planner', permissions: ['tasks.read'] });
  assert.deepEqual(
    [changed.status, changed.body.name, changed.body.permissions, changed.body.version],
    [200, 'Planner', ['tasks.read'], 2],
  );
  assert.deepEqual((await change(body.key, { name: 'Planner' }, 2)).body, changed.body);
  assert.deepEqual(await eventsOf(id), [
    {
      type: 'access_role.created',
      payload: { key: body.key, name: 'Role', permissions: ['tasks.read', 'tasks.write'] },
    },
    {
      type: 'access_role.updated',
      payload: {
        key: body.key,
        version: 2,
        changes: ['name', 'permissions'],
        permissions: ['tasks.read'],
        bindings: 0,
      },
    },
  ]);
});

test('a change of a role changes the bindings that name it, by kind, and open streams end at once', async () => {
  const { key, id } = await makeRole(['events.read', 'principals.read']);
  const [person, agent] = [await holder(key), await holder(key, 'agent')];
  const bystander = await holder('viewer');
  const stream = openStream(baton.url, { token: person.token });
  assert.equal((await person.get('/principals')).status, 200);
  const changed = await change(key, { permissions: ['approvals.decide', 'tasks.read'] });
  assert.equal(changed.status, 200, JSON.stringify(changed.body));
  assert.equal((await stream.ended).code, 4403);
  refused(await person.get('/principals'), 403, 'permission_denied');
  assert.deepEqual((await bindingOf(person)).permissions, ['approvals.decide', 'tasks.read']);
  assert.deepEqual((await bindingOf(agent)).permissions, ['tasks.read']);
  assert.equal((await bystander.get('/principals')).status, 200);
  const [, event] = await eventsOf(id);
  assert.equal((event?.payload as { bindings: number }).bindings, 2);
  const last = (await eventsOf((await bindingOf(agent)).id)).at(-1);
  assert.equal(last?.type, 'iam_binding.updated');
  assert.deepEqual(
    [
      (last?.payload as Record<string, unknown>)['accessRole'],
      (last?.payload as Record<string, unknown>)['permissions'],
    ],
    [key, ['tasks.read']],
  );
});

test('a revoked binding keeps its permissions when its role changes', async () => {
  const { key } = await makeRole();
  const person = await holder(key);
  await admin.post(`/iam-bindings/${(await bindingOf(person)).id}:revoke`);
  assert.equal((await change(key, { permissions: ['goals.read'] })).status, 200);
  assert.deepEqual((await bindingOf(person)).permissions, ['principals.read', 'tasks.read']);
});

test('refusals of a new role come in the documented order', async () => {
  const writer = await baton.actor({ kind: 'human', permissions: ['principals.write', 'tasks.read'] });
  const { key } = await makeRole();
  const create = (body: object, actor = admin) => actor.post('/access-roles', body);
  refused(await create({ ...role(), key: 'Upper' }), 400, 'invalid_request');
  refused(await create({ ...role(), key: newId() }), 400, 'invalid_request');
  refused(await create(role([])), 400, 'invalid_request');
  refused(await create({ ...role(['zebra']), key }, writer), 422, 'invalid_permissions', {
    unknown: ['zebra'],
  });
  refused(await create({ ...role(['goals.read']), key }, writer), 403, 'permission_escalation', {
    missing: ['goals.read'],
  });
  refused(await create({ ...role(), key }), 409, 'access_role_key_conflict', { key });
  refused(await create({ ...role(), key: 'member' }), 409, 'access_role_key_conflict', { key: 'member' });
  const reader = await baton.actor({ permissions: ['principals.read'] });
  refused(await create(role(), reader), 403, 'permission_denied');
});

test('refusals of a change come in the documented order', async () => {
  const { key, id } = await makeRole(['goals.read']);
  const writer = await baton.actor({ kind: 'human', permissions: ['principals.write', 'tasks.read'] });
  refused(await change('member', { name: 'x' }, 9), 409, 'access_role_built_in', { accessRole: 'member' });
  refused(await change('nobody', { name: 'x' }, 9), 404, 'not_found', { accessRole: 'nobody' });
  refused(await change(id, { name: 'x' }, 1, baton.otherAdmin), 404, 'not_found');
  refused(await change(key, {}, 9), 409, 'version_conflict');
  refused(await change(key, { name: null }), 422, 'invalid_field', { field: 'name' });
  refused(await change(key, {}), 422, 'empty_update');
  refused(await change(key, { permissions: ['zebra'] }, 1, writer), 422, 'invalid_permissions');
  // Callers must not remove permissions that they lack from those who have the role, either.
  refused(await change(key, { permissions: ['tasks.read'] }, 1, writer), 403, 'permission_escalation', {
    missing: ['goals.read'],
  });
  await holder(key, 'agent');
  refused(await change(key, { permissions: ['admin'] }), 422, 'permissions_not_allowed_for_kind', {
    kind: 'agent',
    forbidden: ['admin'],
  });
  refused(await change(key, { permissions: ['approvals.decide'] }), 422, 'permissions_not_allowed_for_kind');
});

test('a caller that sees only its own workspaces adds no permission to a role, which others have in the whole tenant', async () => {
  const permissions = ['principals.read', 'principals.write', 'tasks.read', 'tasks.write'] as const;
  const { person: narrow } = await makeNarrowPerson(baton, permissions);
  const { key } = await makeRole(['tasks.read']);
  const more = { permissions: ['tasks.read', 'tasks.write'] };
  refused(await change(key, more, 1, narrow), 403, 'visibility_escalation');
  assert.equal((await change(key, more)).status, 200);
  assert.equal((await change(key, { permissions: ['tasks.read'] }, 2, narrow)).status, 200);
});

test('a role that somebody has is not deleted; an unused one is, and its key is free', async () => {
  const { key, id } = await makeRole();
  const person = await holder(key);
  const remove = (ref: string, actor = admin) => actor.delete(`/access-roles/${ref}`);
  refused(await remove('viewer'), 409, 'access_role_built_in', { accessRole: 'viewer' });
  refused(await remove(newId()), 404, 'not_found');
  refused(await remove(id, baton.otherAdmin), 404, 'not_found');
  refused(await remove(id), 409, 'access_role_in_use', {
    accessRole: key,
    bindings: 1,
    admissionRules: 0,
  });
  await admin.post(`/iam-bindings/${(await bindingOf(person)).id}:revoke`);
  assert.equal((await remove(key)).status, 204);
  refused(await admin.get(`/access-roles/${id}`), 404, 'not_found');
  assert.deepEqual((await eventsOf(id)).at(-1), { type: 'access_role.deleted', payload: { key } });
  assert.equal((await bindingOf(person)).accessRole, null);
  assert.equal((await admin.post('/access-roles', { ...role(), key })).status, 201);
});

test('the role of the last administrator keeps admin', async () => {
  const last = baton.otherAdmin;
  const { body: own } = await last.post('/access-roles', {
    key: 'boss',
    name: 'Boss',
    permissions: ['admin'],
  });
  const named = await setAccess(last, last.principalId, { accessRole: 'boss' });
  assert.equal(named.status, 200, JSON.stringify(named.body));
  const lower = { permissions: ['principals.read', 'principals.write'] };
  refused(await change('boss', lower, own.version, last), 409, 'last_administrator');
  const more = { permissions: ['admin', 'tasks.read'] };
  assert.equal((await change('boss', more, own.version, last)).status, 200);
});

test('a tenant has at most 100 roles of its own', async () => {
  const { tenantId } = baton.otherAdmin;
  await baton.pool.run(sql`
    insert into access_roles (id, tenant_id, key, name, permissions)
    select gen_random_uuid(), ${tenantId}, 'many-' || n, 'Many', '{tasks.read}'
    from generate_series(1, 100 - (select count(*)::int from access_roles where tenant_id = ${tenantId})) n`);
  refused(await baton.otherAdmin.post('/access-roles', role()), 409, 'access_role_limit', { max: 100 });
  await baton.otherAdmin.delete('/access-roles/many-1');
  assert.equal((await baton.otherAdmin.post('/access-roles', role())).status, 201);
});
