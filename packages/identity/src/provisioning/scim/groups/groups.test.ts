import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import { sql } from '@baton/kernel/database/sql';
import { assertTookLess } from '@baton/testing/depth';
import { startIdentity, type TestIdentity } from '../../../testing/identity.ts';
import { made } from '../../../testing/objects.ts';
import { makeProvisioning, type Provisioning } from '../../../testing/provisioning.ts';
import { auditOf } from '../../../testing/records.ts';
import { filtered, type ScimClient, scimClient } from '../../../testing/scim-client.ts';
import { until } from '../../../testing/waiting.ts';

let identity: TestIdentity;
let fixture: Provisioning;
let client: ScimClient;
before(async () => {
  identity = await startIdentity();
  fixture = await makeProvisioning(identity);
  client = scimClient(identity, fixture.token);
});
after(() => identity.close());

const makeUser = async (): Promise<string> =>
  (await made(client.post('/Users', { userName: randomUUID() }))).id;
const makeGroup = (members: string[] = [], more: object = {}) =>
  made(
    client.post('/Groups', {
      displayName: randomUUID(),
      members: members.map((value) => ({ value })),
      ...more,
    }),
  );
const membersOf = ({ members }: { members: { value: string }[] }) => members.map(({ value }) => value).sort();
const lastEvents = async (count: number) => {
  const rows = await identity.pool.rows(sql<{ type: string }>`
    select type from events where tenant_id = ${fixture.tenantId} order by sequence desc limit ${count}`);
  return rows.map(({ type }) => type).reverse();
};

test('many concurrent writes of one source leave connections for other requests', async () => {
  const small = await identity.another({ IAM_DATABASE_CONNECTIONS_MAX: '6' });
  const theirs = scimClient(small, fixture.token);
  const { id } = await makeGroup();
  const user = await theirs.post('/Users', { userName: randomUUID() });
  const writes = await identity.pool.transaction(async (tx) => {
    await tx.run(sql`select from provisioning_sources where id = ${fixture.sourceId} for update`);
    const waiting = Array.from({ length: 40 }, (_, n) =>
      n % 2 === 0
        ? theirs.patch(`/Groups/${id}`, [{ op: 'replace', path: 'displayName', value: `${id} ${n}` }])
        : theirs.patch(`/Users/${user.body.id}`, [{ op: 'replace', path: 'title', value: `Title ${n}` }]),
    );
    const began = performance.now();
    // All of the other requests are queued by now, so the next ones queue behind them.
    assert.equal((await theirs.get(`/Users/${user.body.id}`)).status, 200);
    assert.equal((await small.get('/tenants?limit=1')).status, 200);
    assertTookLess(began, 5000);
    return waiting;
  });
  for (const { status } of await Promise.all(writes)) assert.equal(status, 200);
});

