import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import { sql } from '@baton/kernel/database/sql';
import { startIdentity, type TestIdentity } from '../../../testing/identity.ts';
import { made, makeAudience, makeToken, signIn } from '../../../testing/objects.ts';
import { makeProvisioning, type Provisioning } from '../../../testing/provisioning.ts';
import { auditActions, auditOf, journalOf } from '../../../testing/records.ts';
import { type ScimClient, scimClient } from '../../../testing/scim-client.ts';
import { enterpriseUrn, userUrn } from '../protocol/schemas.ts';

let identity: TestIdentity;
let fixture: Provisioning;
let client: ScimClient;
before(async () => {
  identity = await startIdentity();
  fixture = await makeProvisioning(identity);
  client = scimClient(identity, fixture.token);
});
after(() => identity.close());

const newUser = (more: object = {}) => {
  const name = randomUUID();
  return { schemas: [userUrn], userName: `${name}@example.com`, externalId: name, ...more };
};
const makeUser = (more: object = {}) => made(client.post('/Users', newUser(more)));
const principalOf = async (userId: string) =>
  (await identity.pool.row(sql<{ principal_id: string; status: string; display_name: string }>`
    select u.principal_id, p.status, p.display_name from scim_users u join principals p on p.id = u.principal_id
    where u.id = ${userId}`)) as { principal_id: string; status: string; display_name: string };

const everything = {
  name: { formatted: 'Ms. Ada Lovelace', familyName: 'Lovelace', givenName: 'Ada', honorificPrefix: 'Ms.' },
  displayName: 'Ada',
  nickName: 'A',
  profileUrl: 'https://example.com/ada',
  title: 'Countess',
  userType: 'Employee',
  preferredLanguage: 'en',
  locale: 'en-GB',
  timezone: 'Europe/London',
  active: true,
  emails: [
    { value: 'ada@example.com', type: 'work', primary: true },
    { value: 'ada@home.example', type: 'home', display: 'at home' },
  ],
  phoneNumbers: [{ value: '+44', type: 'work' }],
  ims: [{ value: 'ada', type: 'xmpp' }],
  photos: [{ value: 'https://example.com/ada.png', type: 'photo' }],
  addresses: [{ type: 'work', streetAddress: '1 Street', locality: 'London', country: 'GB', primary: true }],
  entitlements: [{ value: 'e' }],
  roles: [{ value: 'r', primary: true }],
  x509Certificates: [{ value: 'AAAA' }],
  [enterpriseUrn]: {
    employeeNumber: '1',
    costCenter: 'c',
    organization: 'o',
    division: 'd',
    department: 'x',
    manager: { value: 'm' },
  },
};

