import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import { decodeJwt } from 'jose';
import { sql } from '@baton/kernel/database/sql';
import { isRevoked } from '../../../issuing/revocations/revocation-list.ts';
import { startIdentity, type TestIdentity, testSigningKey } from '../../../testing/identity.ts';
import { made, makeAudience, makePrincipal, makeTenant } from '../../../testing/objects.ts';
import { auditOf } from '../../../testing/records.ts';
import { ask, makePerson, type Person } from '../../passkeys/testing/people.ts';
import { connect, oauthSettings, refresh } from '../testing/browser.ts';

let identity: TestIdentity;
let tenantId: string;
before(async () => {
  identity = await startIdentity({ IAM_SIGNING_PRIVATE_KEY: testSigningKey(), ...oauthSettings });
  tenantId = await makeTenant(identity);
  await makeAudience(identity, tenantId);
});
after(() => identity.close());

const listOf = async ({ token }: Person) =>
  (await made(ask(identity, '/oauth-grants:list', { token }))).items;
const revoke = ({ token }: Person, grantId: string) =>
  ask(identity, '/oauth-grants:revoke', { token, grantId });
const grantOf = (accessToken: string) => String(decodeJwt(accessToken)['credential_id']);
const isRevokedNow = async (token: string) =>
  isRevoked((await identity.request('GET', '/.well-known/revocations.json')).body, decodeJwt(token));

describe("a person's own grants", () => {
  test('are listed with the client, the newest first, without those of others', async () => {
    const person = await makePerson(identity, tenantId);
    const other = await makePerson(identity, tenantId);
    assert.deepEqual(await listOf(person), []);
    const first = await connect(identity, person);
    const second = await connect(identity, person);
    await connect(identity, other);
    const items = await listOf(person);
    assert.deepEqual(
      items.map(({ id }: { id: string }) => id),
      [grantOf(second.access_token), grantOf(first.access_token)],
    );
    const { id: _, createdAt, expiresAt, lastUsedAt, ...grant } = items[0];
    assert.deepEqual(grant, {
      name: 'Baton command line',
      clientId: 'baton-cli',
      agentId: null,
      agentName: null,
      scopeCeiling: ['control-plane:read', 'control-plane:write'],
    });
    assert.ok(Date.parse(expiresAt) > Date.parse(createdAt));
    assert.ok(lastUsedAt === null || lastUsedAt >= createdAt);
  });

  test('name the agent as which a client acts', async () => {
    const person = await makePerson(identity, tenantId);
    const agentId = await makePrincipal(identity, tenantId, 'agent');
    await identity.request(
      'PUT',
      `/api/v1/tenants/${tenantId}/principals/${agentId}/connectors/${person.principalId}`,
      { headers: { 'x-iam-bootstrap-token': identity.env['IAM_BOOTSTRAP_TOKEN'] ?? '' } },
    );
    await connect(identity, person, {}, { principalId: agentId });
    const [grant] = await listOf(person);
    assert.equal(grant.agentId, agentId);
    assert.equal(typeof grant.agentName, 'string');
    assert.equal((await revoke(person, grant.id)).status, 204);
    assert.deepEqual(await listOf(person), []);
  });

  test('end with their access and refresh tokens; a repetition changes nothing', async () => {
    const person = await makePerson(identity, tenantId);
    const { access_token: accessToken, refresh_token: refreshToken } = await connect(identity, person);
    const kept = await connect(identity, person);
    const grantId = grantOf(accessToken);
    assert.equal((await revoke(person, grantId)).status, 204);
    assert.equal(await isRevokedNow(accessToken), true);
    assert.equal(await isRevokedNow(kept.access_token), false);
    const { status, body } = await refresh(identity, refreshToken);
    assert.deepEqual([status, body.error], [400, 'invalid_grant']);
    const audited = (await auditOf(identity, tenantId)).length;
    assert.equal((await revoke(person, grantId)).status, 204);
    assert.equal((await auditOf(identity, tenantId)).length, audited);
    assert.deepEqual(
      (await listOf(person)).map(({ id }: { id: string }) => id),
      [grantOf(kept.access_token)],
    );
    const revoked = (await auditOf(identity, tenantId))
      .filter(({ resource_id: id }) => id === grantId)
      .at(-1);
    assert.deepEqual([revoked?.actor_ref, revoked?.outcome], [person.principalId, 'allowed']);
  });

  test("of another person, and a person's other tokens, are not found", async () => {
    const person = await makePerson(identity, tenantId);
    const other = await makePerson(identity, tenantId);
    const { access_token: accessToken } = await connect(identity, other);
    const stranger = await makePerson(identity, await makeTenant(identity));
    for (const [who, id] of [
      [person, grantOf(accessToken)],
      [stranger, grantOf(accessToken)],
      [person, randomUUID()],
      [person, person.session.id],
    ] as const) {
      const answer = await revoke(who, id);
      assert.deepEqual([answer.status, answer.body], [404, { detail: 'oauth_grant_not_found' }]);
    }
    assert.equal(await isRevokedNow(accessToken), false);
  });

  test('that have expired are not listed', async () => {
    const person = await makePerson(identity, tenantId);
    const { access_token: accessToken } = await connect(identity, person);
    await identity.pool.run(
      sql`update platform_access_tokens set expires_at = created_at + interval '1 ms' where id = ${grantOf(accessToken)}`,
    );
    assert.deepEqual(await listOf(person), []);
  });

  test('are protected by the limit of failures', async () => {
    const guarded = await identity.another({ IAM_FAILURES_PER_CREDENTIAL_MAX: '1', ...oauthSettings });
    for (const [path, more] of [
      ['/oauth-grants:list', {}],
      ['/oauth-grants:revoke', { grantId: randomUUID() }],
    ] as const) {
      const { token } = await makePerson(identity, tenantId);
      const attempt = () => ask(guarded, path, { token: `${token}x`, ...more });
      assert.equal((await attempt()).status, 401);
      const { status, body } = await attempt();
      assert.deepEqual([status, body], [429, { detail: 'rate_limited' }]);
    }
  });

  test('need a live session', async () => {
    const person = await makePerson(identity, tenantId);
    await ask(identity, '/browser-sessions:revoke-self', { token: person.token });
    for (const [path, more] of [
      ['/oauth-grants:list', {}],
      ['/oauth-grants:revoke', { grantId: randomUUID() }],
    ] as const) {
      const answer = await ask(identity, path, { token: person.token, ...more });
      assert.deepEqual([answer.status, answer.body], [401, { detail: 'invalid_token' }]);
    }
  });
});