describe('a group', () => {
  test('is created with its members, a group of the tenant and their events', async () => {
    const user = await makeUser();
    const displayName = `Sales & Support ${randomUUID()}`;
    const answer = await client.post('/Groups', {
      displayName,
      externalId: 'g-1',
      members: [{ value: user }],
    });
    assert.equal(answer.status, 201);
    const { id, meta, members } = answer.body;
    assert.equal(answer.headers.get('location'), meta.location);
    assert.deepEqual([members[0].value, members[0].type, meta.version], [user, 'User', 'W/"1"']);
    assert.deepEqual(await lastEvents(2), ['group.created', 'group_membership.added']);
    const projected = await identity.pool.row(sql<{ id: string; key: string; source: string }>`
      select g.id, g.key, g.source from groups g join scim_groups s on s.group_id = g.id where s.id = ${id}`);
    assert.deepEqual([projected?.key.startsWith('sales-support-'), projected?.source], [true, 'scim']);
    const byAdmin = await identity.post(`/tenants/${fixture.tenantId}/groups/${projected?.id}/members`, {
      principalId: fixture.account.principalId,
    });
    assert.deepEqual([byAdmin.status, byAdmin.body.detail], [409, 'group_is_federated']);
    const [shown] = (await client.get(`/Users${filtered(`id eq "${user}"`)}`)).body.Resources;
    assert.deepEqual([shown.groups[0].value, shown.groups[0].display], [id, displayName]);
  });

  test('names and external ids are unique, a taken key gets a number, and a privileged key is refused', async () => {
    const group = await makeGroup([], { externalId: randomUUID() });
    const other = await makeGroup();
    await made(identity.post(`/tenants/${fixture.tenantId}/groups`, { key: 'local-one', name: 'x' }));
    const clashes = [{ displayName: group.displayName.toUpperCase() }, { externalId: group.externalId }];
    for (const clash of clashes) {
      const body = { displayName: randomUUID(), ...clash };
      for (const answer of [
        await client.post('/Groups', body),
        await client.put(`/Groups/${other.id}`, body),
        await client.patch(`/Groups/${other.id}`, [{ op: 'replace', value: clash }]),
      ])
        assert.deepEqual([answer.status, answer.body.scimType], [409, 'uniqueness']);
    }
    for (const [displayName, key] of [
      ['Local One', 'local-one-2'],
      ['Local  One', 'local-one-3'],
    ]) {
      const { id } = await made(client.post('/Groups', { displayName }));
      const projected = await identity.pool.row(sql<{ key: string }>`
        select g.key from groups g join scim_groups s on s.group_id = g.id where s.id = ${id}`);
      assert.equal(projected?.key, key);
    }
    for (const displayName of ['People Admins', 'fleet admins', 'Local One'])
      assert.equal((await client.post('/Groups', { displayName })).status, 409);
    await made(client.post('/Groups', { displayName: '株式会社' }));
  });

  test('members are users of the same source and nothing else', async () => {
    const other = scimClient(identity, (await makeProvisioning(identity)).token);
    const foreign = (await made(other.post('/Users', { userName: 'x' }))).id;
    const group = await makeGroup();
    for (const value of [foreign, randomUUID(), 'x', group.id]) {
      for (const answer of [
        await client.post('/Groups', { displayName: randomUUID(), members: [{ value }] }),
        await client.put(`/Groups/${group.id}`, { displayName: randomUUID(), members: [{ value }] }),
        await client.patch(`/Groups/${group.id}`, [{ op: 'add', path: 'members', value: [{ value }] }]),
      ])
        assert.deepEqual([answer.status, answer.body.scimType], [400, 'invalidValue']);
    }
    assert.equal((await client.post('/Groups', {})).status, 400);
  });

  test('PUT replaces name and members, and is audited', async () => {
    const [ada, bob] = [await makeUser(), await makeUser()];
    const group = await makeGroup([ada]);
    const displayName = randomUUID();
    const put = await client.put(`/Groups/${group.id}`, { displayName, members: [{ value: bob }] });
    assert.deepEqual([membersOf(put.body), put.body.displayName], [[bob], displayName]);
    assert.deepEqual(await lastEvents(3), [
      'group_membership.removed',
      'group_membership.added',
      'group.updated',
    ]);
    assert.equal((await auditOf(identity, fixture.tenantId)).at(-1)?.action, 'scim.groups.replace');
    const same = await client.put(`/Groups/${group.id}`, { displayName, members: [{ value: bob }] });
    assert.deepEqual(same.body, put.body);
  });

  test('PATCH adds, removes and replaces members in every form', async () => {
    const users = await Promise.all(Array.from({ length: 4 }, makeUser));
    const [ada, bob, cyd, dan] = users as [string, string, string, string];
    const group = await makeGroup([ada]);
    const patch = async (...operations: object[]) => {
      const answer = await client.patch(`/Groups/${group.id}`, operations);
      assert.equal(answer.status, 200, JSON.stringify(answer.body));
      return membersOf(answer.body);
    };
    const sorted = (...ids: string[]) => ids.sort();
    const values = (...ids: string[]) => ids.map((value) => ({ value }));
    assert.deepEqual(await patch({ op: 'Add', path: 'members', value: values(bob) }), sorted(ada, bob));
    assert.deepEqual(await patch({ op: 'add', value: { members: values(bob, cyd) } }), sorted(ada, bob, cyd));
    assert.deepEqual(await patch({ op: 'Remove', path: `members[value eq "${ada}"]` }), sorted(bob, cyd));
    assert.deepEqual(await patch({ op: 'Remove', path: 'members', value: values(bob) }), [cyd]);
    assert.deepEqual(await patch({ op: 'remove', path: `members[value eq "${randomUUID()}"]` }), [cyd]);
    assert.deepEqual(await patch({ op: 'replace', path: 'members', value: values(dan) }), [dan]);
    assert.deepEqual(
      await patch(
        { op: 'remove', path: `members[value eq "${dan}" or value eq "${ada}"]` },
        { op: 'add', path: 'members', value: values(ada) },
      ),
      [ada],
    );
    assert.deepEqual(await patch({ op: 'remove', path: 'members' }), []);
    const renamed = randomUUID();
    await patch({ op: 'replace', value: { displayName: renamed, id: 'x' } });
    const row = await identity.pool.row(sql<{ name: string }>`
      select g.name from groups g join scim_groups s on s.group_id = g.id where s.id = ${group.id}`);
    assert.equal(row?.name, renamed);
  });

  test('a PATCH that cannot be carried out changes nothing', async () => {
    const user = await makeUser();
    const group = await makeGroup([user]);
    const away = { op: 'remove', path: 'members' };
    const refusals: [object, string][] = [
      [{ op: 'move', path: 'members' }, 'invalidSyntax'],
      [{ op: 'replace', path: 'owners', value: 'x' }, 'invalidPath'],
      [{ op: 'remove', path: 'members[display sw "a"]' }, 'invalidPath'],
      [{ op: 'add', path: `members[value eq "${user}"]`, value: {} }, 'invalidPath'],
      [{ op: 'replace', path: 'members.value', value: 'x' }, 'invalidPath'],
      [{ op: 'replace', path: 'id', value: 'x' }, 'mutability'],
      [{ op: 'remove' }, 'noTarget'],
      [{ op: 'remove', path: 'displayName' }, 'invalidValue'],
    ];
    for (const [bad, scimType] of refusals) {
      const answer = await client.patch(`/Groups/${group.id}`, [away, bad]);
      assert.deepEqual([answer.status, answer.body.scimType], [400, scimType], JSON.stringify(bad));
    }
    assert.deepEqual((await client.get(`/Groups/${group.id}`)).body, group);
  });

  test('beyond 200 members the answer to a PATCH is empty', async () => {
    const users: string[] = [];
    // Created in portions, because a source may run 4 writes at a time, and a queued write waits at most 5 s.
    while (users.length < 201)
      users.push(...(await Promise.all(Array.from({ length: Math.min(20, 201 - users.length) }, makeUser))));
    const group = await makeGroup(users.slice(0, 199));
    const add = (value: string | undefined) =>
      client.patch(`/Groups/${group.id}`, [{ op: 'add', path: 'members', value: [{ value }] }]);
    assert.equal((await add(users[199])).status, 200);
    const large = await add(users[200]);
    assert.deepEqual([large.status, large.body, large.headers.get('etag')], [204, '', 'W/"3"']);
    assert.equal((await client.get(`/Groups/${group.id}`)).body.members.length, 201);
    const spared = await client.get(`/Groups/${group.id}?excludedAttributes=members`);
    assert.equal('members' in spared.body, false);
  });

  test('DELETE deletes the group of the tenant too', async () => {
    const group = await makeGroup([await makeUser()]);
    assert.equal((await client.delete(`/Groups/${group.id}`, { 'if-match': 'W/"9"' })).status, 412);
    assert.equal((await client.delete(`/Groups/${group.id}`)).status, 204);
    assert.deepEqual(await lastEvents(2), ['group_membership.removed', 'group.deleted']);
    await made(client.post('/Groups', { displayName: group.displayName }));
  });

  test('an unknown one is 404, an old version 412, an unchanged one 304', async () => {
    for (const id of [randomUUID(), 'x'])
      for (const answer of [
        await client.get(`/Groups/${id}`),
        await client.put(`/Groups/${id}`, { displayName: 'x' }),
        await client.patch(`/Groups/${id}`, [{ op: 'remove', path: 'members' }]),
        await client.delete(`/Groups/${id}`),
      ])
        assert.equal(answer.status, 404);
    const group = await makeGroup();
    const old = { 'if-match': 'W/"2"' };
    const path = `/Groups/${group.id}`;
    assert.equal((await client.put(path, { displayName: 'x' }, old)).status, 412);
    assert.equal((await client.patch(path, [{ op: 'remove', path: 'members' }], old)).status, 412);
    assert.equal((await client.get(path, { 'if-none-match': 'W/"1"' })).status, 304);
  });

  test('are found by name, by member and by .search', async () => {
    const user = await makeUser();
    const group = await makeGroup([user]);
    for (const filter of [
      `displayName eq "${group.displayName}"`,
      `members[value eq "${user}"]`,
      `members.value eq "${user}" and displayName pr`,
    ]) {
      const { body } = await client.get(`/Groups${filtered(filter)}&excludedAttributes=members`);
      assert.deepEqual(
        body.Resources.map(({ id }: { id: string }) => id),
        [group.id],
        filter,
      );
      const search = await client.post('/Groups/.search', { filter });
      assert.deepEqual([search.body.totalResults, membersOf(search.body.Resources[0])], [1, [user]]);
    }
    for (const answer of [
      await client.get('/Groups?filter=x'),
      await client.post('/Groups/.search', { filter: 'x' }),
    ])
      assert.equal(answer.body.scimType, 'invalidFilter');
    for (const answer of [
      await client.get('/Groups?count=x'),
      await client.post('/Groups/.search', { count: 'x' }),
    ])
      assert.equal(answer.body.scimType, 'invalidValue');
  });
});

test('a directory deletes a group without waiting for a sign-in that brings a member', async () => {
  const { id } = await makeGroup([await makeUser()]);
  const group = await identity.pool.row<{ group_id: string }>(
    sql`select group_id from scim_groups where id = ${id}`,
  );
  await identity.pool.transaction(async (tx) => {
    await tx.run(sql`select from groups where id = ${group?.group_id} for key share`);
    assert.equal((await client.delete(`/Groups/${id}`)).status, 204);
    assert.equal((await client.get(`/Groups/${id}`)).status, 404);
  });
  const events = sql<{ type: string; source: string }>`
    select type, payload ->> 'provisioningSource' as source from events
    where aggregate_id = ${group?.group_id} order by sequence desc limit 2`;
  const isDeleted = async () => (await identity.pool.row(events))?.type === 'group.deleted';
  await until(isDeleted, 'the job has removed the group');
  const [deleted, removed] = await identity.pool.rows(events);
  assert.equal(removed?.type, 'group_membership.removed');
  assert.ok(deleted?.source && deleted.source === removed.source);
});
