import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { sql } from '@baton/kernel/database/sql';
import { byDepth } from '@baton/testing/depth';
import { makeRealm, signInBy } from '../../sign-in/federation/testing/sign-in.ts';
import { startUpstream, type Upstream } from '../../sign-in/federation/testing/upstream.ts';
import { type Answer, startIdentity, type TestIdentity, testSigningKey } from '../../testing/identity.ts';
import { made, makeAudience, makeToken, signIn } from '../../testing/objects.ts';
import { makeProvisioning, makeSource, type Provisioning } from '../../testing/provisioning.ts';
import { journalTypes } from '../../testing/records.ts';
import { type ScimClient, scimClient } from '../../testing/scim-client.ts';

/** Few rounds, because each takes up to 320 ms. */
const rounds = byDepth(5, 30);

/**
 * A 503 is also allowed: on a slow machine, a disable closes the connections of writes that have blocked it for 600 ms.
 */
const cutOff = 503;

let processes: [TestIdentity, TestIdentity];
let upstream: Upstream;
let fixture: Provisioning;
/** Clients of the same source, one per process. */
let clients: [ScimClient, ScimClient];
before(async () => {
  const first = await startIdentity({
    IAM_SIGNING_PRIVATE_KEY: testSigningKey(),
    IAM_OUTBOUND_ALLOWED_HOSTS: '["127.0.0.1"]',
  });
  processes = [first, await first.another()];
  upstream = await startUpstream();
  fixture = await makeProvisioning(first);
  await makeAudience(first, fixture.tenantId);
  clients = clientsOf(fixture.token);
});
after(async () => {
  await processes[0].close();
  await upstream.close();
});

const clientsOf = (token: string): [ScimClient, ScimClient] => [
  scimClient(processes[0], token),
  scimClient(processes[1], token),
];
/** Concurrent calls, alternating between the processes. */
const race = (calls: number, call: (client: ScimClient, n: number) => Promise<Answer>) =>
  Promise.all(Array.from({ length: calls }, (_, n) => call(clients[n % 2] as ScimClient, n)));
const statusesOf = (answers: readonly Answer[]) => answers.map(({ status }) => status).sort();
const newUser = () => ({ userName: randomUUID(), externalId: randomUUID() });
const makeUser = async () => (await made(clients[0].post('/Users', newUser()))).id as string;

interface Census {
  principals: number;
  identities: number;
  users: number;
  counted: number;
  active: number;
  counted_active: number;
}

/** Counts the rows of a tenant all of whose people come from its source. */
async function census({ tenantId, sourceId }: { tenantId: string; sourceId: string }): Promise<Census> {
  return (await processes[0].pool.row<Census>(sql`
    select (select count(*) from memberships m join principals p on p.id = m.principal_id
        where m.tenant_id = ${tenantId} and p.kind = 'human') as principals,
      (select count(*) from external_identities where tenant_id = ${tenantId}) as identities,
      (select count(*) from scim_users where tenant_id = ${tenantId}) as users,
      (select count(*) from scim_users where tenant_id = ${tenantId} and active) as active,
      users_count as counted, active_users_count as counted_active
    from provisioning_sources where id = ${sourceId}`)) as Census;
}

async function makeDirectoryOfRealm() {
  const [identity] = processes;
  const realm = await makeRealm(identity, upstream, {
    externalIdClaim: 'employee',
    lifecycleProfile: 'managed',
  });
  const source = await makeSource(identity, realm.tenantId, realm.key);
  const employee = randomUUID();
  const token = await upstream.sign({ sub: randomUUID(), employee });
  return { realm, ...source, clients: clientsOf(source.token), employee, token };
}

test('a creation and concurrent first sign-ins with its external id all succeed and make one person', async () => {
  for (let round = 0; round < rounds; round += 1) {
    const directory = await makeDirectoryOfRealm();
    const { realm, token, employee } = directory;
    const create = async () => {
      // Each round starts the creation at a different time during the sign-ins.
      await pause((round % 10) * 2);
      return (directory.clients[round % 2] as ScimClient).post('/Users', {
        userName: 'ada',
        externalId: employee,
      });
    };
    const [created, ...signedIn] = await Promise.all([
      create(),
      ...Array.from({ length: 4 }, (_, n) => signInBy(processes[n % 2] as TestIdentity, realm, token)),
    ]);
    assert.equal(created.status, 201, JSON.stringify(created.body));
    for (const { status, body } of signedIn) assert.equal(status, 200, JSON.stringify(body));
    assert.equal(new Set(signedIn.map(({ body }) => body.principalId)).size, 1);
    const { principals, identities, users } = await census({ ...directory, tenantId: realm.tenantId });
    assert.deepEqual([principals, identities, users], [1, 1, 1]);
    const types = await journalTypes(processes[0], realm.tenantId);
    for (const type of ['principal.created', 'external_identity.linked', 'scim_user.provisioned'])
      assert.equal(types.filter((written) => written === type).length, 1, type);
  }
});

