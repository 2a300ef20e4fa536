import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, test } from 'node:test';
import { sql } from '@baton/kernel/database/sql';
import { startIdentity, type TestIdentity } from '../../testing/identity.ts';
import { made } from '../../testing/objects.ts';
import { makeProvisioning, type Provisioning } from '../../testing/provisioning.ts';
import { type ScimClient, scimClient } from '../../testing/scim-client.ts';

/** Tests the bounds of values and the size of list pages. */

let identity: TestIdentity;
let fixture: Provisioning;
let client: ScimClient;
before(async () => {
  identity = await startIdentity({ IAM_LOG_LEVEL: 'error' });
  fixture = await makeProvisioning(identity);
  client = scimClient(identity, fixture.token);
});
after(() => identity.close());

const makeUser = (more: object = {}) => made(client.post('/Users', { userName: randomUUID(), ...more }));
const replace = (value: object) => [{ op: 'replace', value }];

test('a text that is too long is refused with invalidValue, which names the attribute', async () => {
  const { id } = await makeUser();
  const long = 'x'.repeat(20_000);
  const cases: [object, string][] = [
    [{ title: long }, 'title'],
    [{ name: { givenName: long } }, 'givenName'],
    [{ emails: [{ value: long }] }, 'value'],
    [{ x509Certificates: [{ value: long }] }, 'value'],
    [{ displayName: 'x'.repeat(201) }, 'displayName'],
    [{ externalId: 'x'.repeat(501) }, 'externalId'],
    [{ userName: 'x'.repeat(321) }, 'userName'],
  ];
  for (const [part, name] of cases)
    for (const answer of [
      await client.post('/Users', { userName: randomUUID(), ...part }),
      await client.put(`/Users/${id}`, { userName: randomUUID(), ...part }),
      await client.patch(`/Users/${id}`, replace(part)),
    ]) {
      assert.deepEqual([answer.status, answer.body.scimType], [400, 'invalidValue'], name);
      assert.ok(answer.body.detail.includes(`\`${name}\``), answer.body.detail);
    }
});

test('a user that grows beyond 256 KiB is refused; one that was larger before can still be disabled', async () => {
  const { id } = await makeUser();
  const addresses = (from: number) =>
    Array.from({ length: 150 }, (_, n) => ({ type: 'work', formatted: `${from + n} ${'x'.repeat(1000)}` }));
  const grow = (from: number) =>
    client.patch(`/Users/${id}`, [{ op: 'add', path: 'addresses', value: addresses(from) }]);
  assert.equal((await grow(0)).status, 200);
  const refused = await grow(1000);
  assert.deepEqual([refused.status, refused.body.scimType], [400, 'invalidValue']);
  await identity.pool.run(sql`
    update scim_users set document = jsonb_build_object('title', repeat('y', 400000)) where id = ${id}`);
  const disabled = await client.patch(`/Users/${id}`, replace({ active: false }));
  assert.deepEqual([disabled.status, disabled.body.active], [200, false]);
});

test('a malformed member and an `active` of null are refused with invalidValue, which names them', async () => {
  const user = await makeUser();
  const group = await made(
    client.post('/Groups', { displayName: randomUUID(), members: [{ value: user.id }] }),
  );
  for (const members of [[{}], [null], [{ display: 'x' }], [{ value: user.id }, {}], [{ value: 1 }], ['']])
    for (const answer of [
      await client.post('/Groups', { displayName: randomUUID(), members }),
      await client.put(`/Groups/${group.id}`, { displayName: randomUUID(), members }),
      ...(await Promise.all(
        ['add', 'replace', 'remove'].map((op) =>
          client.patch(`/Groups/${group.id}`, [{ op, path: 'members', value: members }]),
        ),
      )),
      await client.patch(`/Groups/${group.id}`, replace({ members })),
    ]) {
      assert.deepEqual([answer.status, answer.body.scimType], [400, 'invalidValue'], JSON.stringify(members));
      assert.match(answer.body.detail, /`(members|value)`/);
    }
  assert.equal((await client.get(`/Groups/${group.id}`)).body.members.length, 1);
  for (const answer of [
    await client.post('/Users', { userName: randomUUID(), active: null }),
    await client.put(`/Users/${user.id}`, { userName: randomUUID(), active: null }),
    await client.patch(`/Users/${user.id}`, [{ op: 'replace', path: 'active', value: null }]),
    await client.patch(`/Users/${user.id}`, replace({ active: null })),
  ]) {
    assert.deepEqual([answer.status, answer.body.scimType], [400, 'invalidValue']);
    assert.match(answer.body.detail, /`active`/);
  }
  assert.equal((await client.get(`/Users/${user.id}`)).body.active, true);
});

