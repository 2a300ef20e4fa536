import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { sql } from '@baton/kernel/database/sql';
import { newId } from '@baton/values/ids';
import {
  type Actor,
  type Answer,
  startCoordination,
  type TestCoordination,
} from '../../testing/coordination.ts';
import { makeNarrowPerson } from '../../testing/organisation/workspaces.ts';
import { newRoleKey } from '../access-roles/access-roles.fixtures.ts';

let baton: TestCoordination;
let humanAdmin: Actor;
before(async () => {
  baton = await startCoordination();
  humanAdmin = baton.admin;
});
after(() => baton.close());

function refused(answer: Answer, status: number, code: string, details?: object): void {
  assert.deepEqual([answer.status, answer.body.error?.code], [status, code], JSON.stringify(answer.body));
  if (details !== undefined) assert.deepEqual(answer.body.error.details, details);
}

async function principal(kind = 'agent', status = 'active'): Promise<string> {
  const { body } = await humanAdmin.post('/principals', { kind, displayName: kind, status });
  return body.id;
}

function identity() {
  return { issuer: baton.issuer.issuer, iamTenantId: newId(), iamPrincipalId: newId() };
}

const bind = (principalId: string, body: object, actor = humanAdmin) =>
  actor.post(`/principals/${principalId}/iam-bindings`, body);

async function enter(who: { iamTenantId: string; iamPrincipalId: string }): Promise<number> {
  const token = await baton.issuer.sign({
    sub: who.iamPrincipalId,
    tenant_id: who.iamTenantId,
    scope: 'control-plane:read control-plane:write',
  });
  return (await baton.request('GET', '/api/v1/principals', { token })).status;
}

function eventsOf(entityId: string) {
  return baton.pool.rows<{ type: string; payload: unknown }>(sql`
    select type, payload from events where entity_id = ${entityId} order by position, sequence`);
}

test('an identity is bound with 201, and bound again with 200: permissions are replaced', async () => {
  const id = await principal();
  const who = identity();
  assert.equal(await enter(who), 401);
  const first = await bind(id, { ...who, permissions: ['tasks.read', 'principals.read', 'tasks.read'] });
  assert.equal(first.status, 201);
  assert.deepEqual(first.body.permissions, ['principals.read', 'tasks.read']);
  assert.deepEqual([first.body.status, first.body.revokedAt, first.body.lastUsedAt], ['active', null, null]);
  // The earlier denial is not cached, so the identity is admitted now.
  assert.equal(await enter(who), 200);

  const moved = { ...who, iamTenantId: newId() };
  const second = await bind(id, { ...moved, permissions: ['tasks.read'] });
  assert.deepEqual([second.status, second.body.id], [200, first.body.id]);
  assert.deepEqual([second.body.permissions, second.body.iamTenantId], [['tasks.read'], moved.iamTenantId]);
  assert.equal(await enter(who), 401);
  assert.equal(await enter(moved), 403);

  const { issuer, iamPrincipalId } = who;
  assert.deepEqual(await eventsOf(first.body.id), [
    {
      type: 'iam_binding.created',
      payload: {
        principalId: id,
        issuer,
        iamPrincipalId,
        iamTenantId: who.iamTenantId,
        accessRole: null,
        permissions: ['principals.read', 'tasks.read'],
        visibility: 'tenant',
      },
    },
    {
      type: 'iam_binding.updated',
      payload: {
        principalId: id,
        issuer,
        iamPrincipalId,
        iamTenantId: moved.iamTenantId,
        accessRole: null,
        permissions: ['tasks.read'],
        visibility: 'tenant',
      },
    },
  ]);
});

test('a revoked identity is rejected at once, and admitted again after it is bound again', async () => {
  const id = await principal();
  const who = identity();
  const { body: made } = await bind(id, { ...who, permissions: ['principals.read'] });
  assert.equal(await enter(who), 200);
  const revoked = await humanAdmin.post(`/iam-bindings/${made.id}:revoke`);
  assert.deepEqual([revoked.status, revoked.body.status], [200, 'revoked']);
  assert.notEqual(revoked.body.revokedAt, null);
  assert.equal(await enter(who), 401);
  const again = await humanAdmin.post(`/iam-bindings/${made.id}:revoke`, {});
  assert.deepEqual([again.status, again.body], [200, revoked.body]);
  assert.deepEqual((await eventsOf(made.id)).slice(1), [
    {
      type: 'iam_binding.revoked',
      payload: { principalId: id, issuer: who.issuer, iamPrincipalId: who.iamPrincipalId },
    },
  ]);
  const back = await bind(id, { ...who, permissions: ['principals.read'] });
  assert.deepEqual([back.status, back.body.status, back.body.revokedAt], [200, 'active', null]);
  assert.equal(await enter(who), 200);
  refused(await humanAdmin.post(`/iam-bindings/${newId()}:revoke`), 404, 'not_found');
  refused(await baton.otherAdmin.post(`/iam-bindings/${made.id}:revoke`), 404, 'not_found');
});

