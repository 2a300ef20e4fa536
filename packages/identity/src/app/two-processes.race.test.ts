import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, test } from 'node:test';
import { sql } from '@baton/kernel/database/sql';
import { byDepth } from '@baton/testing/depth';
import { makeRealm, newSubject, signInBy } from '../sign-in/federation/testing/sign-in.ts';
import { startUpstream, type Upstream } from '../sign-in/federation/testing/upstream.ts';
import { type Answer, startIdentity, type TestIdentity, testSigningKey } from '../testing/identity.ts';
import { makeBearer } from '../testing/objects.ts';
import { makeProvisioning } from '../testing/provisioning.ts';
import { journalTypes } from '../testing/records.ts';
import { scimClient } from '../testing/scim-client.ts';

/** Tests operations that must take effect only once, sent to two processes on one database at the same moment. */
/** A round takes 70 to 140 ms. */
const rounds = byDepth(10, 60);
const callsAtOnce = 12;

let processes: [TestIdentity, TestIdentity];
let upstream: Upstream;
before(async () => {
  const first = await startIdentity({
    IAM_SIGNING_PRIVATE_KEY: testSigningKey(),
    IAM_OUTBOUND_ALLOWED_HOSTS: '["127.0.0.1"]',
  });
  processes = [first, await first.another()];
  upstream = await startUpstream();
});
after(async () => {
  await processes[0].close();
  await upstream.close();
});

/** Sends the same call many times at once, alternating between the processes. */
const race = (call: (identity: TestIdentity, n: number) => Promise<Answer>) =>
  Promise.all(Array.from({ length: callsAtOnce }, (_, n) => call(processes[n % 2] as TestIdentity, n)));
const statusesOf = (answers: readonly Answer[]) => answers.map(({ status }) => status).sort();
const countOf = async (tenantId: string, type: string) =>
  (await journalTypes(processes[0], tenantId)).filter((written) => written === type).length;
const tokensOf = async (tenantId: string): Promise<{ revokedAt: string | null }[]> =>
  (await processes[0].get(`/tenants/${tenantId}/platform-access-tokens?includeRevoked=true`)).body;

test('issue: with one key, one makes the token and the others repeat it', async () => {
  for (let round = 0; round < rounds; round += 1) {
    const { tenantId, principalId } = await makeBearer(processes[0]);
    const key = randomUUID();
    const path = `/tenants/${tenantId}/principals/${principalId}/platform-access-tokens`;
    const wanted = { name: 'raced', audiences: ['control-plane'] };
    const answers = await race((identity) => identity.post(path, wanted, { 'idempotency-key': key }));
    assert.deepEqual([...new Set(statusesOf(answers))], [201]);
    assert.equal(new Set(answers.map(({ body }) => body.credential.id)).size, 1);
    assert.equal(answers.filter(({ body }) => body.token !== null).length, 1);
    assert.equal((await tokensOf(tenantId)).length, 2);
    assert.equal(await countOf(tenantId, 'platform_access_token.issued'), 2);
  }
});

test('rotate: with keys of their own, one makes the successor; with one key, the others repeat it', async () => {
  for (let round = 0; round < rounds; round += 1) {
    const { tenantId, credential } = await makeBearer(processes[0]);
    const key = round % 2 === 0 ? randomUUID() : undefined;
    const answers = await race((identity) =>
      identity.post(
        `/tenants/${tenantId}/platform-access-tokens/${credential.id}:rotate`,
        {},
        { 'idempotency-key': key ?? randomUUID() },
      ),
    );
    const outcomes = answers.map(({ status, body }) => (status === 201 ? 'rotated' : body.detail)).sort();
    const others = key === undefined ? 'credential_not_active' : 'rotated';
    assert.deepEqual(outcomes, [...Array(callsAtOnce - 1).fill(others), 'rotated']);
    assert.equal(answers.filter(({ body }) => typeof body.token === 'string').length, 1);
    assert.equal(await countOf(tenantId, 'platform_access_token.rotated'), 1);
    const live = (await tokensOf(tenantId)).filter(({ revokedAt }) => revokedAt === null);
    assert.equal(live.length, 1);
  }
});

