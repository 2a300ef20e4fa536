import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import { sql } from '@baton/kernel/database/sql';
import { adminHeader, startIdentity, type TestIdentity } from '../../testing/identity.ts';
import { made, makePrincipal, makeTenant } from '../../testing/objects.ts';
import { auditOf, journalOf, storeCounts } from '../../testing/records.ts';

let identity: TestIdentity;
before(async () => {
  identity = await startIdentity();
});
after(() => identity.close());

const create = (tenantId: string, body: object) => identity.post(`/tenants/${tenantId}/groups`, body);
const pathOf = (tenantId: string, groupId: string) => `/tenants/${tenantId}/groups/${groupId}/members`;
const add = (tenantId: string, groupId: string, principalId: string) =>
  identity.post(pathOf(tenantId, groupId), { principalId });
const remove = (tenantId: string, groupId: string, principalId: string) =>
  identity.request('DELETE', `/api/v1${pathOf(tenantId, groupId)}/${principalId}`, { headers: adminHeader });

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

  test('the checks run in the documented order: group, its source, principal, membership', async () => {
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

  test('of several requests that add one member at the same time, one succeeds', async () => {
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

describe('GET …/groups/{groupId}/members', () => {
  test('lists principals of any status and source in the order in which they came, in pages', async () => {
    const tenantId = await makeTenant(identity);
    const group = await made(create(tenantId, { key: 'abc', name: 'x' }));
    const ids: string[] = [];
    for (const kind of ['human', 'agent', 'workload', 'agent', 'human']) {
      const principalId = await makePrincipal(identity, tenantId, kind);
      await made(add(tenantId, group.id, principalId));
      ids.push(principalId);
    }
    await identity.post(`/tenants/${tenantId}/principals/${ids[1]}:disable`);
    await identity.pool.run(
      sql`update group_members set source = 'federated' where group_id = ${group.id} and principal_id = ${ids[0]}`,
    );
    const { status, body } = await identity.get(pathOf(tenantId, group.id));
    assert.deepEqual([status, body.next_after], [200, null]);
    // Two members that joined in the same millisecond are ordered by their ids.
    assert.deepEqual(
      body.items.map(({ principal_id: id }: { principal_id: string }) => id).toSorted(),
      ids.toSorted(),
    );
    const times = body.items.map(({ created_at: at }: { created_at: string }) => at);
    assert.deepEqual(times, times.toSorted());
    const first = body.items.find(({ principal_id: id }: { principal_id: string }) => id === ids[0]);
    assert.deepEqual(first, {
      principal_id: ids[0],
      kind: 'human',
      display_name: 'A human',
      status: 'active',
      source: 'federated',
      created_at: first.created_at,
    });
    const second = body.items.find(({ principal_id: id }: { principal_id: string }) => id === ids[1]);
    assert.deepEqual([second.status, second.source], ['disabled', 'local']);
    const seen: unknown[] = [];
    let after = '';
    do {
      const page = (await identity.get(`${pathOf(tenantId, group.id)}?limit=2${after}`)).body;
      assert.ok(page.items.length > 0);
      seen.push(...page.items);
      after = page.next_after === null ? '' : `&after=${page.next_after}`;
    } while (after !== '');
    assert.deepEqual(seen, body.items);
  });

  test('a group that a directory keeps is listed too; an absent one is 404, a broken cursor 422', async () => {
    const [tenantId, otherId] = [await makeTenant(identity), await makeTenant(identity)];
    const { id } = await made(create(tenantId, { key: 'abc', name: 'x' }));
    await identity.pool.run(sql`update groups set source = 'scim' where id = ${id}`);
    const { status, body } = await identity.get(pathOf(tenantId, id));
    assert.deepEqual([status, body], [200, { items: [], next_after: null }]);
    for (const path of [pathOf(tenantId, randomUUID()), pathOf(otherId, id), pathOf(randomUUID(), id)]) {
      const answer = await identity.get(path);
      assert.deepEqual([answer.status, answer.body], [404, { detail: 'group_not_found' }]);
    }
    for (const query of ['after=x', 'limit=0', 'limit=501'])
      assert.equal((await identity.get(`${pathOf(tenantId, id)}?${query}`)).status, 422);
  });
});

describe('DELETE …/groups/{groupId}/members/{principalId}', () => {
  test('ends the membership with an event and an audit row; repeated it is 404, and added again it is new', async () => {
    const tenantId = await makeTenant(identity);
    const { id } = await made(create(tenantId, { key: 'abc', name: 'x' }));
    const principalId = await makePrincipal(identity, tenantId);
    const stays = await makePrincipal(identity, tenantId);
    for (const member of [principalId, stays]) await made(add(tenantId, id, member));
    const { status, body } = await remove(tenantId, id, principalId);
    assert.deepEqual([status, body], [204, '']);
    const { items } = (await identity.get(pathOf(tenantId, id))).body;
    assert.deepEqual(
      items.map(({ principal_id: member }: { principal_id: string }) => member),
      [stays],
    );
    const event = (await journalOf(identity, tenantId)).at(-1);
    assert.deepEqual(
      [event.type, event.aggregate_type, event.aggregate_id, event.payload],
      ['group_membership.removed', 'group', id, { groupId: id, principalId }],
    );
    const line = (await auditOf(identity, tenantId)).at(-1);
    assert.deepEqual(
      [line?.action, line?.resource_type, line?.resource_id, line?.reason],
      ['group_members.remove', 'group', id, `principal:${principalId}`],
    );
    const before = await storeCounts(identity);
    const again = await remove(tenantId, id, principalId);
    assert.deepEqual([again.status, again.body], [404, { detail: 'group_membership_not_found' }]);
    assert.deepEqual(await storeCounts(identity), before);
    assert.equal((await add(tenantId, id, principalId)).status, 201);
  });

  test('the checks run in the documented order: group, its source, membership', async () => {
    const [tenantId, otherId] = [await makeTenant(identity), await makeTenant(identity)];
    const { id } = await made(create(tenantId, { key: 'abc', name: 'x' }));
    const { id: kept } = await made(create(tenantId, { key: 'kept', name: 'x' }));
    const member = await makePrincipal(identity, tenantId);
    for (const group of [id, kept]) await made(add(tenantId, group, member));
    await identity.pool.run(sql`update groups set source = 'federated' where id = ${kept}`);
    const before = await storeCounts(identity);
    for (const [tenant, groupId, principalId, status, detail] of [
      [tenantId, randomUUID(), member, 404, 'group_not_found'],
      [otherId, id, member, 404, 'group_not_found'],
      [tenantId, kept, member, 409, 'group_is_federated'],
      [tenantId, kept, randomUUID(), 409, 'group_is_federated'],
      [tenantId, id, randomUUID(), 404, 'group_membership_not_found'],
    ] as const) {
      const answer = await remove(tenant, groupId, principalId);
      assert.deepEqual([answer.status, answer.body], [status, { detail }]);
    }
    assert.deepEqual(await storeCounts(identity), before);
  });
});