test('requests are refused in the documented order', async () => {
  const paused = await principal('agent', 'paused');
  const agent = await principal();
  const who = identity();
  const writer = await baton.actor({ kind: 'human', permissions: ['principals.write', 'tasks.read'] });
  const body = { ...who, permissions: ['zebra'] };
  refused(await bind(newId(), { ...body, issuer: 'https://else.example' }), 422, 'iam_issuer_untrusted');
  refused(await bind(newId(), body), 404, 'not_found');
  refused(await bind(baton.otherAdmin.principalId, body), 404, 'not_found');
  refused(await bind(paused, body), 422, 'principal_not_active');
  refused(await bind(agent, body, writer), 422, 'invalid_permissions', { unknown: ['zebra'] });
  refused(
    await bind(agent, { ...who, permissions: ['admin', 'tasks.read'] }, writer),
    403,
    'permission_escalation',
    { missing: ['admin'] },
  );
  refused(
    await bind(agent, { ...who, permissions: ['admin', 'approvals.decide', 'tasks.read'] }),
    422,
    'permissions_not_allowed_for_kind',
    { kind: 'agent', forbidden: ['admin', 'approvals.decide'] },
  );
  refused(await bind(agent, { ...who, permissions: [] }), 400, 'invalid_request');
});

test('an identity of another tenant gets 409 iam_identity_bound_elsewhere', async () => {
  const elsewhere = { issuer: baton.issuer.issuer, iamTenantId: newId() };
  const answer = await bind(await principal(), {
    ...elsewhere,
    iamPrincipalId: baton.otherAdmin.iamPrincipalId,
    permissions: ['tasks.read'],
  });
  refused(answer, 409, 'iam_identity_bound_elsewhere');
});

test('only an administrator moves an identity from one principal to another', async () => {
  const [from, to] = [await principal(), await principal()];
  const who = identity();
  const { body: made } = await bind(from, { ...who, permissions: ['tasks.read'] });
  const writer = await baton.actor({ kind: 'human', permissions: ['principals.write', 'tasks.read'] });
  refused(await bind(to, { ...who, permissions: ['tasks.read'] }, writer), 403, 'permission_escalation', {
    missing: ['admin'],
  });
  const moved = await bind(to, { ...who, permissions: ['principals.read'] });
  assert.deepEqual([moved.status, moved.body.id, moved.body.principalId], [200, made.id, to]);
  const [, event] = await eventsOf(made.id);
  assert.equal((event?.payload as { previousPrincipalId: string }).previousPrincipalId, from);
  const { body } = await humanAdmin.get(`/principals/${from}/iam-bindings`);
  assert.deepEqual(body, { items: [], nextCursor: null });
});

test('GET returns all bindings of a principal in full, newest first, including revoked ones', async () => {
  const id = await principal();
  const made: string[] = [];
  for (let n = 0; n < 3; n += 1)
    made.push((await bind(id, { ...identity(), permissions: ['tasks.read'] })).body.id);
  await humanAdmin.post(`/iam-bindings/${made[1]}:revoke`);
  const { status, body } = await humanAdmin.get(`/principals/${id}/iam-bindings`);
  assert.deepEqual([status, body.nextCursor], [200, null]);
  assert.deepEqual(
    body.items.map((item: { id: string; status: string }) => [item.id, item.status]),
    [
      [made[2], 'active'],
      [made[1], 'revoked'],
      [made[0], 'active'],
    ],
  );
  refused(await humanAdmin.get(`/principals/${newId()}/iam-bindings`), 404, 'not_found');
  refused(await baton.otherAdmin.get(`/principals/${id}/iam-bindings`), 404, 'not_found');
});