test('a page of large users ends at 4 MiB, has the total, and the next one continues there', async () => {
  const other = scimClient(identity, (await makeProvisioning(identity)).token);
  const photos = Array.from({ length: 120 }, (_, n) => ({
    value: `https://example.com/${n}/${'p'.repeat(2000)}`,
  }));
  const names = Array.from({ length: 40 }, (_, n) => `user-${String(n).padStart(2, '0')}`);
  for (const userName of names) await made(other.post('/Users', { userName, photos }));
  const seen: string[] = [];
  for (const query of ['', '&sortBy=userName&sortOrder=ascending', '&filter=userName%20sw%20%22user%22']) {
    seen.length = 0;
    while (seen.length < names.length) {
      const { body } = await other.get(`/Users?count=200&startIndex=${seen.length + 1}${query}`);
      assert.ok(JSON.stringify(body).length < 5 * 1024 * 1024);
      assert.deepEqual([body.totalResults, body.itemsPerPage], [40, body.Resources.length]);
      assert.ok(body.Resources.length > 0);
      seen.push(...body.Resources.map(({ userName }: { userName: string }) => userName));
    }
    assert.deepEqual(seen, names);
  }
});

test('a page of large groups ends at 4 MiB too', async () => {
  const tenant = await makeProvisioning(identity);
  const other = scimClient(identity, tenant.token);
  const user = await made(other.post('/Users', { userName: 'one' }));
  for (const displayName of ['a', 'b', 'c']) await made(other.post('/Groups', { displayName }));
  await identity.pool.run(sql`
    with people as (
      insert into principals (id, kind, display_name)
      select gen_random_uuid(), 'human', 'p' || n from generate_series(1, 6500) n returning id
    )
    insert into group_members (id, tenant_id, group_id, principal_id, source)
    select gen_random_uuid(), ${tenant.tenantId}, g.group_id, p.id, 'scim'
    from people p cross join scim_groups g where g.provisioning_source_id = ${tenant.sourceId}`);
  const first = (await other.get('/Groups?count=200')).body;
  assert.deepEqual([first.totalResults, first.itemsPerPage], [3, 2]);
  const slim = (await other.get('/Groups?count=200&excludedAttributes=members')).body;
  assert.deepEqual([slim.totalResults, slim.itemsPerPage], [3, 3]);
  assert.equal((await other.get(`/Users/${user.id}`)).status, 200);
});

test('malformed JSON is invalidSyntax', async () => {
  const answer = await identity.request('POST', '/scim/v2/Users', {
    body: '{"userName":',
    headers: { authorization: `Bearer ${fixture.token}`, 'content-type': 'application/scim+json' },
  });
  assert.deepEqual([answer.status, answer.body.scimType], [400, 'invalidSyntax']);
});

test('an addition never removes, a pair of type and value occurs once, and a whole element needs a match', async () => {
  const start = { title: 'T', name: { givenName: 'Ada' }, emails: [{ value: 'a@x', type: 'work' }] };
  const user = await makeUser(start);
  const path = `/Users/${user.id}`;
  for (const operation of [
    { op: 'add', path: 'name', value: {} },
    { op: 'add', path: 'name', value: { unknown: 1 } },
    { op: 'add', path: 'title', value: null },
    { op: 'add', path: 'emails[type eq "work"]', value: {} },
    { op: 'add', path: 'emails', value: [] },
    { op: 'add', value: { emails: [{ unknown: 1 }] } },
  ])
    assert.deepEqual((await client.patch(path, [operation])).body, user, JSON.stringify(operation));
  const again = { op: 'add', path: 'emails', value: [{ value: 'A@x', type: 'Work', display: 'new' }] };
  assert.deepEqual((await client.patch(path, [again])).body.emails, again.value);
  for (const op of ['add', 'replace']) {
    const answer = await client.patch(path, [{ op, path: 'ims[value eq "x"]', value: { display: 'd' } }]);
    assert.deepEqual([answer.status, answer.body.scimType], [400, 'noTarget']);
  }
  await client.patch(path, [{ op: 'replace', path: 'title', value: '' }]);
  const found = await client.get(`/Users?filter=${encodeURIComponent(`id eq "${user.id}" and title pr`)}`);
  assert.equal(found.body.totalResults, 0);
});
