import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { createLocalJWKSet, jwtVerify } from 'jose';
import { sql } from '@baton/kernel/database/sql';
import { startIdentity, type TestIdentity, testSigningKey } from '../../testing/identity.ts';
import {
  adminScope,
  made,
  makeAudience,
  makeServiceAccount,
  makeTenant,
  readScope,
  writeScope,
} from '../../testing/objects.ts';
import { auditOf, storeCounts } from '../../testing/records.ts';

let identity: TestIdentity;
before(async () => {
  identity = await startIdentity({ IAM_SIGNING_PRIVATE_KEY: testSigningKey() });
});
after(() => identity.close());

interface Client {
  clientId: string;
  clientSecret: string;
}

function exchange({ clientId, clientSecret }: Client, body: object = {}) {
  const request = { clientId, clientSecret, audience: 'control-plane', ...body };
  return identity.request('POST', '/api/v1/tokens/exchange', { body: request });
}

async function makeClient(body: object = {}) {
  const tenantId = await makeTenant(identity);
  await makeAudience(identity, tenantId);
  return { tenantId, ...(await makeServiceAccount(identity, tenantId, body)) };
}

async function accountOf(clientId: string) {
  return (await identity.pool.row<{ id: string; last_used_at: string | null }>(
    sql`select id, last_used_at from service_accounts where client_id = ${clientId}`,
  )) as { id: string; last_used_at: string | null };
}

