import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { sql } from '@baton/kernel/database/sql';
import { newId } from '@baton/values/ids';
import type { Permission } from '../../service/permissions.ts';
import { type Actor, startCoordination, type TestCoordination } from '../../testing/coordination.ts';
import { done, eventsOf, refused } from '../../testing/leases.ts';
import { installSettings } from '../../testing/packages/packages.ts';
import {
  actorOf,
  agentKey,
  agentPermissions,
  agentSpec,
  linkAgent,
  newIdentity,
  publishAgent,
} from '../../testing/registry/agents.ts';
import { makeCallable } from '../../testing/results/invocations.ts';

let baton: TestCoordination;
before(async () => {
  baton = await startCoordination();
});
after(() => baton.close());

const service = agentSpec({ identity: { kind: 'service' } });
const link = (key: string, identity: object, actor: Actor = baton.admin) =>
  actor.put(`/agents/${key}/identity`, identity);
const replace = (key: string, identity: object, actor: Actor = baton.admin) =>
  actor.post(`/agents/${key}/identity:replace`, { reason: 'recreated', ...identity });
const publish = (key: string, spec: object) => baton.admin.post('/agents', { key, spec });
const bindingsOf = async (principalId: string) =>
  (await done(baton.admin.get(`/principals/${principalId}/iam-bindings`))).items;
const word = () => `w${newId()}`;
const toldOf = async (id: string) =>
  (await eventsOf(baton, id)).map(({ type, payload }: any) => [type, payload]);

/** A spec with a new role, a new capability and a new skill. */
async function granting(more: object = {}) {
  const role = await done(baton.admin.post('/roles', { slug: word(), name: 'R' }), 201);
  const capability = await done(baton.admin.post('/capabilities', { name: word() }), 201);
  const skill = await makeCallable(baton.admin);
  const spec = agentSpec({
    identity: {
      roles: [role.slug],
      capabilities: [capability.name],
      permissions: [...agentPermissions, 'skills.invoke'],
    },
    skills: { invoke: [`${skill.name}@${skill.version}`] },
    ...more,
  });
  return { spec, roleId: role.id, capabilityId: capability.id, skillId: skill.id };
}

async function assignedTo(principalId: string) {
  const of = async (what: string, name: string) =>
    (await done(baton.admin.get(`/principals/${principalId}/${what}`))).items.map((one: any) => one[name].id);
  return {
    roles: await of('roles', 'role'),
    capabilities: await of('capabilities', 'capability'),
    skills: await of('skills', 'skill'),
  };
}

test('PUT identity creates the principal with binding, roles, capabilities and skills of the spec, and writes its event', async () => {
  const { spec, roleId, capabilityId, skillId } = await granting();
  const { id, key } = await publishAgent(baton.admin, spec);
  const identity = newIdentity(baton);
  const linked = await done(link(key, identity));
  const { principalId } = linked;
  const principal = await done(baton.admin.get(`/principals/${principalId}`));
  assert.deepEqual([principal.kind, principal.displayName, principal.status], ['agent', 'Builder', 'active']);
  assert.deepEqual(await assignedTo(principalId), {
    roles: [roleId],
    capabilities: [capabilityId],
    skills: [skillId],
  });
  const permissions = [...agentPermissions, 'skills.invoke'].sort();
  const [binding, ...others] = await bindingsOf(principalId);
  assert.deepEqual(others, []);
  assert.deepEqual(
    [binding.iamPrincipalId, binding.permissions, binding.visibility, binding.status],
    [identity.iamPrincipalId, permissions, 'tenant', 'active'],
  );
  assert.deepEqual(await toldOf(principalId), [
    ['principal.created', { kind: 'agent', displayName: 'Builder' }],
    ['role.assigned', { roleId, workspaceId: null }],
    ['capability.assigned', { capabilityId }],
    ['skill.assigned', { skillId }],
  ]);
  assert.equal((await toldOf(binding.id))[0]?.[0], 'iam_binding.created');
  assert.deepEqual(await done(link(key, identity)), linked);
  const agent = await actorOf(baton, { ...identity, principalId });
  const { packageSettings, ...me } = await done(agent.get('/agents/me'));
  assert.equal(packageSettings, null);
  assert.deepEqual([me, me.id], [linked, id]);
  await refused(baton.admin.get('/agents/me'), 404, 'not_found');
});

