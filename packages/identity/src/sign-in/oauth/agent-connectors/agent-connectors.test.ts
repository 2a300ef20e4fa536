import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { decodeJwt } from 'jose';
import { sql } from '@baton/kernel/database/sql';
import { isRevoked } from '../../../issuing/revocations/revocation-list.ts';
import { adminHeader, startIdentity, type TestIdentity, testSigningKey } from '../../../testing/identity.ts';
import {
  made,
  makeAudience,
  makePrincipal,
  makeTenant,
  readScope,
  writeScope,
} from '../../../testing/objects.ts';
import { untilBlocked } from '../../../testing/waiting.ts';
import { makeHuman, makePerson } from '../../passkeys/testing/people.ts';
import {
  begin,
  connect,
  decide,
  makePkce,
  oauthSettings,
  open,
  read,
  refresh,
  requestOf,
} from '../testing/browser.ts';

let identity: TestIdentity;
let tenantId: string;
before(async () => {
  identity = await startIdentity({ IAM_SIGNING_PRIVATE_KEY: testSigningKey(), ...oauthSettings });
  tenantId = await makeTenant(identity);
  await makeAudience(identity, tenantId, 'control-plane', [readScope, writeScope]);
});
after(() => identity.close());

const send = (method: string, agentId: string, personId = '') =>
  identity.request(
    method,
    `/api/v1/tenants/${tenantId}/principals/${agentId}/connectors${personId && `/${personId}`}`,
    {
      headers: adminHeader,
    },
  );

async function isRevokedNow(token: string): Promise<boolean> {
  const { body } = await identity.request('GET', '/.well-known/revocations.json');
  return isRevoked(body, decodeJwt(token));
}

test('a connector connects a client as the agent, which is listed among the tokens of the agent', async () => {
  const agentId = await makePrincipal(identity, tenantId);
  const person = await makePerson(identity, tenantId);
  assert.equal((await send('PUT', agentId, person.principalId)).status, 204);
  assert.equal((await send('PUT', agentId, person.principalId)).status, 204);
  const { items } = await made(send('GET', agentId));
  assert.deepEqual(
    items.map((one: { personId: string; displayName: string }) => [one.personId, one.displayName]),
    [[person.principalId, 'Maria Lopez']],
  );
  const { request } = await begin(identity, requestOf(makePkce()));
  const { agents } = await made(read(identity, person, { request }));
  assert.deepEqual(
    agents.map(({ id }: { id: string }) => id),
    [agentId],
  );

  const granted = await connect(identity, person, {}, { principalId: agentId });
  const claims = decodeJwt(granted.access_token);
  assert.deepEqual([claims.sub, claims['principal_type'], claims['acr']], [agentId, 'agent', undefined]);
  const tokens = await made(
    identity.get(`/tenants/${tenantId}/platform-access-tokens?principalId=${agentId}`),
  );
  assert.deepEqual(
    tokens.map(({ kind }: { kind: string }) => kind),
    ['oauth_grant'],
  );
});

test('without the permission nobody connects a client as an agent, or as somebody else', async () => {
  const agentId = await makePrincipal(identity, tenantId);
  const person = await makePerson(identity, tenantId);
  const otherId = await makeHuman(identity, tenantId);
  for (const principalId of [agentId, otherId]) {
    const { request } = await begin(identity, requestOf(makePkce()));
    const { status } = await decide(identity, person, { request, principalId });
    assert.equal(status, 403, principalId);
  }
});

test('ending the permission disconnects the clients', async () => {
  const agentId = await makePrincipal(identity, tenantId);
  const person = await makePerson(identity, tenantId);
  await send('PUT', agentId, person.principalId);
  const granted = await connect(identity, person, {}, { principalId: agentId });
  assert.equal((await send('DELETE', agentId, person.principalId)).status, 204);
  assert.equal(await isRevokedNow(granted.access_token), true);
  assert.equal((await refresh(identity, granted.refresh_token)).body.error, 'invalid_grant');
  assert.deepEqual((await made(send('GET', agentId))).items, []);
  const again = await send('DELETE', agentId, person.principalId);
  assert.deepEqual([again.status, again.body.detail], [404, 'agent_connector_not_found']);
});

test('a grant beside the end of the permission ends with it', async () => {
  const agentId = await makePrincipal(identity, tenantId);
  const person = await makePerson(identity, tenantId);
  await send('PUT', agentId, person.principalId);
  const begun = await begin(identity, requestOf(makePkce()));
  const { redirectTo } = await made(
    decide(identity, person, { request: begun.request, principalId: agentId }),
  );
  const [resumed, ended] = await identity.pool.transaction(async (db) => {
    // The grant is blocked before it is stored, and the permission is revoked meanwhile.
    await db.run(sql`lock table oauth_grants in exclusive mode`);
    const resuming = open(identity, redirectTo, begun.cookie);
    await untilBlocked(identity, 1);
    let isEnded = false;
    const ending = send('DELETE', agentId, person.principalId).finally(() => {
      isEnded = true;
    });
    await untilBlocked(identity, 2, () => isEnded);
    return [resuming, ending] as const;
  });
  await resumed;
  assert.equal((await ended).status, 204);
  const tokens = await made(
    identity.get(`/tenants/${tenantId}/platform-access-tokens?principalId=${agentId}`),
  );
  assert.deepEqual(tokens, []);
});

test('disabling the person disconnects the clients that they have connected as an agent', async () => {
  const agentId = await makePrincipal(identity, tenantId);
  const person = await makePerson(identity, tenantId);
  await send('PUT', agentId, person.principalId);
  const granted = await connect(identity, person, {}, { principalId: agentId });
  await identity.post(`/tenants/${tenantId}/principals/${person.principalId}:disable`);
  assert.equal(await isRevokedNow(granted.access_token), true);
  assert.equal((await refresh(identity, granted.refresh_token)).body.error, 'invalid_grant');
});

test('a person who is no longer a member of the tenant refreshes no client of an agent', async () => {
  const agentId = await makePrincipal(identity, tenantId);
  const person = await makePerson(identity, tenantId);
  await send('PUT', agentId, person.principalId);
  const granted = await connect(identity, person, {}, { principalId: agentId });
  await identity.pool.run(
    sql`update memberships set status = 'disabled' where principal_id = ${person.principalId}`,
  );
  assert.equal((await refresh(identity, granted.refresh_token)).body.error, 'invalid_grant');
});

test('connectors are people, of an agent, and at most 100', async () => {
  const agentId = await makePrincipal(identity, tenantId);
  const personId = await makeHuman(identity, tenantId);
  for (const [agent, person] of [
    [personId, personId],
    [agentId, agentId],
  ] as const) {
    const { status, body } = await send('PUT', agent, person);
    assert.deepEqual([status, body.detail], [422, 'agent_principal_required']);
  }
  assert.equal((await send('PUT', agentId, tenantId)).status, 404);
  assert.equal((await send('GET', tenantId)).status, 404);
  for (let count = 0; count < 100; count += 1)
    assert.equal((await send('PUT', agentId, await makeHuman(identity, tenantId))).status, 204);
  const { status, body } = await send('PUT', agentId, personId);
  assert.deepEqual([status, body.detail], [409, 'too_many_connectors']);
});
