import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, afterEach, before, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { sql } from '@baton/kernel/database/sql';
import { byDepth } from '@baton/testing/depth';
import { made } from '../../testing/objects.ts';
import { auditOf } from '../../testing/records.ts';
import { scimClient } from '../../testing/scim-client.ts';
import { until } from '../../testing/waiting.ts';
import { type Account, barrier, type Override, send } from './testing/keycloak.ts';
import {
  newUser,
  type Source,
  setActive,
  startUpstreamFixture,
  storedUser,
  type UpstreamFixture,
} from './testing/upstream-fixture.ts';

/** Tests the state of two systems without a common transaction, after failures and races. */

let fixture: UpstreamFixture;
before(async () => {
  fixture = await startUpstreamFixture();
});
after(() => fixture.close());
afterEach(() => {
  fixture.keycloak.overrides = {};
});

/** Executes the request, and responds after a delay. */
const late =
  (ms: number): Override =>
  async (res, act) => {
    const outcome = act();
    await sleep(ms);
    send(res, outcome);
  };
/** Executes the request, but the response is lost. */
const lost: Override = (res, act) => {
  act();
  res.destroy();
};
const accountsOf = (userName: string) =>
  fixture.keycloak.accounts.filter((account) => account.userName === userName);
const openNames = async ({ sourceId }: Source) =>
  fixture.identity.pool.rows(sql<{ upstream_id: string | null; is_held: boolean }>`
    select upstream_id, held_until > now() as is_held from upstream_accounts
    where provisioning_source_id = ${sourceId}`);

describe('equal creations at the same time', () => {
  test('in one process and in two make one user and one account', async () => {
    const { identity, keycloak, source } = fixture;
    const one = await source('scim');
    const second = await identity.another();
    const other = scimClient(second, one.token);
    for (const clients of [
      [one.client, one.client],
      [one.client, other, one.client, other],
    ]) {
      keycloak.overrides.scim = late(300);
      const user = newUser();
      const answers = await Promise.all(clients.map((client) => client.post('/Users', user)));
      const statuses = answers.map(({ status }) => status).sort();
      assert.deepEqual(statuses, [201, ...clients.slice(1).map(() => 409)]);
      assert.deepEqual(
        accountsOf(user.userName).map(({ active }) => active),
        [true],
      );
    }
    assert.deepEqual(await openNames(one), []);
  });

  test('of which the first fails: the next one tries', async () => {
    const { keycloak, source } = fixture;
    const { client } = await source('admin');
    const held = barrier();
    keycloak.overrides.admin = (res) => held.override(res, () => ({ status: 500 }));
    const user = newUser();
    const first = client.post('/Users', user);
    await held.reached();
    const second = client.post('/Users', user);
    await sleep(100);
    keycloak.overrides = {};
    held.open();
    assert.deepEqual([(await first).status, (await second).status], [502, 201]);
  });

  test('with one external id and two names: the account of the failed one is disabled and kept', async () => {
    const { identity, keycloak, source } = fixture;
    const one = await source('scim');
    const held = barrier(2);
    keycloak.overrides.scim = held.override;
    const externalId = randomUUID();
    const users = [newUser({ externalId }), newUser({ externalId })];
    const creations = users.map((user) => one.client.post('/Users', user));
    await held.reached();
    held.open();
    const answers = await Promise.all(creations);
    assert.deepEqual(answers.map(({ status }) => status).sort(), [201, 409]);
    keycloak.overrides = {};
    const loser = users[answers.findIndex(({ status }) => status === 409)] as { userName: string };
    const [account] = accountsOf(loser.userName) as [Account];
    assert.equal(account.active, false);
    assert.deepEqual(await openNames(one), [{ upstream_id: account.id, is_held: false }]);
    const again = { ...loser, externalId: randomUUID() };
    const { id } = await made(one.client.post('/Users', again));
    assert.equal((await storedUser(identity, id))?.upstream_id, account.id);
    assert.equal(account.active, true);
    assert.deepEqual(await openNames(one), []);
  });
});