test('an agent reads the settings of the package that installed it, without any permission', async () => {
  const { key } = await publishAgent(baton.admin);
  const agent = await linkAgent(baton, key);
  const settings = async () => (await done(agent.get('/agents/me'))).packageSettings;
  const cameWith = async (packageKey: string) => {
    const from = { key: packageKey, version: '1.0' };
    await done(baton.admin.post('/packages:record', { package: from, objects: [{ kind: 'Agent', key }] }));
  };
  const without = await installSettings(baton, baton.admin, null);
  await cameWith(without.key);
  assert.equal(await settings(), null, 'it declares none');
  const schema = { properties: { days: { type: 'integer', default: 3 } } };
  const { key: packageKey } = await installSettings(baton, baton.admin, schema);
  await cameWith(packageKey);
  const from = { package: packageKey, schemaRevision: 1 };
  assert.deepEqual(await settings(), { ...from, version: 0, values: {} });
  const headers = { 'if-match': 'package-settings-0' };
  await done(baton.admin.put(`/packages/${packageKey}/settings`, { values: { days: 5 } }, headers));
  assert.deepEqual(await settings(), { ...from, version: 1, values: { days: 5 } });
  const details = await refused(agent.get(`/packages/${packageKey}/settings`), 403, 'permission_denied');
  assert.deepEqual(details, { required: ['packages.settings.read'] });
});

test('publishing immediately changes binding, roles, capabilities, skills and name of a linked agent', async () => {
  const before = await granting();
  const after = await granting({ displayName: 'Smith' });
  const { key } = await publishAgent(baton.admin, before.spec);
  const agent = await linkAgent(baton, key);
  await done(agent.get('/tasks?limit=1'));
  const byHand = await done(baton.admin.post('/roles', { slug: word(), name: 'R' }), 201);
  await done(baton.admin.post(`/principals/${agent.principalId}/roles`, { roleId: byHand.id }), 201);
  after.spec.identity.permissions = ['events.read', 'skills.invoke'];
  await done(publish(key, after.spec), 201);
  const assigned = await assignedTo(agent.principalId);
  assert.deepEqual([assigned.capabilities, assigned.skills], [[after.capabilityId], [after.skillId]]);
  assert.deepEqual(assigned.roles.toSorted(), [byHand.id, after.roleId].toSorted());
  const [binding] = await bindingsOf(agent.principalId);
  assert.deepEqual(binding.permissions, ['events.read', 'skills.invoke']);
  await refused(agent.get('/tasks?limit=1'), 403, 'permission_denied');
  await done(agent.get('/events?limit=1'));
  const types = (await toldOf(agent.principalId)).slice(4).map(([type]: any) => type);
  assert.deepEqual(types, [
    'role.assigned',
    'principal.updated',
    'role.assigned',
    'role.revoked',
    'capability.assigned',
    'capability.revoked',
    'skill.assigned',
    'skill.revoked',
  ]);
  const principal = await done(baton.admin.get(`/principals/${agent.principalId}`));
  assert.equal(principal.displayName, 'Smith');
  assert.deepEqual((await toldOf(binding.id)).at(-1)?.[0], 'iam_binding.updated');
  await refused(publish(key, service), 409, 'agent_identity_conflict');
});

test('another identity, and one that is already bound, are conflicts', async () => {
  const { key } = await publishAgent(baton.admin);
  const identity = newIdentity(baton);
  await done(link(key, identity));
  await refused(link(key, newIdentity(baton)), 409, 'agent_identity_conflict');
  await refused(link(key, { ...identity, iamTenantId: newId() }), 409, 'agent_identity_conflict');
  const other = await publishAgent(baton.admin, service);
  await refused(link(other.key, identity), 409, 'agent_identity_conflict');
  const { iamPrincipalId } = await baton.actor();
  await refused(link(other.key, { ...identity, iamPrincipalId }), 409, 'agent_identity_conflict');
  const foreign = { ...newIdentity(baton), iamPrincipalId: baton.otherAdmin.iamPrincipalId };
  await refused(link(other.key, foreign), 409, 'agent_identity_conflict');
  assert.equal((await done(baton.admin.get(`/agents/${other.key}`))).principalId, null);
  await done(link(other.key, newIdentity(baton)));
  await refused(replace(other.key, identity), 409, 'agent_identity_conflict');
});

