import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { decodeJwt } from 'jose';
import { sql } from '@baton/kernel/database/sql';
import { startIdentity, type TestIdentity, testSigningKey } from '../testing/identity.ts';
import {
  made,
  makeAudience,
  makeBearer,
  makePrincipal,
  makeServiceAccount,
  makeTenant,
  signIn,
} from '../testing/objects.ts';
import { makeProvisioning } from '../testing/provisioning.ts';
import { scimClient } from '../testing/scim-client.ts';

/** Tests the effects of the settings (docs/configuration.md#identity) whose values differ from the defaults. */

let identity: TestIdentity;
before(async () => {
  identity = await startIdentity({
    IAM_SIGNING_PRIVATE_KEY: testSigningKey(),
    IAM_ISSUER: 'https://iam.example',
    IAM_TOKEN_TTL_SECONDS: '60',
    IAM_PAT_DEFAULT_TTL_SECONDS: '120',
    IAM_PAT_MAX_TTL_SECONDS: '600',
    IAM_PAT_MAX_AUTHENTICATION_AGE_SECONDS: '1000',
    IAM_LEGACY_CREDENTIAL_MAX_TTL_SECONDS: '100',
    IAM_SCIM_AUDIENCE: 'directory',
    IAM_SCIM_SCOPE: 'directory:write',
    IAM_SCIM_MAX_PAGE_SIZE: '2',
    IAM_PEOPLE_SCOPE: 'hr:people',
    IAM_PAT_LAST_USED_INTERVAL_SECONDS: '0',
  });
});
after(() => identity.close());

const exchange = (route: string, body: object) => identity.request('POST', `/api/v1${route}`, { body });

test('issuer and life of access tokens', async () => {
  const { token } = await makeBearer(identity);
  const wanted = { token, audience: 'control-plane' };
  const { accessToken, expiresIn } = await made(exchange('/platform-access-tokens:exchange', wanted));
  const { iss, iat = 0, exp = 0 } = decodeJwt(accessToken);
  assert.deepEqual([iss, expiresIn, exp - iat], ['https://iam.example', 60, 60]);
});

test('how stale the last use of a token may be', async () => {
  const { tenantId, credential, token } = await makeBearer(identity);
  const useIt = async () => {
    await made(exchange('/platform-access-tokens:exchange', { token, audience: 'control-plane' }));
    const path = `/tenants/${tenantId}/platform-access-tokens/${credential.id}`;
    return Date.parse((await made(identity.get(path))).lastUsedAt);
  };
  const first = await useIt();
  await pause(5);
  assert.ok((await useIt()) > first, 'written each time');
});

test('life of tokens, and the age of a sign-in that they may rest on', async () => {
  const tenantId = await makeTenant(identity);
  await makeAudience(identity, tenantId);
  const principalId = await makePrincipal(identity, tenantId, 'human');
  await signIn(identity, tenantId, principalId);
  const issue = (more: object = {}) =>
    identity.post(
      `/tenants/${tenantId}/principals/${principalId}/platform-access-tokens`,
      { name: 'x', audiences: ['control-plane'], ...more },
      { 'idempotency-key': randomUUID() },
    );
  const { credential } = await made(issue());
  assert.equal(Date.parse(credential.expiresAt) - Date.parse(credential.createdAt), 120_000);
  assert.equal((await issue({ expiresInSeconds: 600 })).status, 201);
  assert.equal((await issue({ expiresInSeconds: 601 })).body.detail, 'expiry_too_long');
  for (const [seconds, status] of [
    [900, 201],
    [1100, 403],
  ] as const) {
    await identity.pool.run(sql`
      update authentication_contexts set recorded_at = now() - make_interval(secs => ${seconds})
      where principal_id = ${principalId}`);
    assert.equal((await issue()).status, status, `${seconds} s`);
  }
});

test('life of imported keys', async () => {
  const { tenantId, principalId } = await makeBearer(identity);
  const keyPrefix = 'a'.repeat(12);
  const key = { principalId, name: 'x', keyPrefix, keyHash: 'a'.repeat(64), audience: 'control-plane' };
  const path = `/tenants/${tenantId}/legacy-credentials:import`;
  const longer = await identity.post(path, { ...key, expiresInSeconds: 101 });
  assert.deepEqual([longer.status, longer.body.detail], [422, 'compatibility_window_too_long']);
  assert.equal((await identity.post(path, { ...key, expiresInSeconds: 100 })).status, 201);
});

test('audience, scope and page length of SCIM', async () => {
  const { tenantId, account } = await makeProvisioning(identity);
  const { clientId, clientSecret } = account;
  await makeAudience(identity, tenantId, 'directory', ['directory:write', 'scim:write']);
  const audiences = ['directory', 'iam-scim'];
  const scopeCeiling = ['directory:write', 'scim:write'];
  await made(
    identity.patch(`/tenants/${tenantId}/service-accounts/${clientId}`, {
      audiences,
      scopeCeiling: ['scim:write'],
    }),
  );
  const reach = { audiences: ['directory'], scopeCeiling };
  const enter = async (audience: string, scope: string) => {
    const wanted = { clientId, clientSecret, audience, scopes: [scope] };
    const { accessToken } = await made(exchange('/tokens/exchange', wanted));
    return scimClient(identity, accessToken);
  };
  assert.equal((await (await enter('iam-scim', 'scim:write')).get('/Users')).status, 401);
  await made(identity.patch(`/tenants/${tenantId}/service-accounts/${clientId}`, reach));
  assert.equal((await (await enter('directory', 'scim:write')).get('/Users')).status, 403);
  const directory = await enter('directory', 'directory:write');
  for (let user = 0; user < 3; user += 1)
    assert.equal((await directory.post('/Users', { userName: `user-${user}` })).status, 201);
  const { body: page } = await directory.get('/Users?count=10');
  assert.deepEqual([page.totalResults, page.itemsPerPage], [3, 2]);
  assert.equal((await directory.get('/ServiceProviderConfig')).body.filter.maxResults, 2);
});

test('the scope that no service account gets', async () => {
  const tenantId = await makeTenant(identity);
  const scopes = ['hr:people', 'iam:people'];
  await makeAudience(identity, tenantId, 'control-plane', scopes);
  const { clientId, clientSecret } = await makeServiceAccount(identity, tenantId, { scopeCeiling: scopes });
  const ask = async (scope: string) => {
    const wanted = { clientId, clientSecret, audience: 'control-plane', scopes: [scope] };
    return (await exchange('/tokens/exchange', wanted)).status;
  };
  assert.deepEqual([await ask('hr:people'), await ask('iam:people')], [403, 200]);
});