describe('a creation whose answer is lost', () => {
  for (const mode of ['scim', 'admin'] as const)
    test(`is found again by the next attempt, mode ${mode}`, async () => {
      const { identity, keycloak, source } = fixture;
      const one = await source(mode);
      const user = newUser();
      keycloak.overrides[mode] = lost;
      assert.equal((await one.client.post('/Users', user)).status, 502);
      assert.deepEqual(await openNames(one), [{ upstream_id: null, is_held: false }]);
      keycloak.overrides = {};
      const { id } = await made(one.client.post('/Users', { ...user, active: false }));
      const [account] = accountsOf(user.userName) as [Account];
      assert.equal((await storedUser(identity, id))?.upstream_id, account.id);
      assert.equal(account.active, false);
      assert.deepEqual(await openNames(one), []);
    });

  test('is found by the second protocol of the same request', async () => {
    const { identity, keycloak, source } = fixture;
    const { client } = await source('auto');
    const user = newUser();
    keycloak.overrides.scim = lost;
    const { id } = await made(client.post('/Users', user));
    const [account, ...others] = accountsOf(user.userName) as [Account];
    assert.equal((await storedUser(identity, id))?.upstream_id, account.id);
    assert.equal(others.length, 0);
  });

  test('that made no account leaves nothing behind', async () => {
    const { keycloak, source } = fixture;
    const one = await source('scim');
    keycloak.overrides.scim = (res) => send(res, { status: 400 });
    assert.equal((await one.client.post('/Users', newUser())).status, 502);
    assert.deepEqual(await openNames(one), []);
  });

  test('never takes an account that existed before, however often it is requested', async () => {
    const { keycloak, source } = fixture;
    for (const mode of ['scim', 'admin', 'auto']) {
      const one = await source(mode);
      const user = newUser();
      const createdMs = Date.now() - 3_600_000;
      const theirs = { id: randomUUID(), userName: user.userName, active: true, createdMs, sent: {} };
      keycloak.accounts.push(theirs);
      const post = (more = {}) => one.client.post('/Users', { ...user, ...more });
      assert.equal((await post()).status, 502);
      // The existing account isn't used either if the directory fails in between, which resembles a creation whose
      // response was lost.
      keycloak.overrides = { scim: (res) => res.destroy(), admin: (res) => res.destroy() };
      assert.equal((await post()).status, 502);
      keycloak.overrides = {};
      assert.equal((await post({ active: false })).status, 502);
      assert.equal(theirs.active, true);
      assert.match((await auditOf(fixture.identity, one.tenantId)).at(-1)?.reason ?? '', /status_409$/);
    }
  });

  test('takes no account that another user of the source has, and leaves it as it is', async () => {
    const { keycloak, source } = fixture;
    const one = await source('scim');
    const user = newUser();
    const { id } = await made(one.client.post('/Users', user));
    // A rename sends no request to the directory, so the account keeps the old name there.
    await made(one.client.put(`/Users/${id}`, { ...user, userName: randomUUID() }));
    const namesake = newUser({ userName: user.userName, active: false });
    keycloak.overrides.scim = (res) => res.destroy();
    assert.equal((await one.client.post('/Users', namesake)).status, 502);
    keycloak.overrides = {};
    assert.equal((await one.client.post('/Users', namesake)).status, 502);
    assert.equal(accountsOf(user.userName)[0]?.active, true);
  });

  test('of a process that died is continued by another one when the reservation has expired', async () => {
    const { identity, keycloak, source } = fixture;
    const one = await source('scim');
    const user = newUser();
    keycloak.overrides.scim = lost;
    await one.client.post('/Users', user);
    keycloak.overrides = {};
    // Simulates a crash in between, after which the name remains reserved for a second.
    await identity.pool.run(sql`
      update upstream_accounts set held_by = gen_random_uuid(), held_until = now() + interval '1 second'
      where provisioning_source_id = ${one.sourceId}`);
    const { id } = await made(one.client.post('/Users', user));
    assert.equal((await storedUser(identity, id))?.upstream_id, accountsOf(user.userName)[0]?.id);
  });
});

