import assert from 'node:assert/strict';
import { after, afterEach, before, describe, test } from 'node:test';
import { sql } from '@baton/kernel/database/sql';
import { signInBy } from '../../sign-in/federation/testing/sign-in.ts';
import { startUpstream } from '../../sign-in/federation/testing/upstream.ts';
import { made } from '../../testing/objects.ts';
import { auditActions } from '../../testing/records.ts';
import { filtered } from '../../testing/scim-client.ts';
import { send } from './testing/keycloak.ts';
import {
  newUser,
  setActive,
  startUpstreamFixture,
  storedUser,
  type UpstreamFixture,
} from './testing/upstream-fixture.ts';

/**
 * Tests docs/reference/scim.md#users and docs/reference/scim.md#upstream-directory: the requests that are sent to a
 * directory.
 */

let fixture: UpstreamFixture;
before(async () => {
  fixture = await startUpstreamFixture();
});
after(() => fixture.close());
afterEach(() => {
  fixture.keycloak.overrides = {};
});

const person = {
  displayName: 'Ada Lovelace',
  name: { givenName: 'Ada', familyName: 'Lovelace' },
  emails: [{ value: 'home@example.com' }, { value: 'ada@example.com', primary: true }],
};

async function expectStored(userId: string, accountId: string | undefined, status: string): Promise<void> {
  const stored = await storedUser(fixture.identity, userId);
  assert.deepEqual([stored?.upstream_id, stored?.subject, stored?.status], [accountId, accountId, status]);
}

describe('a new user', () => {
  test('mode scim makes an account by SCIM, and its id is the subject of the identity', async () => {
    const { keycloak, source } = fixture;
    const { client } = await source('scim');
    const user = newUser(person);
    const { id } = await made(client.post('/Users', user));
    const account = keycloak.accountOf(user.userName);
    assert.deepEqual(keycloak.requests, ['POST token', 'POST scim']);
    assert.deepEqual(account?.sent, {
      schemas: ['urn:ietf:params:scim:schemas:core:2.0:User'],
      userName: user.userName,
      externalId: user.externalId,
      displayName: 'Ada Lovelace',
      active: true,
      name: { givenName: 'Ada', familyName: 'Lovelace' },
      emails: [{ value: 'ada@example.com', type: 'work', primary: true }],
    });
    await expectStored(id, account?.id, 'active');
  });

  test('mode admin makes an account by the admin API, and takes its id from Location', async () => {
    const { keycloak, source } = fixture;
    const { client } = await source('admin');
    const user = newUser({ ...person, active: false });
    const { id } = await made(client.post('/Users', user));
    const account = keycloak.accountOf(user.userName);
    assert.deepEqual(keycloak.requests, ['POST token', 'POST admin']);
    const email = 'ada@example.com';
    const names = { firstName: 'Ada', lastName: 'Lovelace', email };
    assert.deepEqual(account?.sent, { username: user.userName, enabled: false, ...names });
    await expectStored(id, account?.id, 'disabled');
  });

  test('mode admin takes the id from the body if there is one', async () => {
    const { identity, keycloak, source } = fixture;
    const { client } = await source('admin');
    keycloak.overrides.admin = (res, act) => send(res, { ...act(), json: { id: 'f:store:ada' } });
    const { id } = await made(client.post('/Users', newUser({ externalId: undefined })));
    assert.equal((await storedUser(identity, id))?.subject, 'f:store:ada');
  });

  test('mode auto uses SCIM if it works', async () => {
    const { keycloak, source } = fixture;
    const { client } = await source('auto');
    const user = newUser();
    const { id } = await made(client.post('/Users', user));
    await made(client.patch(`/Users/${id}`, setActive(false)));
    assert.deepEqual(keycloak.requests, ['POST token', 'POST scim', 'PATCH scim']);
    assert.equal(keycloak.accountOf(user.userName)?.active, false);
  });

  test('of mode off, or without a base address, gets no account', async () => {
    const { identity, keycloak, source } = fixture;
    for (const { client } of [await source('off'), await source('scim', { upstreamBaseUrl: '' })]) {
      const { id } = await made(client.post('/Users', newUser()));
      await made(client.patch(`/Users/${id}`, setActive(false)));
      assert.equal((await client.delete(`/Users/${id}`)).status, 204);
      const again = await made(client.post('/Users', newUser()));
      const stored = await storedUser(identity, again.id);
      assert.equal(stored?.upstream_id, null);
      assert.match(stored?.subject ?? '', /^urn:iam:scim:/);
    }
    assert.deepEqual(keycloak.requests, []);
  });

  test('signs in with the id of the account as subject, and is the same person', async () => {
    const { identity, source } = fixture;
    const upstream = await startUpstream();
    try {
      const one = await source('scim');
      await identity.pool.run(sql`
        update identity_providers set external_id_claim = 'external_id', jwks_uri = ${`${upstream.issuer}/keys`}
        where id = ${one.providerId}`);
      const provider = await identity.pool.row(sql<{ issuer: string }>`
        select issuer from identity_providers where id = ${one.providerId}`);
      const user = newUser();
      const { id } = await made(one.client.post('/Users', user));
      const stored = await storedUser(identity, id);
      const claims = {
        iss: provider?.issuer,
        sub: stored?.subject,
        external_id: user.externalId,
        aud: 'baton',
      };
      const realm = { tenantId: one.tenantId, providerId: one.providerId, key: 'entra' };
      const { principalId } = await made(signInBy(identity, realm, await upstream.sign(claims)));
      assert.equal(principalId, stored?.principal_id);
      assert.ok(!(await auditActions(identity, one.tenantId)).some((action) => action.includes('rotated')));
      await made(one.client.patch(`/Users/${id}`, setActive(false)));
      assert.equal((await signInBy(identity, realm, await upstream.sign(claims))).status, 403);
    } finally {
      await upstream.close();
    }
  });

  test('that the source has already is 409 before the directory is called', async () => {
    const { keycloak, source } = fixture;
    const { client } = await source('scim');
    const user = newUser();
    await made(client.post('/Users', user));
    keycloak.requests.splice(0);
    const taken = [
      { ...newUser(), userName: user.userName.toUpperCase() },
      { ...newUser(), externalId: user.externalId },
    ];
    for (const one of taken) {
      const answer = await client.post('/Users', one);
      assert.deepEqual([answer.status, answer.body.scimType], [409, 'uniqueness']);
    }
    assert.equal((await client.post('/Users', { userName: '' })).status, 400);
    assert.deepEqual(keycloak.requests, []);
  });
});

