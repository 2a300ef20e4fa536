import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { sql } from '@baton/kernel/database/sql';
import type { TestIdentity } from '../../testing/identity.ts';
import { made } from '../../testing/objects.ts';
import { journalOf } from '../../testing/records.ts';
import {
  everyRoute,
  makeRealm,
  newSubject,
  type Realm,
  type Route,
  signInBy,
  startFederation,
} from '../federation/testing/sign-in.ts';
import type { Upstream } from '../federation/testing/upstream.ts';

let identity: TestIdentity;
let upstream: Upstream;
before(async () => {
  ({ identity, upstream } = await startFederation());
});
after(async () => {
  await identity.close();
  await upstream.close();
});

const groupMappings = {
  '/Engineering': 'engineers',
  ' ops': 'operators',
  'Ops Leads': 'operators',
  hr: 'people',
};
const enter = async (realm: Realm, claims: object, route: Route = 'authenticate') => {
  const { status, body } = await signInBy(identity, realm, await upstream.sign(claims), route);
  assert.equal(status, 200, JSON.stringify(body));
  if (route !== 'start-session') return body;
  // This response has no groups.
  const { principalId } = body.session;
  const groups = (await membershipsOf(principalId)).map((line) => line.split(' ')[0]);
  return { principalId, groups };
};
/** The events of a sign-in, without that of the browser session. */
const eventsOf = async ({ tenantId }: Realm) =>
  (await journalOf(identity, tenantId)).filter(({ type }) => type !== 'browser_session.started');
/**
 * For each membership, a string such as `engineers federated`.
 */
const membershipsOf = async (principalId: string) =>
  (
    await identity.pool.rows<{ line: string }>(sql`
      select g.key || ' ' || m.source as line from group_members m join groups g on g.id = m.group_id
      where m.principal_id = ${principalId} order by line`)
  ).map(({ line }) => line);

for (const route of everyRoute)
  describe(`the groups of a token, by ${route}`, () => {
    test('only mapped ones count, without spaces and slashes; missing groups are created', async () => {
      const realm = await makeRealm(identity, upstream, { groupMappings });
      const groups = ['engineering', '//Engineering ', '/ops', 'Ops Leads', 'unmapped', 7, ''];
      const body = await enter(realm, { sub: newSubject(), groups }, route);
      assert.deepEqual(body.groups, ['engineers', 'operators']);
      assert.deepEqual(await membershipsOf(body.principalId), ['engineers federated', 'operators federated']);
      const origin = { identityProvider: realm.key };
      const events = (await eventsOf(realm)).slice(-4);
      const ids = Object.fromEntries(events.map(({ aggregate_id, payload }) => [payload.key, aggregate_id]));
      const [engineers, operators] = [ids['engineers'], ids['operators']];
      const { principalId } = body;
      assert.deepEqual(
        events
          .map(({ type, payload }) => [type, payload])
          .sort(([left], [right]) => left.localeCompare(right)),
        [
          ['group_membership.added', { groupId: engineers, principalId, ...origin }],
          ['group_membership.added', { groupId: operators, principalId, ...origin }],
          ['group.created', { groupId: engineers, key: 'engineers', source: 'federated', ...origin }],
          ['group.created', { groupId: operators, key: 'operators', source: 'federated', ...origin }],
        ],
      );
      const row = await identity.pool.row(
        sql`select name, source, status from groups where id = ${engineers}`,
      );
      assert.deepEqual(row, { name: 'engineers', source: 'federated', status: 'active' });
    });

    test('memberships become exactly the list; an empty list ends them; without the claim they stay', async () => {
      const realm = await makeRealm(identity, upstream, { groupMappings });
      const sub = newSubject();
      const { principalId } = await enter(realm, { sub, groups: ['Engineering', 'hr'] }, route);
      assert.deepEqual((await enter(realm, { sub, groups: ['hr', 'ops'] }, route)).groups, [
        'operators',
        'people',
      ]);
      assert.deepEqual(await membershipsOf(principalId), ['operators federated', 'people federated']);
      const last = (await eventsOf(realm)).slice(-3).map(({ type }) => type);
      assert.deepEqual(last, ['group.created', 'group_membership.removed', 'group_membership.added']);

      const quiet = (await eventsOf(realm)).length;
      for (const groups of [undefined, null, 7, { hr: true }]) {
        assert.deepEqual((await enter(realm, { sub, groups }, route)).groups, ['operators', 'people']);
        assert.deepEqual(await membershipsOf(principalId), ['operators federated', 'people federated']);
      }
      assert.deepEqual((await enter(realm, { sub, groups: ['hr', 'ops'] }, route)).groups, [
        'operators',
        'people',
      ]);
      assert.equal((await eventsOf(realm)).length, quiet);

      assert.deepEqual((await enter(realm, { sub, groups: 'hr' }, route)).groups, ['people']);
      assert.deepEqual((await enter(realm, { sub, groups: [] }, route)).groups, []);
      assert.deepEqual(await membershipsOf(principalId), []);
    });
  });

describe('memberships from elsewhere', () => {
  test('local ones stay local, whether the token names the group or not', async () => {
    const realm = await makeRealm(identity, upstream, { groupMappings });
    const sub = newSubject();
    const { principalId } = await enter(realm, { sub });
    const group = await made(
      identity.post(`/tenants/${realm.tenantId}/groups`, { key: 'engineers', name: 'E' }),
    );
    await made(identity.post(`/tenants/${realm.tenantId}/groups/${group.id}/members`, { principalId }));
    for (const groups of [['Engineering'], [], ['Engineering']]) {
      assert.deepEqual(
        (await enter(realm, { sub, groups })).groups,
        groups.length === 0 ? [] : ['engineers'],
      );
      assert.deepEqual(await membershipsOf(principalId), ['engineers local']);
    }
  });

  test('those of SCIM and of another provider stay, and a group that a provider made is not edited by hand', async () => {
    const realm = await makeRealm(identity, upstream, { groupMappings });
    const sub = newSubject();
    const { principalId } = await enter(realm, { sub, groups: ['Engineering', 'hr'] });
    const { id: other } = await made(
      identity.post(`/tenants/${realm.tenantId}/identity-providers`, {
        key: 'other',
        issuer: 'https://other.example',
        audience: 'x',
      }),
    );
    await identity.pool.run(sql`
      update group_members set identity_provider_id = ${other}
      where principal_id = ${principalId} and group_id in (select id from groups where key = 'people')`);
    await identity.pool.run(sql`
      update group_members set source = 'scim'
      where principal_id = ${principalId} and group_id in (select id from groups where key = 'engineers')`);
    assert.deepEqual((await enter(realm, { sub, groups: [] })).groups, []);
    assert.deepEqual(await membershipsOf(principalId), ['engineers scim', 'people federated']);
    const { id } = (await identity.pool.row<{ id: string }>(sql`
      select id from groups where key = 'people' and tenant_id = ${realm.tenantId}`)) ?? { id: '' };
    const byHand = await identity.post(`/tenants/${realm.tenantId}/groups/${id}/members`, { principalId });
    assert.deepEqual([byHand.status, byHand.body], [409, { detail: 'group_is_federated' }]);
  });

  test('another claim can hold the groups', async () => {
    const realm = await makeRealm(identity, upstream, {
      groupMappings,
      groupClaim: 'https://example.com/roles',
    });
    const claims = { sub: newSubject(), groups: ['hr'], 'https://example.com/roles': ['ops'] };
    assert.deepEqual((await enter(realm, claims)).groups, ['operators']);
  });
});