test('visibility is stored, is replaced when the identity is bound again, is tenant by default, and is in the events', async () => {
  const id = await principal('human');
  const body = { ...identity(), permissions: ['tasks.read'] };
  const first = await bind(id, { ...body, visibility: 'members' });
  assert.deepEqual([first.status, first.body.visibility], [201, 'members']);
  const { items } = (await humanAdmin.get(`/principals/${id}/iam-bindings`)).body;
  assert.equal(items[0].visibility, 'members');
  assert.equal((await bind(id, body)).body.visibility, 'tenant');
  refused(await bind(id, { ...body, visibility: 'all' }), 400, 'invalid_request');
  const events = await baton.pool.rows(sql`
    select type, schema_version, payload ->> 'visibility' as visibility from events where entity_id = ${first.body.id}
    order by position, sequence`);
  assert.deepEqual(events, [
    { type: 'iam_binding.created', schema_version: 2, visibility: 'members' },
    { type: 'iam_binding.updated', schema_version: 2, visibility: 'tenant' },
  ]);
});

test('members is for humans only: 422 visibility_requires_human', async () => {
  for (const kind of ['agent', 'service'])
    refused(
      await bind(await principal(kind), {
        ...identity(),
        permissions: ['tasks.read'],
        visibility: 'members',
      }),
      422,
      'visibility_requires_human',
      { kind },
    );
});

test('a caller that sees only its own workspaces cannot bind an identity with tenant: 403 visibility_escalation', async () => {
  const narrow = await baton.actor({ kind: 'human' });
  await baton.pool.run(
    sql`update iam_bindings set visibility = 'members' where principal_id = ${narrow.principalId}`,
  );
  const human = await principal('human');
  const body = { ...identity(), permissions: ['tasks.read'] };
  for (const given of [{}, { visibility: 'tenant' }])
    refused(await bind(human, { ...body, ...given }, narrow), 403, 'visibility_escalation');
  assert.equal((await bind(human, { ...body, visibility: 'members' }, narrow)).status, 201);
  refused(await bind(human, body, narrow), 403, 'visibility_escalation');
  refused(await bind(narrow.principalId, body, narrow), 403, 'visibility_escalation');
  const more = { ...body, permissions: ['admin'] };
  const limited = await baton.actor({ kind: 'human', permissions: ['principals.write'] });
  await baton.pool.run(
    sql`update iam_bindings set visibility = 'members' where principal_id = ${limited.principalId}`,
  );
  refused(await bind(human, more, limited), 403, 'permission_escalation');
});

test('a caller that sees only its own workspaces revokes no binding that limits the visibility of somebody', async () => {
  const { person: narrow } = await makeNarrowPerson(baton, ['principals.write', 'tasks.read']);
  const bound = async (id: string, visibility: string): Promise<string> =>
    (await bind(id, { ...identity(), permissions: ['tasks.read'], visibility })).body.id;
  const revoke = (id: string) => narrow.post(`/iam-bindings/${id}:revoke`);
  const other = await principal('human');
  for (const id of [other, narrow.principalId]) {
    const wide = await bound(id, 'tenant');
    const limits = await Promise.all([bound(id, 'members'), bound(id, 'members')]);
    const answers = await Promise.all(limits.map((one) => revoke(one)));
    const statuses = answers.map(({ status }) => status).sort();
    // The caller's own first binding also limits it.
    assert.deepEqual(statuses, id === other ? [200, 403] : [200, 200]);
    const { items } = (await humanAdmin.get(`/principals/${id}/iam-bindings`)).body;
    const last = items.find((one: any) => one.status === 'active' && one.visibility === 'members');
    refused(await revoke(last.id), 403, 'visibility_escalation');
    assert.equal((await revoke(wide)).status, 200);
    assert.equal((await revoke(last.id)).status, 200);
  }
});

test('a binding names a built-in role, or an own one by key or id, and has its permissions', async () => {
  const id = await principal('human');
  const made = await bind(id, { ...identity(), accessRole: 'viewer' });
  const { body: viewer } = await humanAdmin.get('/access-roles/viewer');
  assert.deepEqual(
    [made.status, made.body.accessRole, made.body.permissions],
    [201, 'viewer', viewer.permissions],
  );
  const own = { key: newRoleKey(), name: 'Own', permissions: ['tasks.read', 'goals.read'] };
  const { body: role } = await humanAdmin.post('/access-roles', own);
  for (const accessRole of [role.key, role.id]) {
    const { body } = await bind(id, { ...identity(), accessRole });
    assert.deepEqual([body.accessRole, body.permissions], [role.key, ['goals.read', 'tasks.read']]);
    assert.deepEqual((await eventsOf(body.id))[0]?.payload, {
      principalId: id,
      issuer: body.issuer,
      iamTenantId: body.iamTenantId,
      iamPrincipalId: body.iamPrincipalId,
      accessRole: role.key,
      permissions: ['goals.read', 'tasks.read'],
      visibility: 'tenant',
    });
  }
  const replaced = await bind(id, {
    ...(({ issuer, iamTenantId, iamPrincipalId }) => ({ issuer, iamTenantId, iamPrincipalId }))(made.body),
    permissions: ['tasks.read'],
  });
  assert.deepEqual([replaced.status, replaced.body.id, replaced.body.accessRole], [200, made.body.id, null]);
});