describe('POST /tokens/exchange', () => {
  test('returns an access token with exactly the requested scopes', async () => {
    const client = await makeClient({ scopeCeiling: [readScope, writeScope] });
    const { status, body } = await exchange(client, { scopes: [writeScope, writeScope] });
    assert.equal(status, 200);
    assert.deepEqual(Object.keys(body), ['accessToken', 'tokenType', 'expiresIn']);
    assert.deepEqual([body.tokenType, body.expiresIn], ['Bearer', 300]);
    const { body: jwks } = await identity.request('GET', '/.well-known/jwks.json');
    const { payload } = await jwtVerify(body.accessToken, createLocalJWKSet(jwks), {
      issuer: 'http://localhost:8010/iam',
    });
    const { iat = 0, jti: _, ...claims } = payload;
    const account = await accountOf(client.clientId);
    assert.deepEqual(claims, {
      iss: 'http://localhost:8010/iam',
      sub: client.principalId,
      tenant_id: client.tenantId,
      aud: 'control-plane',
      scope: writeScope,
      principal_type: 'service_account',
      credential_id: account.id,
      client_id: client.clientId,
      nbf: iat,
      exp: iat + 300,
    });
    assert.notEqual(account.last_used_at, null);
    const audited = (await auditOf(identity, client.tenantId)).at(-1);
    assert.deepEqual(
      [audited?.action, audited?.actor_ref, audited?.resource_id, audited?.outcome, audited?.reason],
      ['tokens.exchange', client.principalId, account.id, 'allowed', 'audience:control-plane'],
    );
  });

  test('no requested scope is no granted scope', async () => {
    const { accessToken } = await made(exchange(await makeClient()));
    const payload = JSON.parse(Buffer.from(accessToken.split('.')[1], 'base64url').toString());
    assert.equal(payload.scope, '');
  });

  test('an audience outside of the account’s list, or not active, is refused before the scopes', async () => {
    const client = await makeClient();
    await makeAudience(identity, client.tenantId, 'memory-service', ['memory:read']);
    const refused = async (audience: string) => {
      const { status, body } = await exchange(client, { audience, scopes: ['nobody:has-this'] });
      assert.deepEqual([status, body], [403, { detail: 'audience_not_allowed' }]);
      const denied = (await auditOf(identity, client.tenantId)).at(-1);
      assert.deepEqual(
        [denied?.outcome, denied?.reason],
        ['denied', `audience:${audience} audience_not_allowed`],
      );
    };
    await refused('memory-service');
    await identity.pool.run(
      sql`update audiences set status = 'disabled' where tenant_id = ${client.tenantId}`,
    );
    await refused('control-plane');
  });

  test('a scope outside of the ceiling or of the audience, and the people scope always, is refused', async () => {
    const client = await makeClient({
      scopeCeiling: [readScope, 'iam:people', 'fleet:admin', 'not:registered'],
    });
    const allowedScopes = [readScope, writeScope, 'iam:people', 'fleet:admin'];
    await identity.patch(`/tenants/${client.tenantId}/audiences/control-plane`, { allowedScopes });
    for (const scopes of [
      [writeScope],
      ['not:registered'],
      ['iam:people'],
      [readScope, adminScope],
      ['read'],
    ]) {
      const { status, body } = await exchange(client, { scopes });
      assert.deepEqual([status, body], [403, { detail: 'scope_not_allowed' }]);
    }
    assert.equal((await exchange(client, { scopes: [readScope, 'fleet:admin'] })).status, 200);
  });

  test('an unknown client and a wrong secret have the same answer; only a known client is audited', async () => {
    const client = await makeClient();
    const before = await storeCounts(identity);
    for (const unknown of ['iam_sa_unknown', 'x', client.clientId.toUpperCase()]) {
      const { status, body } = await exchange({ ...client, clientId: unknown });
      assert.deepEqual([status, body], [401, { detail: 'invalid_client' }]);
    }
    assert.deepEqual(await storeCounts(identity), before);
    const wrong = await exchange(
      { ...client, clientSecret: `${client.clientSecret}x` },
      { audience: 'unknown' },
    );
    assert.deepEqual([wrong.status, wrong.body], [401, { detail: 'invalid_client' }]);
    // A valid exchange waits until the row of the previous exchange is written; the refused one didn't wait for its
    // own.
    await made(exchange(client));
    const [denied] = (await auditOf(identity, client.tenantId)).slice(-2);
    assert.deepEqual(
      [denied?.action, denied?.actor_ref, denied?.outcome, denied?.reason],
      ['tokens.exchange', client.principalId, 'denied', 'audience:unknown wrong_secret'],
    );
  });

  test('a revoked account, and one whose tenant, membership or principal is not active, is refused', async () => {
    const cases: [string, (client: { tenantId: string; principalId: string }) => ReturnType<typeof sql>][] = [
      [
        'tenant_not_active',
        ({ tenantId }) => sql`update tenants set status = 'disabled' where id = ${tenantId}`,
      ],
      [
        'membership_not_active',
        ({ principalId }) =>
          sql`update memberships set status = 'disabled' where principal_id = ${principalId}`,
      ],
      [
        'principal_not_active',
        ({ principalId }) => sql`update principals set status = 'disabled' where id = ${principalId}`,
      ],
      [
        'service_account_revoked',
        ({ principalId }) =>
          sql`update service_accounts set revoked_at = now() where principal_id = ${principalId}`,
      ],
    ];
    for (const [why, breakIt] of cases) {
      const client = await makeClient();
      await identity.pool.run(breakIt(client));
      const { status, body } = await exchange(client);
      assert.deepEqual([status, body], [401, { detail: 'invalid_client' }], why);
      const denied = (await auditOf(identity, client.tenantId)).at(-1);
      assert.deepEqual([denied?.outcome, denied?.reason], ['denied', `audience:control-plane ${why}`]);
    }
  });

  test('a replaced secret is dead at once, and disabling the principal closes the account', async () => {
    const client = await makeClient();
    const path = `/tenants/${client.tenantId}/service-accounts/${client.clientId}`;
    const { clientSecret } = await made(identity.patch(path, { rotateSecret: true }));
    assert.equal((await exchange(client)).status, 401);
    assert.equal((await exchange({ ...client, clientSecret })).status, 200);
    await identity.post(`/tenants/${client.tenantId}/principals/${client.principalId}:disable`);
    assert.equal((await exchange({ ...client, clientSecret })).body.detail, 'invalid_client');
  });

  test('each field has at least one character', async () => {
    const client = await makeClient();
    for (const bad of [{ clientId: '' }, { clientSecret: '' }, { audience: '' }, { grant_type: 'x' }])
      assert.equal((await exchange(client, bad)).status, 422);
  });

  test('a client without the secret cannot fill the audit log with long texts', async () => {
    const client = await makeClient();
    const before = await storeCounts(identity);
    const stranger = { clientId: client.clientId, clientSecret: 'guessed' };
    assert.equal((await exchange(stranger, { audience: 'x'.repeat(121) })).status, 422);
    assert.equal((await exchange({ ...stranger, clientId: 'x'.repeat(201) })).status, 422);
    const form = { grant_type: 'client_credentials', client_id: client.clientId, client_secret: 'guessed' };
    const answer = await identity.request('POST', '/oauth2/token', {
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      body: new URLSearchParams({ ...form, audience: '\u{1f600}'.repeat(121) }).toString(),
    });
    assert.equal(answer.status, 400);
    assert.deepEqual(await storeCounts(identity), before);
  });
});
