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
const pathOf = (tenantId: string, groupId: string) => `/tenants/${tenantId}/groups/${groupId}`;
const remove = (path: string) => identity.request('DELETE', `/api/v1${path}`, { headers: adminHeader });
const keep = (groupId: string, source: string) =>
  identity.pool.run(sql`update groups set source = ${source} where id = ${groupId}`);

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

  test('an unknown tenant is 404; a taken key 409, also in a race; key and name are required', async () => {
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

describe('GET …/groups', () => {
  test('lists groups of all sources in the order of their creation, in pages, filtered by source and status', async () => {
    const tenantId = await makeTenant(identity);
    const ids: string[] = [];
    for (let n = 0; n < 5; n += 1)
      ids.push((await made(create(tenantId, { key: `group-${n}`, name: 'x' }))).id);
    await keep(ids[1] ?? '', 'federated');
    await keep(ids[2] ?? '', 'scim');
    await identity.patch(pathOf(tenantId, ids[4] ?? ''), { status: 'disabled' });
    const listed = async (query: string) => {
      const { status, body } = await identity.get(`/tenants/${tenantId}/groups?${query}`);
      assert.equal(status, 200);
      return {
        ids: body.items.map(({ id }: { id: string }) => id),
        next: body.next_after,
        items: body.items,
      };
    };
    const whole = await listed('');
    assert.deepEqual([whole.ids.toSorted(), whole.next], [ids.toSorted(), null]);
    assert.deepEqual(Object.keys(whole.items[0]), [
      'id',
      'tenant_id',
      'key',
      'name',
      'status',
      'source',
      'created_at',
    ]);
    const seen: string[] = [];
    let after = '';
    do {
      const page = await listed(`limit=2${after}`);
      assert.ok(page.ids.length > 0);
      seen.push(...page.ids);
      after = page.next === null ? '' : `&after=${page.next}`;
    } while (after !== '');
    assert.deepEqual(seen, whole.ids);
    assert.deepEqual((await listed('source=federated')).ids, [ids[1]]);
    assert.deepEqual((await listed('source=scim')).ids, [ids[2]]);
    assert.deepEqual((await listed('status=disabled')).ids, [ids[4]]);
    assert.deepEqual((await listed('source=local&status=active')).ids.length, 2);
  });

  test('an unknown tenant is 404; a broken cursor, a limit out of range and an unknown filter value are 422', async () => {
    const unknown = await identity.get(`/tenants/${randomUUID()}/groups`);
    assert.deepEqual([unknown.status, unknown.body], [404, { detail: 'tenant_not_found' }]);
    const tenantId = await makeTenant(identity);
    for (const query of ['after=x', 'limit=0', 'limit=501', 'source=ldap', 'status=gone'])
      assert.equal((await identity.get(`/tenants/${tenantId}/groups?${query}`)).status, 422, query);
  });
});

describe('GET, PATCH and DELETE …/groups/{groupId}', () => {
  test('an absent group is 404 for all, and a group of another keeper is read only', async () => {
    const [tenantId, otherId] = [await makeTenant(identity), await makeTenant(identity)];
    const { id } = await made(create(tenantId, { key: 'abc', name: 'x' }));
    const before = await storeCounts(identity);
    for (const path of [pathOf(tenantId, randomUUID()), pathOf(otherId, id), pathOf(randomUUID(), id)])
      for (const answer of [
        await identity.get(path),
        await identity.patch(path, { name: 'y' }),
        await remove(path),
      ])
        assert.deepEqual([answer.status, answer.body], [404, { detail: 'group_not_found' }]);
    for (const source of ['federated', 'scim']) {
      await keep(id, source);
      const path = pathOf(tenantId, id);
      const { body } = await identity.get(path);
      assert.deepEqual([body.source, body.name], [source, 'x']);
      for (const answer of [await identity.patch(path, { name: 'y' }), await remove(path)])
        assert.deepEqual([answer.status, answer.body], [409, { detail: 'group_is_federated' }]);
    }
    assert.deepEqual(await storeCounts(identity), before);
  });

  test('changes name and status, with an event and an audit row', async () => {
    const tenantId = await makeTenant(identity);
    const { id } = await made(create(tenantId, { key: 'abc', name: 'x' }));
    const path = pathOf(tenantId, id);
    for (const [changes, told, reason] of [
      [{ name: 'Renamed in confidence' }, {}, 'changed:name'],
      [{ status: 'disabled' }, { status: 'disabled' }, 'changed:status status:disabled'],
      [{ name: 'y', status: 'active' }, { status: 'active' }, 'changed:name,status status:active'],
    ] as const) {
      const { status, body } = await identity.patch(path, changes);
      assert.deepEqual([status, body.key, body.source], [200, 'abc', 'local']);
      assert.deepEqual(body, { ...body, ...changes });
      assert.deepEqual((await identity.get(path)).body, body);
      const event = (await journalOf(identity, tenantId)).at(-1);
      assert.deepEqual(
        [event.type, event.aggregate_type, event.aggregate_id, event.payload],
        ['group.updated', 'group', id, { groupId: id, key: 'abc', ...told }],
      );
      const line = (await auditOf(identity, tenantId)).at(-1);
      assert.deepEqual([line?.action, line?.resource_id, line?.reason], ['groups.update', id, reason]);
    }
    const before = await storeCounts(identity);
    for (const changes of [{}, { name: 'y' }, { name: 'y', status: 'active' }])
      assert.equal((await identity.patch(path, changes)).status, 200);
    assert.deepEqual(await storeCounts(identity), before);
    for (const changes of [{ key: 'abcd' }, { name: '' }, { name: null }, { status: 'gone' }])
      assert.equal((await identity.patch(path, changes)).status, 422);
  });

  test('DELETE ends the memberships, then the group; repeated it is 404, and the key is free', async () => {
    const tenantId = await makeTenant(identity);
    const { id } = await made(create(tenantId, { key: 'abc', name: 'x' }));
    const path = pathOf(tenantId, id);
    const members = [await makePrincipal(identity, tenantId), await makePrincipal(identity, tenantId)];
    for (const principalId of members) await made(identity.post(`${path}/members`, { principalId }));
    const { length: told } = await journalOf(identity, tenantId);
    assert.deepEqual([(await remove(path)).status, (await remove(path)).status], [204, 404]);
    const events = (await journalOf(identity, tenantId)).slice(told);
    assert.deepEqual(
      events.map(({ type }) => type),
      ['group_membership.removed', 'group_membership.removed', 'group.deleted'],
    );
    assert.deepEqual(
      events
        .slice(0, 2)
        .map(({ payload }) => payload.principalId)
        .toSorted(),
      members.toSorted(),
    );
    assert.deepEqual(events[2].payload, { groupId: id });
    const line = (await auditOf(identity, tenantId)).at(-1);
    assert.deepEqual([line?.action, line?.reason], ['groups.delete', 'group:abc members:2']);
    assert.equal((await create(tenantId, { key: 'abc', name: 'x' })).status, 201);
  });
});
