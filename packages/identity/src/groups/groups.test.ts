import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import { sql } from '@baton/kernel/sql';
import { startIdentity, type TestIdentity } from '../testing/identity.ts';
import { made, makePrincipal, makeTenant } from '../testing/objects.ts';
import { auditOf, journalOf, storeCounts } from '../testing/records.ts';

let identity: TestIdentity;
before(async () => {
  identity = await startIdentity();
});
after(() => identity.close());

const create = (tenantId: string, body: object) => identity.post(`/tenants/${tenantId}/groups`, body);
const add = (tenantId: string, groupId: string, principalId: string) =>
  identity.post(`/tenants/${tenantId}/groups/${groupId}/members`, { principalId });

describe('POST …/groups', () => {
  test('makes a local group', async () => {
    const tenantId = await makeTenant(identity);
    const { status, body } = await create(tenantId, { key: 'people-admins', name: 'People' });
    assert.equal(status, 201);
    assert.deepEqual(Object.keys(body), ['id', 'tenant_id', 'key', 'name', 'status']);
    assert.deepEqual(
      [body.tenant_id, body.key, body.name, body.status],
      [tenantId, 'people-admins', 'People', 'active'],
    );
    const event = (await journalOf(identity, tenantId)).at(-1);
    assert.deepEqual(
      [event.type, event.payload],
      ['group.created', { groupId: body.id, key: 'people-admins' }],
    );
    assert.equal((await auditOf(identity, tenantId)).at(-1)?.action, 'groups.create');
  });

  test('an unknown tenant is 404; a taken key 409, also among rivals; key and name are required', async () => {
    const tenantId = await makeTenant(identity);
    const unknown = await create(randomUUID(), { key: 'abc', name: 'x' });
    assert.deepEqual([unknown.status, unknown.body], [404, { detail: 'tenant_not_found' }]);
    const answers = await Promise.all(
      Array.from({ length: 8 }, () => create(tenantId, { key: 'abc', name: 'x' })),
    );
    const outcomes = answers.map(({ status, body }) => (status === 201 ? 'made' : body.detail)).sort();
    assert.deepEqual(outcomes, [...Array(7).fill('group_exists'), 'made']);
    for (const bad of [{ key: 'abc' }, { name: 'x' }, { key: 'AB', name: 'x' }])
      assert.equal((await create(tenantId, bad)).status, 422);
  });
});

describe('POST …/groups/{groupId}/members', () => {
  test('adds a principal of any kind and status with an active membership', async () => {
    const tenantId = await makeTenant(identity);
    const group = await made(create(tenantId, { key: 'abc', name: 'x' }));
    const principalId = await makePrincipal(identity, tenantId);
    await identity.pool.run(sql`update principals set status = 'disabled' where id = ${principalId}`);
    const { status, body } = await add(tenantId, group.id, principalId);
    assert.equal(status, 201);
    assert.deepEqual(body, {
      id: body.id,
      tenant_id: tenantId,
      group_id: group.id,
      principal_id: principalId,
    });
    const event = (await journalOf(identity, tenantId)).at(-1);
    assert.deepEqual(
      [event.type, event.aggregate_type, event.aggregate_id, event.payload],
      ['group_membership.added', 'group', group.id, { groupId: group.id, principalId }],
    );
    const audited = (await auditOf(identity, tenantId)).at(-1);
    assert.deepEqual([audited?.action, audited?.reason], ['group_members.add', `principal:${principalId}`]);
  });

  test('the checks come in their order: group, its source, principal, membership', async () => {
    const [tenantId, otherId] = [await makeTenant(identity), await makeTenant(identity)];
    const group = await made(create(tenantId, { key: 'abc', name: 'x' }));
    const federated = await made(create(tenantId, { key: 'federated', name: 'x' }));
    await identity.pool.run(sql`update groups set source = 'federated' where id = ${federated.id}`);
    const provisioned = await made(create(tenantId, { key: 'provisioned', name: 'x' }));
    await identity.pool.run(sql`update groups set source = 'scim' where id = ${provisioned.id}`);
    const member = await makePrincipal(identity, tenantId);
    const stranger = await makePrincipal(identity, otherId);
    await add(tenantId, group.id, member);
    const before = await storeCounts(identity);
    for (const [tenant, groupId, principalId, status, detail] of [
      [tenantId, randomUUID(), member, 404, 'group_not_found'],
      [otherId, group.id, stranger, 404, 'group_not_found'],
      [randomUUID(), group.id, member, 404, 'group_not_found'],
      [tenantId, federated.id, randomUUID(), 409, 'group_is_federated'],
      [tenantId, provisioned.id, member, 409, 'group_is_federated'],
      [tenantId, group.id, randomUUID(), 404, 'principal_not_found'],
      [tenantId, group.id, stranger, 404, 'principal_not_found'],
      [tenantId, group.id, member, 409, 'group_membership_exists'],
    ] as const) {
      const answer = await add(tenant, groupId, principalId);
      assert.deepEqual([answer.status, answer.body], [status, { detail }]);
    }
    assert.deepEqual(await storeCounts(identity), before);
  });

  test('of rivals that add one member, one does', async () => {
    const tenantId = await makeTenant(identity);
    const group = await made(create(tenantId, { key: 'abc', name: 'x' }));
    const principalId = await makePrincipal(identity, tenantId);
    const answers = await Promise.all(Array.from({ length: 16 }, () => add(tenantId, group.id, principalId)));
    const outcomes = answers.map(({ status, body }) => (status === 201 ? 'added' : body.detail)).sort();
    assert.deepEqual(outcomes, ['added', ...Array(15).fill('group_membership_exists')]);
    const events = (await journalOf(identity, tenantId)).filter(
      ({ type }) => type === 'group_membership.added',
    );
    assert.equal(events.length, 1);
  });
});