describe('a request whose name was reserved by another one', () => {
  test('stores nothing', async () => {
    const { identity, keycloak, source } = fixture;
    const one = await source('scim');
    const held = barrier();
    keycloak.overrides.scim = held.override;
    const creation = one.client.post('/Users', newUser());
    await held.reached();
    await identity.pool.run(sql`
      update upstream_accounts set held_by = gen_random_uuid() where provisioning_source_id = ${one.sourceId}`);
    held.open();
    const { status, headers } = await creation;
    assert.deepEqual([status, headers.get('retry-after')], [503, '2']);
    assert.equal((await one.client.get('/Users')).body.totalResults, 0);
  });
});

describe('changes of one user at the same time', () => {
  test('end with the same state in the directory and here', async () => {
    const { keycloak, source } = fixture;
    const { client } = await source('scim');
    for (let round = 0; round < byDepth(6, 30); round += 1) {
      const user = newUser({ active: round % 2 === 0 });
      const { id } = await made(client.post('/Users', user));
      keycloak.overrides.scim = late(20 + (round % 3) * 20);
      const path = `/Users/${id}`;
      const answers = await Promise.all([
        client.patch(path, setActive(false)),
        client.patch(path, setActive(true)),
        client.patch(path, [{ op: 'replace', path: 'displayName', value: randomUUID() }]),
        client.put(path, { ...user, active: round % 2 === 1 }),
      ]);
      keycloak.overrides = {};
      assert.ok(answers.every(({ status }) => [200, 503].includes(status)));
      const { active } = (await client.get(path)).body;
      assert.equal(accountsOf(user.userName)[0]?.active, active, `round ${round}`);
    }
  });

  test('of which one is refused after the directory was called: the directory gets the stored state', async () => {
    const { keycloak, source } = fixture;
    const { client } = await source('admin');
    const user = newUser();
    const { id } = await made(client.post('/Users', user));
    const path = `/Users/${id}`;
    const held = barrier();
    keycloak.overrides.admin = held.override;
    const change = client.patch(path, setActive(false), { 'if-match': 'W/"1"' });
    await held.reached();
    await made(client.patch(path, [{ op: 'replace', path: 'displayName', value: 'Grace' }]));
    held.open();
    assert.equal((await change).status, 412);
    assert.equal(accountsOf(user.userName)[0]?.active, true);
  });

  test('that leave active as it is wait for each other, however many they are', async () => {
    const { keycloak, source } = fixture;
    const { client } = await source('scim');
    const { id } = await made(client.post('/Users', newUser()));
    keycloak.requests.splice(0);
    const titles = Array.from({ length: 12 }, (_, at) => [{ op: 'replace', path: 'title', value: `${at}` }]);
    const answers = await Promise.all(titles.map((title) => client.patch(`/Users/${id}`, title)));
    assert.ok(answers.every(({ status }) => status === 200));
    assert.equal((await client.get(`/Users/${id}`)).body.meta.version, 'W/"13"');
    assert.deepEqual(keycloak.requests, []);
  });

  test('a change of active that two others have overtaken is tried again', async () => {
    const { keycloak, source } = fixture;
    const { client } = await source('scim');
    const user = newUser();
    const { id } = await made(client.post('/Users', user));
    const path = `/Users/${id}`;
    const held = barrier();
    keycloak.overrides.scim = held.override;
    const slow = client.patch(path, setActive(false));
    await held.reached();
    keycloak.overrides = {};
    await made(client.patch(path, setActive(false)));
    await made(client.patch(path, setActive(true)));
    held.open();
    assert.equal((await made(slow)).active, false);
    assert.equal(accountsOf(user.userName)[0]?.active, false);
  });

  test('a change of active that is undone late does not undo the next one', async () => {
    const { keycloak, source } = fixture;
    const { client } = await source('scim');
    const user = newUser();
    const { id } = await made(client.post('/Users', user));
    const path = `/Users/${id}`;
    const held = barrier();
    keycloak.overrides.scim = held.override;
    const refused = client.patch(path, setActive(false), { 'if-match': 'W/"1"' });
    await held.reached();
    await made(client.patch(path, [{ op: 'replace', path: 'displayName', value: 'Grace' }]));
    const takenBack = barrier();
    // The directory applies the change only when it sends the response.
    keycloak.overrides.scim = async (res, act) => {
      await takenBack.pass();
      send(res, act());
    };
    held.open();
    await takenBack.reached();
    keycloak.overrides = {};
    await made(client.patch(path, setActive(false)));
    takenBack.open();
    assert.equal((await refused).status, 412);
    assert.equal(accountsOf(user.userName)[0]?.active, false);
  });

  test('a change of active that another one takes back in the directory is sent again', async () => {
    const { keycloak, source } = fixture;
    const { client } = await source('scim');
    const user = newUser();
    const { id } = await made(client.post('/Users', user));
    const path = `/Users/${id}`;
    const refusedHeld = barrier();
    keycloak.overrides.scim = refusedHeld.override;
    const refused = client.patch(path, setActive(false), { 'if-match': 'W/"1"' });
    await refusedHeld.reached();
    await made(client.patch(path, [{ op: 'replace', path: 'displayName', value: 'Grace' }]));
    const takenBack = barrier();
    keycloak.overrides.scim = async (res, act) => {
      await takenBack.pass();
      send(res, act());
    };
    refusedHeld.open();
    await takenBack.reached();
    const announced = barrier();
    keycloak.overrides.scim = announced.override;
    const change = client.patch(path, setActive(false));
    await announced.reached();
    keycloak.overrides = {};
    // The directory now has the state that the change will store. Undoing the refused change first makes the account
    // active again.
    takenBack.open();
    assert.equal((await refused).status, 412);
    assert.equal(accountsOf(user.userName)[0]?.active, true);
    announced.open();
    assert.equal((await made(change)).active, false);
    assert.equal(accountsOf(user.userName)[0]?.active, false);
  });

  test('a user that is deleted while it is enabled stays disabled in the directory', async () => {
    const { keycloak, source } = fixture;
    const { client } = await source('scim');
    const user = newUser({ active: false });
    const { id } = await made(client.post('/Users', user));
    const held = barrier();
    keycloak.overrides.scim = held.override;
    const change = client.patch(`/Users/${id}`, setActive(true));
    await held.reached();
    keycloak.overrides = {};
    assert.equal((await client.delete(`/Users/${id}`)).status, 204);
    held.open();
    assert.equal((await change).status, 404);
    assert.equal(accountsOf(user.userName)[0]?.active, false);
  });
});