test('writes of a user and concurrent sign-ins of its person neither deadlock nor fail', async () => {
  for (let round = 0; round < rounds; round += 1) {
    const { clients: own, realm, token, employee } = await makeDirectoryOfRealm();
    const user = { userName: 'ada', externalId: employee };
    const { id } = await made(own[0].post('/Users', user));
    // From now on, identity knows the person's subject, so a different external id still refers to the same person.
    await made(signInBy(processes[0], realm, token));
    const set = (value: object, n: number) =>
      (own[n % 2] as ScimClient).patch(`/Users/${id}`, [{ op: 'replace', value }]);
    const answers = await Promise.all(
      Array.from({ length: 6 }, (_, n) => [
        set({ active: n % 2 === 1 }, n),
        set({ externalId: n % 2 === 0 ? randomUUID() : employee, displayName: `n${n}` }, n + 1),
        signInBy(processes[n % 2] as TestIdentity, realm, token, n % 3 === 0 ? 'exchange' : 'authenticate'),
      ]).flat(),
    );
    for (const { status, body } of answers)
      assert.ok(status < 500 || status === cutOff, `${status} ${JSON.stringify(body)}`);
    await made(set({ externalId: employee, active: true }, 0));
    await own[0].delete(`/Users/${id}`);
    const [back, ...signedIn] = await Promise.all([
      own[1].post('/Users', user),
      ...Array.from({ length: 4 }, (_, n) => signInBy(processes[n % 2] as TestIdentity, realm, token)),
    ]);
    assert.equal(back.status, 201, JSON.stringify(back.body));
    for (const { status, body } of signedIn)
      assert.ok(status === 200 || String(body.detail).endsWith('_disabled'), JSON.stringify(body));
  }
});

test('members that are added and removed concurrently: none is lost, and each change is one version', async () => {
  const users = await Promise.all(Array.from({ length: 24 }, makeUser));
  const [old, fresh] = [users.slice(0, 12), users.slice(12)];
  for (let round = 0; round < byDepth(3, 10); round += 1) {
    const members = old.map((value) => ({ value }));
    const { id } = await made(clients[0].post('/Groups', { displayName: randomUUID(), members }));
    const answers = await race(24, (client, n) =>
      client.patch(`/Groups/${id}`, [
        n % 2 === 0
          ? { op: 'add', path: 'members', value: [{ value: fresh[Math.floor(n / 2)] }] }
          : { op: 'remove', path: `members[value eq "${old[Math.floor(n / 2)]}"]` },
      ]),
    );
    assert.deepEqual([...new Set(statusesOf(answers))], [200]);
    const { body } = await clients[1].get(`/Groups/${id}`);
    assert.deepEqual(body.members.map(({ value }: { value: string }) => value).sort(), fresh.toSorted());
    assert.equal(body.meta.version, 'W/"25"');
    assert.equal(new Set(answers.map(({ headers }) => headers.get('etag'))).size, 24);
  }
});

test('a deletion with concurrent changes and memberships deletes the user completely', async () => {
  for (let round = 0; round < rounds; round += 1) {
    const id = await makeUser();
    const group = await made(clients[0].post('/Groups', { displayName: randomUUID() }));
    const answers = await race(12, (client, n) => {
      if (n % 4 === 0) return client.delete(`/Users/${id}`);
      if (n % 4 === 1) return client.patch(`/Users/${id}`, [{ op: 'replace', path: 'title', value: `${n}` }]);
      if (n % 4 === 2)
        return client.patch(`/Users/${id}`, [{ op: 'replace', value: { active: n % 8 === 2 } }]);
      return client.patch(`/Groups/${group.id}`, [{ op: 'add', path: 'members', value: [{ value: id }] }]);
    });
    for (const { status, body } of answers)
      assert.ok(
        [200, 204, 404, cutOff].includes(status) || body.scimType === 'invalidValue',
        JSON.stringify(body),
      );
    assert.equal(answers.filter(({ status }) => status === 204).length, 1);
    assert.equal((await clients[1].get(`/Users/${id}`)).status, 404);
    assert.deepEqual((await clients[1].get(`/Groups/${group.id}`)).body.members, []);
  }
  const { users, counted, active, counted_active: countedActive } = await census(fixture);
  assert.deepEqual([counted, countedActive], [users, active]);
});