test('revoke: by the admin and by the bearer at once, it is recorded once and the token is dead', async () => {
  for (let round = 0; round < rounds; round += 1) {
    const { tenantId, credential, token } = await makeBearer(processes[0]);
    const answers = await race((identity, n) =>
      n % 3 === 0
        ? identity.request('POST', '/api/v1/platform-access-tokens:revoke-self', { body: { token } })
        : identity.post(`/tenants/${tenantId}/platform-access-tokens/${credential.id}:revoke`),
    );
    // The bearer of a token that is already revoked is not authenticated, so 401 is allowed.
    answers.forEach(({ status }, n) => assert.ok(status === 204 || (n % 3 === 0 && status === 401)));
    assert.equal(await countOf(tenantId, 'credential.revoked'), 1);
    const exchanges = await race((identity) =>
      identity.request('POST', '/api/v1/platform-access-tokens:exchange', {
        body: { token, audience: 'control-plane' },
      }),
    );
    assert.deepEqual([...new Set(statusesOf(exchanges))], [401]);
  }
});

test('first sign-in: all succeed, and they are one person in groups that were made once', async () => {
  for (let round = 0; round < rounds; round += 1) {
    const realm = await makeRealm(processes[0], upstream, {
      groupMappings: { a: 'alpha', b: 'beta', c: 'gamma' },
    });
    const token = await upstream.sign({ sub: newSubject(), groups: ['a', 'b', 'c'] });
    const answers = await race((identity, n) =>
      signInBy(identity, realm, token, n % 3 === 0 ? 'exchange' : 'authenticate'),
    );
    assert.deepEqual(
      [...new Set(answers.map(({ status, body }) => `${status} ${body.detail ?? ''}`))],
      ['200 '],
    );
    assert.equal(new Set(answers.map(({ body }) => body.principalId)).size, 1);
    const made = ['principal.created', 'external_identity.linked', 'group.created', 'group_membership.added'];
    assert.deepEqual(await Promise.all(made.map((type) => countOf(realm.tenantId, type))), [1, 1, 3, 3]);
    const row = await processes[0].pool.row<{ count: number }>(sql`
      select count(*) from memberships m join principals p on p.id = m.principal_id
      where m.tenant_id = ${realm.tenantId} and p.kind = 'human'`);
    assert.equal(row?.count, 1);
  }
});

test('SCIM create: of one name or external id, one makes one person, and nothing is left of the others', async () => {
  const { tenantId, sourceId, token } = await makeProvisioning(processes[0]);
  for (let round = 1; round <= rounds; round += 1) {
    const user = { userName: randomUUID(), externalId: randomUUID() };
    const same = round % 2 === 0 ? 'userName' : 'externalId';
    const answers = await race((identity) =>
      scimClient(identity, token).post('/Users', {
        userName: randomUUID(),
        externalId: randomUUID(),
        [same]: user[same],
      }),
    );
    assert.deepEqual(statusesOf(answers), [201, ...Array(callsAtOnce - 1).fill(409)]);
    for (const { status, body } of answers) if (status === 409) assert.equal(body.scimType, 'uniqueness');
    const left = await processes[0].pool.row<Record<string, number>>(sql`
      select (select count(*) from memberships m join principals p on p.id = m.principal_id
          where m.tenant_id = ${tenantId} and p.kind = 'human') as people,
        (select count(*) from external_identities where tenant_id = ${tenantId}) as identities,
        (select count(*) from scim_users where tenant_id = ${tenantId}) as users,
        users_count as counted, active_users_count as active
      from provisioning_sources where id = ${sourceId}`);
    assert.deepEqual(
      { ...left },
      { people: round, identities: round, users: round, counted: round, active: round },
    );
  }
});