describe('a user', () => {
  test('with everything that the schemas declare is stored and returned as it was sent', async () => {
    const sent = newUser(everything);
    const answer = await client.post('/Users', {
      ...sent,
      schemas: [userUrn, enterpriseUrn],
      password: 'never-kept',
      unknown: 1,
      id: 'theirs',
      meta: {},
    });
    assert.equal(answer.status, 201);
    const { id, meta, groups, schemas, ...kept } = answer.body;
    const { schemas: _, ...wanted } = sent;
    assert.deepEqual(kept, wanted);
    assert.deepEqual([groups, schemas], [[], [userUrn, enterpriseUrn]]);
    assert.equal(answer.headers.get('location'), meta.location);
    assert.match(meta.location, /^http.*\/iam\/scim\/v2\/Users\//);
    assert.deepEqual([answer.headers.get('etag'), meta.version], ['W/"1"', 'W/"1"']);
    assert.equal(answer.headers.get('content-type'), 'application/scim+json');
    assert.deepEqual((await client.get(`/Users/${id}`)).body, answer.body);
    const replaced = await client.put(`/Users/${id}`, { userName: sent.userName });
    assert.deepEqual(Object.keys(replaced.body).sort(), [
      'active',
      'groups',
      'id',
      'meta',
      'schemas',
      'userName',
    ]);
    assert.equal(replaced.body.active, true);
  });

  test('is created with a person, events, audit rows and the last sync of its source', async () => {
    const { body } = await client.post('/Users', newUser({ displayName: 'Grace' }));
    const person = await principalOf(body.id);
    assert.deepEqual([person.status, person.display_name], ['active', 'Grace']);
    const events = (await journalOf(identity, fixture.tenantId)).slice(-3);
    assert.deepEqual(
      events.map(({ type }) => type),
      ['principal.created', 'external_identity.linked', 'scim_user.provisioned'],
    );
    assert.deepEqual(events[2].payload, {
      provisioningSource: 'entra',
      scimUserId: body.id,
      principalId: person.principal_id,
      active: true,
    });
    const audited = (await auditOf(identity, fixture.tenantId)).at(-1);
    assert.deepEqual(
      [audited?.action, audited?.actor_ref, audited?.reason],
      ['scim.users.create', 'provisioning_source:entra', `principal:${person.principal_id}`],
    );
    const [source] = (await identity.get(`/tenants/${fixture.tenantId}/provisioning-sources`)).body;
    assert.notEqual(source.lastSyncAt, null);
  });

  test('without an external id gets a subject of its own; several of them never collide', async () => {
    for (const userName of [randomUUID(), randomUUID()]) {
      const user = await made(client.post('/Users', { userName }));
      assert.equal('externalId' in user, false);
      assert.equal((await principalOf(user.id)).display_name, userName);
    }
    const named = await makeUser();
    assert.equal((await principalOf(named.id)).display_name, `entra:${named.externalId}`);
  });

  test('names and external ids are unique in their source, in any case', async () => {
    const user = await makeUser();
    const other = await makeUser();
    for (const clash of [{ userName: user.userName.toUpperCase() }, { externalId: user.externalId }]) {
      for (const answer of [
        await client.post('/Users', newUser(clash)),
        await client.put(`/Users/${other.id}`, newUser(clash)),
        await client.patch(`/Users/${other.id}`, [{ op: 'replace', value: clash }]),
      ])
        assert.deepEqual([answer.status, answer.body.scimType], [409, 'uniqueness']);
    }
    assert.deepEqual((await client.get(`/Users/${other.id}`)).body, other);
  });

  test('of concurrent creations with one name, one succeeds', async () => {
    const user = newUser();
    const answers = await Promise.all(Array.from({ length: 8 }, () => client.post('/Users', user)));
    assert.deepEqual(answers.map(({ status }) => status).sort(), [201, ...Array(7).fill(409)]);
  });

  test('values of another type are refused', async () => {
    for (const bad of [
      { userName: '' },
      { userName: 7 },
      { userName: 'x'.repeat(321) },
      { displayName: 'x'.repeat(201) },
      { externalId: 'x'.repeat(501) },
      { active: 'maybe' },
      { name: 'Ada' },
      { emails: [{ value: 1 }] },
      {
        emails: [
          { value: 'a', primary: true },
          { value: 'b', primary: true },
        ],
      },
      { [enterpriseUrn]: 'x' },
      { title: 'a\u0000b' },
    ]) {
      const answer = await client.post('/Users', newUser(bad));
      assert.deepEqual([answer.status, answer.body.scimType], [400, 'invalidValue'], JSON.stringify(bad));
    }
    const user = await makeUser();
    assert.equal((await client.put(`/Users/${user.id}`, {})).status, 400);
    assert.equal((await client.post('/Users', '{"broken')).status, 400);
    assert.equal((await client.post('/Users', '[]')).status, 400);
  });

  test('a source whose directory has no credentials cannot create users', async () => {
    const other = await makeProvisioning(identity);
    await identity.pool.run(sql`
      update provisioning_sources set upstream_mode = 'scim', upstream_base_url = 'https://example.com'
      where id = ${other.sourceId}`);
    assert.equal((await scimClient(identity, other.token).post('/Users', newUser())).status, 502);
  });

  test("another source's user and a malformed id are 404", async () => {
    const user = await makeUser();
    const theirs = scimClient(identity, (await makeProvisioning(identity)).token);
    for (const [from, id] of [
      [theirs, user.id],
      [client, randomUUID()],
      [client, 'x'],
    ] as const) {
      for (const answer of [
        await from.get(`/Users/${id}`),
        await from.put(`/Users/${id}`, newUser()),
        await from.patch(`/Users/${id}`, [{ op: 'replace', path: 'active', value: false }]),
        await from.delete(`/Users/${id}`),
      ])
        assert.deepEqual([answer.status, answer.body.scimType], [404, undefined]);
    }
    assert.equal((await theirs.get('/Users')).body.totalResults, 0);
  });

  test('versions: If-None-Match gives 304, another If-Match 412, a no-op keeps the version', async () => {
    const user = await makeUser();
    const path = `/Users/${user.id}`;
    assert.equal((await client.get(path, { 'if-none-match': 'W/"1"' })).status, 304);
    assert.equal((await client.get(path, { 'if-none-match': 'W/"2"' })).status, 200);
    const old = { 'if-match': 'W/"7"' };
    const off = [{ op: 'replace', path: 'title', value: 'x' }];
    for (const answer of [
      await client.put(path, newUser(), old),
      await client.patch(path, off, old),
      await client.delete(path, old),
    ])
      assert.equal(answer.status, 412);
    const same = await client.put(path, user, { 'if-match': 'W/"1"' });
    assert.deepEqual(same.body, user);
    assert.equal((await client.patch(path, off, { 'if-match': '*' })).body.meta.version, 'W/"2"');
    const again = await client.patch(path, off);
    assert.equal(again.body.meta.version, 'W/"2"');
    assert.equal(again.headers.get('etag'), 'W/"2"');
  });
});

describe('a disabled user', () => {
  async function makePerson() {
    const user = await makeUser({ displayName: 'Leaving' });
    const { principal_id: principalId } = await principalOf(user.id);
    await signIn(identity, fixture.tenantId, principalId);
    await makeToken(identity, fixture.tenantId, principalId);
    return { user, principalId };
  }
  before(() => makeAudience(identity, fixture.tenantId));

  test('has its person disabled as by :disable, stays readable and can be enabled again', async () => {
    for (const [close, open] of [
      [
        { op: 'Replace', path: 'active', value: 'False' },
        { op: 'Add', path: 'active', value: 'True' },
      ],
      [
        { op: 'remove', path: 'active' },
        { op: 'replace', value: { active: true } },
      ],
    ]) {
      const { user, principalId } = await makePerson();
      const off = await client.patch(`/Users/${user.id}`, [close]);
      assert.deepEqual([off.status, off.body.active], [200, false]);
      assert.equal((await principalOf(user.id)).status, 'disabled');
      const events = (await journalOf(identity, fixture.tenantId)).slice(-3);
      assert.deepEqual(
        events.map(({ type }) => type),
        ['credential.revoked', 'principal.disabled', 'scim_user.updated'],
      );
      assert.equal(events[0].payload.reason, 'scim_deactivated');
      assert.deepEqual(events[1].payload, {
        principalId,
        revokedCredentials: 1,
        provisioningSource: 'entra',
      });
      assert.deepEqual((await auditActions(identity, fixture.tenantId)).slice(-3), [
        'allowed platform_access_tokens.revoke',
        'allowed principals.disable',
        'allowed scim.users.patch',
      ]);
      const on = await client.patch(`/Users/${user.id}`, [open]);
      assert.equal(on.body.active, true);
      assert.equal((await principalOf(user.id)).status, 'active');
      const enabled = (await journalOf(identity, fixture.tenantId)).at(-2);
      assert.equal(enabled.type, 'principal.enabled');
    }
  });

  test('can be disabled by PUT too; a PUT without active leaves it as it is', async () => {
    const { user } = await makePerson();
    const off = await client.put(`/Users/${user.id}`, { ...user, active: false });
    assert.equal(off.body.active, false);
    const { active: _, ...rest } = user;
    assert.equal((await client.put(`/Users/${user.id}`, rest)).body.active, false);
    assert.equal((await client.put(`/Users/${user.id}`, user)).body.active, true);
  });

  test('is deleted with its memberships in groups of the source, and comes back as the same person', async () => {
    const { user, principalId } = await makePerson();
    const group = await made(
      client.post('/Groups', { displayName: randomUUID(), members: [{ value: user.id }] }),
    );
    assert.equal((await client.delete(`/Users/${user.id}`)).status, 204);
    const events = (await journalOf(identity, fixture.tenantId)).slice(-4);
    assert.deepEqual(
      events.map(({ type }) => type),
      ['credential.revoked', 'principal.disabled', 'group_membership.removed', 'scim_user.deprovisioned'],
    );
    assert.equal(events[3].payload.removedMemberships, 1);
    assert.deepEqual((await client.get(`/Groups/${group.id}`)).body.members, []);
    assert.equal((await client.delete(`/Users/${user.id}`)).status, 404);
    const { id: _, ...again } = user;
    const back = await client.post('/Users', again);
    assert.equal(back.status, 201);
    const person = await principalOf(back.body.id);
    assert.deepEqual([person.principal_id, person.status], [principalId, 'active']);
    assert.deepEqual(
      (await journalOf(identity, fixture.tenantId)).slice(-2).map(({ type }) => type),
      ['principal.enabled', 'scim_user.provisioned'],
    );
  });

  test('comes back disabled if it is created inactive; a new inactive user starts disabled', async () => {
    const { user, principalId } = await makePerson();
    await client.delete(`/Users/${user.id}`);
    await identity.pool.run(sql`update principals set status = 'active' where id = ${principalId}`);
    await signIn(identity, fixture.tenantId, principalId);
    await makeToken(identity, fixture.tenantId, principalId);
    const { id: _, ...again } = user;
    const back = await made(client.post('/Users', { ...again, active: false }));
    assert.equal((await principalOf(back.id)).status, 'disabled');
    assert.deepEqual(
      (await journalOf(identity, fixture.tenantId)).slice(-3).map(({ type }) => type),
      ['credential.revoked', 'principal.disabled', 'scim_user.provisioned'],
    );
    const fresh = await makeUser({ active: false });
    assert.equal((await principalOf(fresh.id)).status, 'disabled');
  });
});

describe('PATCH of a user', () => {
  const patched = async (before: object, ...operations: object[]) => {
    const user = await makeUser(before);
    const answer = await client.patch(`/Users/${user.id}`, operations);
    assert.equal(answer.status, 200, JSON.stringify(answer.body));
    assert.deepEqual((await client.get(`/Users/${user.id}`)).body, answer.body);
    return answer.body;
  };

  test('accepts what Entra ID sends', async () => {
    const body = await patched(
      {},
      { op: 'Add', path: 'emails[type eq "work"].value', value: 'a@example.com' },
      { op: 'Replace', path: 'emails[type eq "work"].primary', value: 'True' },
      { op: 'Add', path: 'name.givenName', value: 'Ada' },
      { op: 'Add', path: `${enterpriseUrn}:department`, value: 'Engines' },
      { op: 'Add', path: `${enterpriseUrn}:manager`, value: 'm-1' },
      { op: 'Replace', path: 'addresses[type eq "work"].locality', value: 'London' },
      {
        op: 'Replace',
        value: { displayName: 'Ada', 'name.familyName': 'L', [`${enterpriseUrn}:division`]: 'D' },
      },
    );
    assert.deepEqual(body.emails, [{ type: 'work', value: 'a@example.com', primary: true }]);
    assert.deepEqual(body.name, { givenName: 'Ada', familyName: 'L' });
    assert.deepEqual(body[enterpriseUrn], {
      department: 'Engines',
      manager: { value: 'm-1' },
      division: 'D',
    });
    assert.deepEqual(body.addresses, [{ type: 'work', locality: 'London' }]);
    assert.equal(body.displayName, 'Ada');
  });

  test('accepts what Okta sends', async () => {
    const body = await patched(everything, {
      op: 'replace',
      value: {
        active: false,
        id: 'ignored',
        unknown: 'ignored',
        emails: [{ value: 'new@example.com', type: 'work', primary: true }],
        [enterpriseUrn]: { manager: [{ value: 'm-2', displayName: 'x' }] },
      },
    });
    assert.equal(body.active, false);
    assert.deepEqual(body.emails, [{ value: 'new@example.com', type: 'work', primary: true }]);
    assert.deepEqual(body[enterpriseUrn].manager, { value: 'm-2' });
    assert.equal(body[enterpriseUrn].division, 'd');
  });

  test('adds, replaces and removes elements; a new primary clears the other', async () => {
    const body = await patched(
      everything,
      { op: 'add', path: 'emails', value: [{ value: 'third@example.com', type: 'other', primary: true }] },
      { op: 'remove', path: 'emails[type eq "home"]' },
      { op: 'remove', path: 'phoneNumbers' },
      { op: 'remove', path: 'roles', value: [{ value: 'r' }] },
      { op: 'remove', path: 'name.honorificPrefix' },
      { op: 'replace', path: 'title', value: null },
      { op: 'replace', path: 'ims[value eq "ada"]', value: { display: 'IM' } },
      { op: 'replace', path: 'photos.display', value: 'P' },
      { op: 'remove', path: enterpriseUrn },
    );
    assert.deepEqual(body.emails, [
      { value: 'ada@example.com', type: 'work', primary: false },
      { value: 'third@example.com', type: 'other', primary: true },
    ]);
    assert.deepEqual(
      [body.phoneNumbers, body.roles, body.title, body[enterpriseUrn], body.name.honorificPrefix],
      [undefined, undefined, undefined, undefined, undefined],
    );
    assert.deepEqual(body.ims, [{ value: 'ada', type: 'xmpp', display: 'IM' }]);
    assert.equal(body.photos[0].display, 'P');
    assert.deepEqual(body.schemas, [userUrn]);
  });

  test('changes the external id, also that of the person', async () => {
    const externalId = randomUUID();
    const body = await patched({}, { op: 'replace', path: 'externalId', value: externalId });
    assert.equal(body.externalId, externalId);
    assert.equal((await principalOf(body.id)).display_name, `entra:${externalId}`);
  });

  test('is refused as a whole, with the scimType of the reason', async () => {
    const user = await makeUser(everything);
    const good = { op: 'replace', path: 'title', value: 'changed' };
    const refusals: [object, string][] = [
      [{ op: 'copy', path: 'title', value: 'x' }, 'invalidSyntax'],
      [{ path: 'title', value: 'x' }, 'invalidSyntax'],
      [{ op: 'replace', path: 'nothing', value: 'x' }, 'invalidPath'],
      [{ op: 'replace', path: 'emails[', value: 'x' }, 'invalidPath'],
      [{ op: 'replace', path: '__proto__.polluted', value: 'x' }, 'invalidPath'],
      [{ op: 'replace', path: 'constructor.prototype', value: 'x' }, 'invalidPath'],
      [{ op: 'replace', path: 'name.__proto__', value: 'x' }, 'invalidPath'],
      [{ op: 'replace', path: 'emails[type eq "work"].__proto__', value: 'x' }, 'invalidPath'],
      [{ op: 'replace', path: 'emails[constructor eq "x"].value', value: 'x' }, 'invalidPath'],
      [{ op: 'add', value: { '__proto__.polluted': 1 } }, 'invalidPath'],
      [{ op: 'replace', path: 'id', value: 'x' }, 'mutability'],
      [{ op: 'replace', path: 'groups', value: [] }, 'mutability'],
      [{ op: 'replace', path: 'meta.version', value: 'x' }, 'mutability'],
      [{ op: 'remove' }, 'noTarget'],
      [{ op: 'replace', path: 'emails[type sw "x"].value', value: 'x' }, 'noTarget'],
      [{ op: 'remove', path: 'userName' }, 'invalidValue'],
      [{ op: 'replace', path: 'active', value: 'perhaps' }, 'invalidValue'],
      [{ op: 'replace', path: 'title' }, 'invalidValue'],
      [{ op: 'replace', value: 'x' }, 'invalidValue'],
    ];
    for (const [bad, scimType] of refusals) {
      const answer = await client.patch(`/Users/${user.id}`, [good, bad]);
      assert.deepEqual([answer.status, answer.body.scimType], [400, scimType], JSON.stringify(bad));
    }
    for (const operations of [[], 'x', undefined, Array(1001).fill(good)])
      assert.equal((await client.patch(`/Users/${user.id}`, operations)).status, 400);
    assert.deepEqual((await client.get(`/Users/${user.id}`)).body, user);
    assert.equal(({} as Record<string, unknown>)['polluted'], undefined);
  });

  test('a name of Object.prototype in a value is no attribute', async () => {
    const user = await makeUser();
    const body = `{"schemas":[],"Operations":[{"op":"add","value":{"__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}},"name":{"__proto__":{"polluted":1},"givenName":"G"}}}]}`;
    const answer = await identity.request('PATCH', `/scim/v2/Users/${user.id}`, {
      body,
      headers: { authorization: `Bearer ${fixture.token}` },
    });
    assert.deepEqual([answer.status, answer.body.name], [200, { givenName: 'G' }]);
    assert.equal(({} as Record<string, unknown>)['polluted'], undefined);
  });
});