test('linking the same identity again restores a revoked binding, with the grants of the current spec', async () => {
  const { key } = await publishAgent(baton.admin);
  const identity = newIdentity(baton);
  const { principalId } = await done(link(key, identity));
  const [binding] = await bindingsOf(principalId);
  await done(baton.admin.post(`/iam-bindings/${binding.id}:revoke`));
  await done(publish(key, agentSpec({ identity: { permissions: ['tasks.read'] } })), 201);
  assert.equal((await bindingsOf(principalId))[0].status, 'revoked');
  await done(link(key, identity));
  const [opened] = await bindingsOf(principalId);
  assert.deepEqual([opened.status, opened.revokedAt, opened.permissions], ['active', null, ['tasks.read']]);
  assert.equal((await toldOf(binding.id)).at(-1)?.[0], 'iam_binding.updated');
});

test('the order of refusals: issuer, 404, retired, 403, not active, conflict', async () => {
  const elsewhere = { ...newIdentity(baton), issuer: 'https://elsewhere.example' };
  await refused(link(agentKey(), elsewhere), 422, 'iam_issuer_untrusted');
  await refused(link(agentKey(), newIdentity(baton)), 404, 'not_found');
  const retired = await publishAgent(baton.admin);
  await done(baton.admin.post(`/agents/${retired.key}:retire`, { reason: 'x' }));
  const poor = await baton.actor({ permissions: ['agents.status.write'] });
  await refused(link(retired.key, newIdentity(baton), poor), 409, 'agent_retired');
  const { key } = await publishAgent(baton.admin);
  const identity = newIdentity(baton);
  const { principalId } = await done(link(key, identity));
  await baton.pool.run(sql`update principals set status = 'paused' where id = ${principalId}`);
  const details = await refused(link(key, identity, poor), 403, 'permission_escalation');
  assert.deepEqual(details, { missing: [...agentPermissions] });
  await refused(link(key, newIdentity(baton)), 422, 'principal_not_active');
  await baton.pool.run(sql`update principals set status = 'active' where id = ${principalId}`);
  await refused(link(key, newIdentity(baton)), 409, 'agent_identity_conflict');
});

test('a service links agents that it published, even with fewer permissions now, but none that others published', async () => {
  const held: Permission[] = ['agents.manage', 'agents.status.write', ...agentPermissions];
  const installer = await baton.actor({ kind: 'service', permissions: held });
  const { key } = await publishAgent(installer);
  const narrow: Permission[] = ['agents.manage', 'agents.status.write'];
  const [binding] = await bindingsOf(installer.principalId);
  const { issuer, iamTenantId, iamPrincipalId } = binding;
  await done(
    baton.admin.post(`/principals/${installer.principalId}/iam-bindings`, {
      issuer,
      iamTenantId,
      iamPrincipalId,
      permissions: narrow,
    }),
  );
  const other = await publishAgent(baton.admin);
  await refused(link(other.key, newIdentity(baton), installer), 403, 'permission_escalation');
  await done(link(key, newIdentity(baton), installer));
});

test('a person who sees only own workspaces links no agent', async () => {
  const person = await baton.actor({ kind: 'human' });
  await baton.pool.run(
    sql`update iam_bindings set visibility = 'members' where principal_id = ${person.principalId}`,
  );
  const { key } = await publishAgent(baton.admin, service);
  await refused(link(key, newIdentity(baton), person), 403, 'visibility_escalation');
  await done(link(key, newIdentity(baton)));
  await refused(replace(key, newIdentity(baton), person), 403, 'visibility_escalation');
});

test('identity:replace revokes the previous identity and keeps the principal', async () => {
  const { id, key } = await publishAgent(baton.admin, service);
  const before = await linkAgent(baton, key);
  await done(before.get('/agents/me'));
  const identity = newIdentity(baton);
  const { principalId } = await done(replace(key, identity));
  assert.equal(principalId, before.principalId);
  const after = await actorOf(baton, { ...identity, principalId });
  assert.equal((await done(after.get('/agents/me'))).key, key);
  await refused(before.get('/agents/me'), 401, 'invalid_credentials');
  const [young, old] = await bindingsOf(principalId);
  assert.deepEqual([young.status, old.status], ['active', 'revoked']);
  assert.deepEqual((await toldOf(id)).at(-1), [
    'agent.identity_replaced',
    { key, principalId, reason: 'recreated' },
  ]);
  const count = (await toldOf(id)).length;
  await done(replace(key, identity));
  assert.equal((await toldOf(id)).length, count);
  await done(baton.admin.post(`/iam-bindings/${young.id}:revoke`));
  await done(replace(key, identity));
  assert.equal((await bindingsOf(principalId))[0].status, 'active');
  assert.equal((await toldOf(young.id)).at(-1)?.[0], 'iam_binding.updated');
});