test('of concurrent deletions one deletes the user and disables its person, the others answer 404', async () => {
  for (let round = 0; round < rounds; round += 1) {
    const id = await makeUser();
    const answers = await race(6, (client) => client.delete(`/Users/${id}`));
    assert.deepEqual(statusesOf(answers), [204, ...Array(5).fill(404)]);
    const row = await processes[0].pool.row<{ events: number }>(sql`
      select count(*) as events from events where aggregate_id = ${id} and type = 'scim_user.deprovisioned'`);
    assert.equal(row?.events, 1);
  }
});

test('a person is disabled while tokens are issued and exchanged: afterwards no token works', async () => {
  for (let round = 0; round < rounds; round += 1) {
    const id = await makeUser();
    const { principal_id: principalId } = (await processes[0].pool.row<{ principal_id: string }>(
      sql`select principal_id from scim_users where id = ${id}`,
    )) as { principal_id: string };
    await signIn(processes[0], fixture.tenantId, principalId);
    const { token } = await makeToken(processes[0], fixture.tenantId, principalId);
    const exchange = (n: number, presented: string) =>
      (processes[n % 2] as TestIdentity).request('POST', '/api/v1/platform-access-tokens:exchange', {
        body: { token: presented, audience: 'control-plane' },
      });
    const issue = (n: number) =>
      (processes[n % 2] as TestIdentity).post(
        `/tenants/${fixture.tenantId}/principals/${principalId}/platform-access-tokens`,
        { name: 'late', audiences: ['control-plane'], scopeCeiling: [] },
        { 'idempotency-key': randomUUID() },
      );
    const [off, ...answers] = await Promise.all([
      clients[round % 2]?.patch(`/Users/${id}`, [{ op: 'replace', path: 'active', value: 'False' }]),
      ...Array.from({ length: 4 }, (_, n) => [issue(n), exchange(n + 1, token)]).flat(),
    ]);
    assert.equal(off?.status, 200);
    for (const { status, body } of answers)
      assert.ok(
        [200, 201, 401, ...byDepth([cutOff], [])].includes(status) || body.detail === 'principal_not_active',
        JSON.stringify(body),
      );
    const issued = answers.flatMap(({ status, body }) => (status === 201 ? [String(body.token)] : []));
    for (const each of [token, ...issued]) assert.equal((await exchange(0, each)).status, 401);
    // If an exchange had locked a token's row, the token is refused because of its generation, and a job revokes it
    // afterwards.
    const row = await processes[0].pool.row<{ live: number }>(sql`
      select count(*) as live from platform_access_tokens t join principals p on p.id = t.principal_id
      where p.id = ${principalId} and t.revoked_at is null and t.generation = p.token_generation`);
    assert.equal(row?.live, 0);
  }
});

test('a person is disabled by an administrator while the directory writes them: all show it afterwards', async () => {
  const [identity] = processes;
  for (let round = 0; round < rounds; round += 1) {
    const id = await makeUser();
    const { principal_id: principalId } = (await identity.pool.row<{ principal_id: string }>(
      sql`select principal_id from scim_users where id = ${id}`,
    )) as { principal_id: string };
    const path = `/tenants/${fixture.tenantId}/principals/${principalId}`;
    const act = (verb: string) => identity.post(`${path}:${verb}`);
    const [answer, ...writes] = await Promise.all([
      act('disable'),
      ...Array.from({ length: 6 }, (_, n) => {
        const client = clients[n % 2] as ScimClient;
        const op =
          n % 3 === 2
            ? { op: 'replace', path: 'title', value: `${n}` }
            : { op: 'replace', path: 'active', value: n % 3 === 0 };
        return client.patch(`/Users/${id}`, [op]);
      }),
    ]);
    assert.equal(answer.status, 200);
    for (const status of statusesOf(writes)) assert.ok([200, cutOff].includes(status), String(status));
    assert.equal((await clients[0].get(`/Users/${id}`)).body.active, false);
    assert.equal((await identity.get(path)).body.status, 'disabled');
    const [, ...again] = await Promise.all([
      act('enable'),
      ...Array.from({ length: 4 }, (_, n) =>
        (clients[n % 2] as ScimClient).patch(`/Users/${id}`, [
          { op: 'replace', path: 'active', value: true },
        ]),
      ),
    ]);
    assert.deepEqual(statusesOf(again), Array(4).fill(200));
    // The administrator's request is refused if the directory has just deactivated the person, so it is repeated.
    await act('enable');
    assert.equal((await clients[1].get(`/Users/${id}`)).body.active, true);
    assert.equal((await identity.get(path)).body.status, 'active');
  }
  const { counted, users, active, counted_active } = await census(fixture);
  assert.deepEqual([counted, counted_active], [users, active]);
});