describe('a user', () => {
  for (const [mode, verb] of [
    ['scim', 'PATCH scim'],
    ['admin', 'PUT admin'],
  ] as const)
    test(`is disabled, enabled and finally disabled in the directory, mode ${mode}`, async () => {
      const { identity, keycloak, source } = fixture;
      const { client } = await source(mode);
      const user = newUser();
      const { id } = await made(client.post('/Users', user));
      const account = keycloak.accountOf(user.userName);
      keycloak.requests.splice(0);
      const path = `/Users/${id}`;
      const { userName, externalId } = user;
      const steps: [() => Promise<{ status: number }>, boolean][] = [
        [() => client.patch(path, setActive(false)), false],
        [() => client.put(path, { userName, externalId, active: true }), true],
        [() => client.put(path, { userName, externalId, active: false }), false],
        [() => client.patch(path, setActive(true)), true],
        [() => client.delete(path), false],
      ];
      for (const [step, active] of steps) {
        assert.ok([200, 204].includes((await step()).status));
        assert.equal(account?.active, active);
        const stored = await storedUser(identity, id);
        if (stored !== undefined) assert.equal(stored.status, active ? 'active' : 'disabled');
      }
      assert.deepEqual(
        keycloak.requests,
        steps.map(() => verb),
      );
      assert.equal((await client.get(path)).status, 404);
    });

  test('only a change of active reaches the directory', async () => {
    const { keycloak, source } = fixture;
    const { client } = await source('scim');
    const user = newUser();
    const other = await made(client.post('/Users', newUser()));
    const { id } = await made(client.post('/Users', user));
    keycloak.requests.splice(0);
    const path = `/Users/${id}`;
    await made(client.patch(path, [{ op: 'replace', path: 'displayName', value: 'Grace' }]));
    await made(client.patch(path, setActive(true)));
    await made(client.put(path, { ...user, title: 'Admiral' }));
    const old = { 'if-match': 'W/"1"' };
    assert.equal((await client.patch(path, setActive(false), old)).status, 412);
    assert.equal((await client.put(path, { ...user, active: false }, old)).status, 412);
    assert.equal((await client.delete(path, old)).status, 412);
    const taken = { userName: other.userName, active: false };
    assert.equal((await client.put(path, taken)).status, 409);
    assert.equal((await client.patch(path, [{ op: 'replace', value: taken }])).status, 409);
    assert.equal((await client.patch(path, [{ op: 'increase', path: 'active' }])).status, 400);
    assert.deepEqual(keycloak.requests, []);
    await made(client.patch(path, setActive(false)));
    assert.equal((await client.delete(path)).status, 204);
    assert.deepEqual(keycloak.requests, ['PATCH scim']);
  });

  test('without an account is changed without the directory', async () => {
    const { identity, keycloak, source } = fixture;
    const { client, tenantId, sourceId } = await source('off');
    const { id } = await made(client.post('/Users', newUser()));
    const path = `/tenants/${tenantId}/provisioning-sources/${sourceId}`;
    await made(identity.patch(path, { upstreamMode: 'scim' }));
    await made(client.patch(`/Users/${id}`, setActive(false)));
    assert.equal((await client.delete(`/Users/${id}`)).status, 204);
    assert.deepEqual(keycloak.requests, []);
  });
});

describe('a user that is created again after its deletion', () => {
  test('gets the account and the person back', async () => {
    const { keycloak, source } = fixture;
    const { client } = await source('scim');
    const user = newUser();
    const first = await made(client.post('/Users', user));
    await client.delete(`/Users/${first.id}`);
    const account = keycloak.accountOf(user.userName);
    assert.equal(account?.active, false);
    keycloak.requests.splice(0);
    const again = await made(client.post('/Users', { ...user, userName: user.userName.toUpperCase() }));
    assert.deepEqual(keycloak.requests, ['PATCH scim']);
    assert.equal(account.active, true);
    await expectStored(again.id, account.id, 'active');
    assert.equal((await client.get(`/Users${filtered('active eq true')}`)).body.totalResults, 1);
  });

  test('gets a new account if the old one no longer exists', async () => {
    const { identity, keycloak, source } = fixture;
    const { client } = await source('auto');
    const user = newUser();
    const first = await made(client.post('/Users', user));
    await client.delete(`/Users/${first.id}`);
    keycloak.accounts.splice(0);
    keycloak.requests.splice(0);
    const again = await made(client.post('/Users', user));
    assert.deepEqual(keycloak.requests, ['PATCH scim', 'PUT admin', 'POST scim']);
    assert.equal((await storedUser(identity, again.id))?.upstream_id, keycloak.accounts[0]?.id);
  });
});