describe('a slow directory', () => {
  test('holds no connection: with a pool of two, ten slow creations delay no other request', async () => {
    const slow = await startUpstreamFixture({ IAM_DATABASE_CONNECTIONS_MAX: '2' });
    try {
      const one = await slow.source('scim');
      const { id } = await made(one.client.post('/Users', newUser()));
      const held = barrier(11);
      slow.keycloak.overrides.scim = held.override;
      const creations = Array.from({ length: 10 }, () => one.client.post('/Users', newUser()));
      const switchOff = one.client.patch(`/Users/${id}`, setActive(false));
      await held.reached();
      for (let request = 0; request < 3; request += 1) {
        assert.equal((await one.client.get(`/Users/${id}`)).status, 200);
        // The user's row is not locked while the directory is being called.
        const title = [{ op: 'replace', path: 'title', value: `Admiral ${request}` }];
        await made(one.client.patch(`/Users/${id}`, title));
        await made(slow.identity.get(`/tenants/${one.tenantId}/provisioning-sources`));
      }
      held.open();
      assert.ok((await Promise.all(creations)).every(({ status }) => status === 201));
      assert.equal((await switchOff).status, 200);
      assert.equal((await one.client.get('/Users')).body.totalResults, 11);
    } finally {
      await slow.close();
    }
  });

  test('gets at most 32 requests at once: 503 with Retry-After', async () => {
    const { keycloak, source } = fixture;
    const one = await source('scim');
    const held = barrier(32);
    keycloak.overrides.scim = held.override;
    let answered = 0;
    const creations = Array.from({ length: 36 }, async () => {
      const answer = await one.client.post('/Users', newUser());
      answered += 1;
      return answer;
    });
    await held.reached();
    await until(() => answered === 4, 'the four that are too many');
    held.open();
    const answers = await Promise.all(creations);
    const refused = answers.filter(({ status }) => status === 503);
    assert.equal(refused.length, 4);
    assert.ok(refused.every(({ headers }) => headers.get('retry-after') === '1'));
    assert.deepEqual(await openNames(one), []);
  });
});
