import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, afterEach, before, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { sql } from '@baton/kernel/sql';
import { made } from '../../testing/objects.ts';
import { auditOf } from '../../testing/records.ts';
import { scimClient } from '../../testing/scim-client.ts';
import { until } from '../../testing/waiting.ts';
import { type Account, gate, type Mood, send } from './testing/keycloak.ts';
import {
  newUser,
  type Source,
  startUpstreamGround,
  storedUser,
  switching,
  type UpstreamGround,
} from './testing/upstream-fixture.ts';

/** Two systems and no common transaction: who is stored here and there, whatever comes in between. */

let ground: UpstreamGround;
before(async () => {
  ground = await startUpstreamGround();
});
after(() => ground.close());
afterEach(() => {
  ground.keycloak.moods = {};
});

/** Does it, and answers after a while. */
const late =
  (ms: number): Mood =>
  async (res, act) => {
    const doing = act();
    await sleep(ms);
    send(res, doing);
  };
/** Does it, and the answer is lost. */
const lost: Mood = (res, act) => {
  act();
  res.destroy();
};
const accountsOf = (userName: string) =>
  ground.keycloak.accounts.filter((account) => account.userName === userName);
const openNames = async ({ sourceId }: Source) =>
  ground.identity.pool.rows(sql<{ upstream_id: string | null; is_held: boolean }>`
    select upstream_id, held_until > now() as is_held from upstream_accounts
    where provisioning_source_id = ${sourceId}`);