test('a binding takes exactly one of accessRole and permissions; an unknown role is 404', async () => {
  const id = await principal('human');
  refused(await bind(id, identity()), 400, 'invalid_request');
  const both = { ...identity(), accessRole: 'viewer', permissions: ['tasks.read'] };
  refused(await bind(id, both), 400, 'invalid_request');
  refused(await bind(id, { ...identity(), accessRole: 'nobody' }), 404, 'not_found', {
    accessRole: 'nobody',
  });
  const { body: theirs } = await baton.otherAdmin.post('/access-roles', {
    ...{ key: newRoleKey(), name: 'Theirs', permissions: ['tasks.read'] },
  });
  for (const accessRole of [theirs.key, theirs.id])
    refused(await bind(id, { ...identity(), accessRole }), 404, 'not_found', { accessRole });
});

test('an agent gets a role without decisions, and no role with admin', async () => {
  const { body } = await bind(await principal('agent'), { ...identity(), accessRole: 'member' });
  const { body: member } = await humanAdmin.get('/access-roles/member');
  assert.equal(body.accessRole, 'member');
  assert.deepEqual(
    body.permissions,
    member.permissions.filter((name: string) => name !== 'approvals.decide'),
  );
  refused(
    await bind(await principal('agent'), { ...identity(), accessRole: 'administrator' }),
    422,
    'permissions_not_allowed_for_kind',
    { kind: 'agent', forbidden: ['admin'] },
  );
  const { body: decider } = await humanAdmin.post('/access-roles', {
    ...{ key: newRoleKey(), name: 'Decider', permissions: ['approvals.decide'] },
  });
  refused(
    await bind(await principal('agent'), { ...identity(), accessRole: decider.key }),
    422,
    'permissions_not_allowed_for_kind',
    { kind: 'agent', forbidden: ['approvals.decide'] },
  );
});

test('nobody grants a role with permissions that they lack', async () => {
  const writer = await baton.actor({ kind: 'human', permissions: ['principals.write', 'tasks.read'] });
  const answer = await bind(await principal('human'), { ...identity(), accessRole: 'member' }, writer);
  refused(answer, 403, 'permission_escalation');
  assert.ok(answer.body.error.details.missing.includes('approvals.decide'));
});

test('only an administrator revokes or replaces the permissions of an administrator', async () => {
  const boss = await baton.actor({ kind: 'human', permissions: ['admin'] });
  const writer = await baton.actor({ kind: 'human', permissions: ['principals.write', 'tasks.read'] });
  const { body } = await humanAdmin.get(`/principals/${boss.principalId}/iam-bindings`);
  const [{ id, issuer, iamTenantId, iamPrincipalId }] = body.items;
  const missing = { missing: ['admin'] };
  refused(await writer.post(`/iam-bindings/${id}:revoke`), 403, 'permission_escalation', missing);
  const lower = { issuer, iamTenantId, iamPrincipalId, permissions: ['tasks.read'] };
  refused(await bind(boss.principalId, lower, writer), 403, 'permission_escalation', missing);
  assert.equal((await boss.get('/principals')).status, 200);
  assert.equal((await bind(boss.principalId, lower)).status, 200);
  assert.equal((await boss.get('/principals')).status, 403);
});

test('the last administrator does not lose admin by binding their identity again', async () => {
  const last = baton.otherAdmin;
  const { body } = await last.get(`/principals/${last.principalId}/iam-bindings`);
  const [{ issuer, iamTenantId, iamPrincipalId }] = body.items;
  const again = { issuer, iamTenantId, iamPrincipalId };
  refused(
    await bind(last.principalId, { ...again, permissions: ['principals.write'] }, last),
    409,
    'last_administrator',
  );
  assert.equal((await bind(last.principalId, { ...again, accessRole: 'administrator' }, last)).status, 200);
});