test('identity:replace refuses in the documented order', async () => {
  await refused(replace(agentKey(), newIdentity(baton)), 404, 'not_found');
  const retired = await publishAgent(baton.admin);
  await done(baton.admin.post(`/agents/${retired.key}:retire`, { reason: 'x' }));
  await refused(replace(retired.key, newIdentity(baton)), 409, 'agent_retired');
  const agent = await publishAgent(baton.admin);
  await refused(replace(agent.key, newIdentity(baton)), 409, 'agent_identity_conflict');
  const { key } = await publishAgent(baton.admin, service);
  await refused(replace(key, newIdentity(baton)), 409, 'agent_identity_not_linked');
  const { principalId } = await done(link(key, newIdentity(baton)));
  await baton.pool.run(sql`update principals set status = 'paused' where id = ${principalId}`);
  const elsewhere = { ...newIdentity(baton), issuer: 'https://elsewhere.example' };
  await refused(replace(key, elsewhere), 422, 'principal_not_active');
  await baton.pool.run(sql`update principals set status = 'active' where id = ${principalId}`);
  const poor = await baton.actor({ permissions: ['agents.manage'] });
  await refused(replace(key, elsewhere, poor), 422, 'iam_issuer_untrusted');
  await refused(replace(key, newIdentity(baton), poor), 403, 'permission_escalation');
});

test('identity:replace takes over no roles, capabilities and skills that its caller could not assign', async () => {
  const { spec } = await granting({
    identity: { kind: 'service', permissions: [...agentPermissions, 'skills.invoke'] },
  });
  const { id: roleId } = await done(baton.admin.post('/roles', { slug: word(), name: 'R' }), 201);
  const cases: [spec: object, path: string][] = [
    [spec, '/skills/invoke'],
    [service, '/identity/roles'],
  ];
  for (const [published, path] of cases) {
    const { key } = await publishAgent(baton.admin, published);
    const { principalId } = await done(link(key, newIdentity(baton)));
    if (published === service)
      await done(baton.admin.post(`/principals/${principalId}/roles`, { roleId }), 201);
    const own: Permission[] = ['agents.manage', 'skills.invoke', ...agentPermissions];
    const manager = await baton.actor({ permissions: own });
    const escalation = refused(replace(key, newIdentity(baton), manager), 403, 'permission_escalation');
    assert.deepEqual(await escalation, { path });
    const organiser = await baton.actor({ permissions: [...own, 'org.manage'] });
    await done(replace(key, newIdentity(baton), organiser));
  }
});

test('only the registry changes the principal of an agent', async () => {
  const { key } = await publishAgent(baton.admin);
  const { principalId, iamPrincipalId } = await linkAgent(baton, key);
  const path = `/principals/${principalId}`;
  assert.deepEqual(await refused(baton.admin.post(`${path}:disable`), 409, 'use_agent_retire'), {
    agent: key,
  });
  await refused(
    baton.admin.patch(path, { displayName: 'x' }, { 'if-match': 'principal-1' }),
    409,
    'principal_managed_by_registry',
  );
  const grant = { ...newIdentity(baton), permissions: ['tasks.read'] };
  await refused(baton.admin.post(`${path}/iam-bindings`, grant), 409, 'agent_identity_conflict');
  const { principalId: human } = await baton.actor({ kind: 'human' });
  await refused(
    baton.admin.post(`/principals/${human}/iam-bindings`, { ...grant, iamPrincipalId }),
    409,
    'agent_identity_conflict',
  );
  await baton.pool.run(sql`update principals set status = 'paused' where id = ${principalId}`);
  assert.deepEqual(await refused(baton.admin.post(`${path}:enable`), 409, 'use_agent_publish'), {
    agent: key,
    agentStatus: 'active',
  });
  await baton.pool.run(sql`update principals set status = 'active' where id = ${principalId}`);
  await done(baton.admin.post(`/agents/${key}:retire`, { reason: 'x' }));
  await done(baton.admin.post(`${path}:disable`));
  assert.deepEqual(await refused(baton.admin.post(`${path}:enable`), 409, 'use_agent_publish'), {
    agent: key,
    agentStatus: 'retired',
  });
  const checks = [{ action: 'enable', resourceType: 'principal', resourceId: principalId }];
  const { results } = await done(baton.admin.post('/authz:check', { checks }));
  assert.equal(results[0].reason.code, 'use_agent_publish');
});