describe('equal creations at the same time', () => {
  test('in one process and in two make one user and one account', async () => {
    const { identity, keycloak, source } = ground;
    const one = await source('scim');
    const second = await identity.another();
    const other = scimClient(second, one.token);
    for (const clients of [
      [one.client, one.client],
      [one.client, other, one.client, other],
    ]) {
      keycloak.moods.scim = late(300);
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

  test('of which the first fails let the next one try', async () => {
    const { keycloak, source } = ground;
    const { client } = await source('admin');
    const held = gate();
    keycloak.moods.admin = (res) => held.mood(res, () => ({ status: 500 }));
    const user = newUser();
    const first = client.post('/Users', user);
    await held.reached();
    const second = client.post('/Users', user);
    await sleep(100);
    keycloak.moods = {};
    held.open();
    assert.deepEqual([(await first).status, (await second).status], [502, 201]);
  });

  test('with one external id and two names: the loser is switched off in the directory, and its account is kept', async () => {
    const { identity, keycloak, source } = ground;
    const one = await source('scim');
    const held = gate(2);
    keycloak.moods.scim = held.mood;
    const externalId = randomUUID();
    const users = [newUser({ externalId }), newUser({ externalId })];
    const creations = users.map((user) => one.client.post('/Users', user));
    await held.reached();
    held.open();
    const answers = await Promise.all(creations);
    assert.deepEqual(answers.map(({ status }) => status).sort(), [201, 409]);
    keycloak.moods = {};
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
      const { identity, keycloak, source } = ground;
      const one = await source(mode);
      const user = newUser();
      keycloak.moods[mode] = lost;
      assert.equal((await one.client.post('/Users', user)).status, 502);
      assert.deepEqual(await openNames(one), [{ upstream_id: null, is_held: false }]);
      keycloak.moods = {};
      const { id } = await made(one.client.post('/Users', { ...user, active: false }));
      const [account] = accountsOf(user.userName) as [Account];
      assert.equal((await storedUser(identity, id))?.upstream_id, account.id);
      assert.equal(account.active, false);
      assert.deepEqual(await openNames(one), []);
    });

  test('is found by the second road of the same request', async () => {
    const { identity, keycloak, source } = ground;
    const { client } = await source('auto');
    const user = newUser();
    keycloak.moods.scim = lost;
    const { id } = await made(client.post('/Users', user));
    const [account, ...others] = accountsOf(user.userName) as [Account];
    assert.equal((await storedUser(identity, id))?.upstream_id, account.id);
    assert.equal(others.length, 0);
  });

  test('that was no creation leaves nothing behind', async () => {
    const { keycloak, source } = ground;
    const one = await source('scim');
    keycloak.moods.scim = (res) => send(res, { status: 400 });
    assert.equal((await one.client.post('/Users', newUser())).status, 502);
    assert.deepEqual(await openNames(one), []);
  });

  test('takes no account that was there before, whoever asks how often', async () => {
    const { keycloak, source } = ground;
    for (const mode of ['scim', 'admin', 'auto']) {
      const one = await source(mode);
      const user = newUser();
      const createdMs = Date.now() - 3_600_000;
      const theirs = { id: randomUUID(), userName: user.userName, active: true, createdMs, sent: {} };
      keycloak.accounts.push(theirs);
      const post = (more = {}) => one.client.post('/Users', { ...user, ...more });
      assert.equal((await post()).status, 502);
      // Nor when the directory fails meanwhile, which would look like a creation whose answer was lost.
      keycloak.moods = { scim: (res) => res.destroy(), admin: (res) => res.destroy() };
      assert.equal((await post()).status, 502);
      keycloak.moods = {};
      assert.equal((await post({ active: false })).status, 502);
      assert.equal(theirs.active, true);
      assert.match((await auditOf(ground.identity, one.tenantId)).at(-1)?.reason ?? '', /status_409$/);
    }
  });

  test('takes no account that another user of the source has, and leaves it as it is', async () => {
    const { keycloak, source } = ground;
    const one = await source('scim');
    const user = newUser();
    const { id } = await made(one.client.post('/Users', user));
    // Renamed here; the directory does not hear of it.
    await made(one.client.put(`/Users/${id}`, { ...user, userName: randomUUID() }));
    const namesake = newUser({ userName: user.userName, active: false });
    keycloak.moods.scim = (res) => res.destroy();
    assert.equal((await one.client.post('/Users', namesake)).status, 502);
    keycloak.moods = {};
    assert.equal((await one.client.post('/Users', namesake)).status, 502);
    assert.equal(accountsOf(user.userName)[0]?.active, true);
  });

  test('of a process that died is taken up by another one when its time is over', async () => {
    const { identity, keycloak, source } = ground;
    const one = await source('scim');
    const user = newUser();
    keycloak.moods.scim = lost;
    await one.client.post('/Users', user);
    keycloak.moods = {};
    // As if the process had died in between: the name is still held.
    await identity.pool.run(sql`
      update upstream_accounts set held_by = gen_random_uuid(), held_until = now() + interval '1 second'
      where provisioning_source_id = ${one.sourceId}`);
    const { id } = await made(one.client.post('/Users', user));
    assert.equal((await storedUser(identity, id))?.upstream_id, accountsOf(user.userName)[0]?.id);
  });
});

describe('a request that lost its name to another one', () => {
  test('stores nothing', async () => {
    const { identity, keycloak, source } = ground;
    const one = await source('scim');
    const held = gate();
    keycloak.moods.scim = held.mood;
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
  test('end with the same in the directory and here', async () => {
    const { keycloak, source } = ground;
    const { client } = await source('scim');
    for (let round = 0; round < 8; round += 1) {
      const user = newUser({ active: round % 2 === 0 });
      const { id } = await made(client.post('/Users', user));
      keycloak.moods.scim = late(20 + (round % 3) * 20);
      const path = `/Users/${id}`;
      const answers = await Promise.all([
        client.patch(path, switching(false)),
        client.patch(path, switching(true)),
        client.patch(path, [{ op: 'replace', path: 'displayName', value: randomUUID() }]),
        client.put(path, { ...user, active: round % 2 === 1 }),
      ]);
      keycloak.moods = {};
      assert.ok(answers.every(({ status }) => [200, 503].includes(status)));
      const { active } = (await client.get(path)).body;
      assert.equal(accountsOf(user.userName)[0]?.active, active, `round ${round}`);
    }
  });

  test('of which one is refused after the directory has heard of it: the directory follows the store', async () => {
    const { keycloak, source } = ground;
    const { client } = await source('admin');
    const user = newUser();
    const { id } = await made(client.post('/Users', user));
    const path = `/Users/${id}`;
    const held = gate();
    keycloak.moods.admin = held.mood;
    const change = client.patch(path, switching(false), { 'if-match': 'W/"1"' });
    await held.reached();
    await made(client.patch(path, [{ op: 'replace', path: 'displayName', value: 'Grace' }]));
    held.open();
    assert.equal((await change).status, 412);
    assert.equal(accountsOf(user.userName)[0]?.active, true);
  });

  test('that are no switch wait for each other, however many they are', async () => {
    const { keycloak, source } = ground;
    const { client } = await source('scim');
    const { id } = await made(client.post('/Users', newUser()));
    keycloak.asked.splice(0);
    const titles = Array.from({ length: 12 }, (_, at) => [{ op: 'replace', path: 'title', value: `${at}` }]);
    const answers = await Promise.all(titles.map((title) => client.patch(`/Users/${id}`, title)));
    assert.ok(answers.every(({ status }) => status === 200));
    assert.equal((await client.get(`/Users/${id}`)).body.meta.version, 'W/"13"');
    assert.deepEqual(keycloak.asked, []);
  });

  test('a switch that two others overtook is made again', async () => {
    const { keycloak, source } = ground;
    const { client } = await source('scim');
    const user = newUser();
    const { id } = await made(client.post('/Users', user));
    const path = `/Users/${id}`;
    const held = gate();
    keycloak.moods.scim = held.mood;
    const slow = client.patch(path, switching(false));
    await held.reached();
    keycloak.moods = {};
    await made(client.patch(path, switching(false)));
    await made(client.patch(path, switching(true)));
    held.open();
    assert.equal((await made(slow)).active, false);
    assert.equal(accountsOf(user.userName)[0]?.active, false);
  });

  test('a switch that is taken back late does not undo the next one', async () => {
    const { keycloak, source } = ground;
    const { client } = await source('scim');
    const user = newUser();
    const { id } = await made(client.post('/Users', user));
    const path = `/Users/${id}`;
    const held = gate();
    keycloak.moods.scim = held.mood;
    const refused = client.patch(path, switching(false), { 'if-match': 'W/"1"' });
    await held.reached();
    await made(client.patch(path, [{ op: 'replace', path: 'displayName', value: 'Grace' }]));
    const takenBack = gate();
    // What is asked is done as late as it is answered.
    keycloak.moods.scim = async (res, act) => {
      await takenBack.pass();
      send(res, act());
    };
    held.open();
    await takenBack.reached();
    keycloak.moods = {};
    await made(client.patch(path, switching(false)));
    takenBack.open();
    assert.equal((await refused).status, 412);
    assert.equal(accountsOf(user.userName)[0]?.active, false);
  });

  test('a user who is deleted while it is switched on stays off in the directory', async () => {
    const { keycloak, source } = ground;
    const { client } = await source('scim');
    const user = newUser({ active: false });
    const { id } = await made(client.post('/Users', user));
    const held = gate();
    keycloak.moods.scim = held.mood;
    const change = client.patch(`/Users/${id}`, switching(true));
    await held.reached();
    keycloak.moods = {};
    assert.equal((await client.delete(`/Users/${id}`)).status, 204);
    held.open();
    assert.equal((await change).status, 404);
    assert.equal(accountsOf(user.userName)[0]?.active, false);
  });
});

describe('a slow directory', () => {
  test('holds no connection: with two of them, ten slow creations keep nobody waiting', async () => {
    const slow = await startUpstreamGround({ IAM_DATABASE_CONNECTIONS_MAX: '2' });
    try {
      const one = await slow.source('scim');
      const { id } = await made(one.client.post('/Users', newUser()));
      const held = gate(11);
      slow.keycloak.moods.scim = held.mood;
      const creations = Array.from({ length: 10 }, () => one.client.post('/Users', newUser()));
      const switchOff = one.client.patch(`/Users/${id}`, switching(false));
      await held.reached();
      for (let request = 0; request < 3; request += 1) {
        assert.equal((await one.client.get(`/Users/${id}`)).status, 200);
        // The row of the user whom the directory is asked about is not locked either.
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

  test('is asked 32 times at once and not once more: 503 with Retry-After', async () => {
    const { keycloak, source } = ground;
    const one = await source('scim');
    const held = gate(32);
    keycloak.moods.scim = held.mood;
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
