import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { sql } from '@baton/kernel/database/sql';
import { startIdentity, type TestIdentity, testSigningKey } from '../../../testing/identity.ts';
import { made, makePrincipal, makeServiceAccount, makeToken } from '../../../testing/objects.ts';
import { makeProvisioning } from '../../../testing/provisioning.ts';
import { auditOf } from '../../../testing/records.ts';
import { scimClient } from '../../../testing/scim-client.ts';

let identity: TestIdentity;
before(async () => {
  identity = await startIdentity({ IAM_SIGNING_PRIVATE_KEY: testSigningKey() });
});
after(() => identity.close());

const get = (token: string, path = '/Users') => scimClient(identity, token).get(path);

async function accessToken(
  account: { clientId: string; clientSecret: string },
  scopes = ['scim:write'],
  audience = 'iam-scim',
): Promise<string> {
  const { clientId, clientSecret } = account;
  const body = { clientId, clientSecret, audience, scopes };
  return (await made(identity.request('POST', '/api/v1/tokens/exchange', { body }))).accessToken;
}

describe('access to SCIM', () => {
  test('an access token of the source and a provisioning token are admitted', async () => {
    const { account, token } = await makeProvisioning(identity);
    for (const credential of [token, await accessToken(account)])
      assert.equal((await get(credential)).status, 200);
  });

  test('any other bearer token gets the same answer: 401, WWW-Authenticate and a SCIM error', async () => {
    const { account, token } = await makeProvisioning(identity);
    const real = await accessToken(account);
    const headers: Record<string, string>[] = [
      {},
      { authorization: '' },
      { authorization: 'Bearer ' },
      { authorization: `Basic ${token}` },
      { authorization: `Bearer ${token}x` },
      { authorization: `Bearer iam_scim_${'0'.repeat(12)}_x` },
      { authorization: 'Bearer iam_scim_' },
      { authorization: `Bearer ${real.slice(0, -8)}AAAAAAAA` },
      { authorization: `Bearer ${real.split('.').slice(0, 2).join('.')}.` },
      { authorization: 'Bearer a.b.c' },
      { 'x-iam-bootstrap-token': 'admin-secret-of-the-tests' },
    ];
    for (const one of headers) {
      const answer = await identity.request('GET', '/scim/v2/Users', { headers: one });
      assert.equal(answer.status, 401, JSON.stringify(one));
      assert.equal(answer.headers.get('www-authenticate'), 'Bearer');
      assert.equal(answer.headers.get('content-type'), 'application/scim+json');
      assert.deepEqual(answer.body.schemas, ['urn:ietf:params:scim:api:messages:2.0:Error']);
      assert.equal(answer.body.status, '401');
    }
  });

  test('a token of a person is refused first, then a missing scope, then a missing source', async () => {
    const { tenantId, account } = await makeProvisioning(identity);
    const agent = await makePrincipal(identity, tenantId);
    const pat = await makeToken(identity, tenantId, agent, {
      audiences: ['iam-scim'],
      scopeCeiling: ['scim:write'],
    });
    const body = { token: pat.token, audience: 'iam-scim' };
    const { accessToken: theirs } = await made(
      identity.request('POST', '/api/v1/platform-access-tokens:exchange', { body }),
    );
    const person = await get(theirs);
    assert.equal(person.status, 403);
    assert.match(person.body.detail, /service identity/);
    assert.equal((await get(await accessToken(account, ['scim:other']))).status, 403);
    const other = await makeServiceAccount(identity, tenantId, {
      audiences: ['iam-scim'],
      scopeCeiling: ['scim:write'],
    });
    assert.equal((await get(await accessToken(other))).status, 403);
  });

  test('a token of another audience is refused', async () => {
    const { tenantId, account } = await makeProvisioning(identity);
    await made(
      identity.post(`/tenants/${tenantId}/audiences`, { key: 'other', allowedScopes: ['scim:write'] }),
    );
    await made(
      identity.patch(`/tenants/${tenantId}/service-accounts/${account.clientId}`, {
        audiences: ['iam-scim', 'other'],
      }),
    );
    assert.equal((await get(await accessToken(account, ['scim:write'], 'other'))).status, 401);
  });

  test('what is disabled refuses both credentials at once', async () => {
    const cases: [
      string,
      (made: Awaited<ReturnType<typeof makeProvisioning>>) => ReturnType<typeof sql>,
      number[],
    ][] = [
      [
        'account',
        ({ account }) =>
          sql`update service_accounts set revoked_at = now() where principal_id = ${account.principalId}`,
        [401, 401],
      ],
      [
        'principal',
        ({ account }) => sql`update principals set status = 'disabled' where id = ${account.principalId}`,
        [401, 401],
      ],
      [
        'membership',
        ({ account }) =>
          sql`update memberships set status = 'disabled' where principal_id = ${account.principalId}`,
        [401, 401],
      ],
      [
        'tenant',
        ({ tenantId }) => sql`update tenants set status = 'disabled' where id = ${tenantId}`,
        [401, 401],
      ],
      [
        'source',
        ({ sourceId }) => sql`update provisioning_sources set status = 'disabled' where id = ${sourceId}`,
        [403, 401],
      ],
      [
        'provider',
        ({ providerId }) => sql`update identity_providers set status = 'disabled' where id = ${providerId}`,
        [503, 503],
      ],
    ];
    for (const [what, breakIt, expected] of cases) {
      const fixture = await makeProvisioning(identity);
      const access = await accessToken(fixture.account);
      await identity.pool.run(breakIt(fixture));
      assert.deepEqual([(await get(access)).status, (await get(fixture.token)).status], expected, what);
    }
  });

  test('a revoked and an expired provisioning token are refused', async () => {
    const { tenantId, sourceId, token, tokenId } = await makeProvisioning(identity);
    const path = `/tenants/${tenantId}/provisioning-sources/${sourceId}/tokens`;
    const second = await made(identity.post(path, { name: 'second' }));
    await identity.post(`${path}/${tokenId}:revoke`);
    assert.equal((await get(token)).status, 401);
    assert.equal((await get(second.token)).status, 200);
    await identity.pool.run(
      sql`update provisioning_tokens set expires_at = now() - interval '1 ms' where id = ${second.id}`,
    );
    assert.equal((await get(second.token)).status, 401);
  });

  test('a body of another media type is 415, after the credential', async () => {
    const { token } = await makeProvisioning(identity);
    const send = (contentType: string, authorization: string) =>
      identity.request('POST', '/scim/v2/Users', {
        body: '{"userName":"x"}',
        headers: { 'content-type': contentType, authorization },
      });
    for (const type of ['text/plain', 'application/xml', 'application/x-www-form-urlencoded']) {
      assert.equal((await send(type, `Bearer ${token}`)).status, 415);
      assert.equal((await send(type, 'Bearer x')).status, 401);
    }
    const accepted = await send('Application/SCIM+JSON; charset=utf-8', `Bearer ${token}`);
    assert.equal(accepted.status, 201);
  });

  test('an unknown path and method have the SCIM envelope too', async () => {
    const { token } = await makeProvisioning(identity);
    const client = scimClient(identity, token);
    for (const [answer, status] of [
      [await client.get('/Nothing'), 404],
      [await client.delete('/Users'), 405],
    ] as const) {
      assert.deepEqual([answer.status, answer.body.status], [status, String(status)]);
      assert.equal(answer.headers.get('content-type'), 'application/scim+json');
    }
  });

  test('without a signing key only provisioning tokens work', async () => {
    const keyless = await startIdentity();
    const { token } = await makeProvisioning(keyless);
    assert.equal((await scimClient(keyless, token).get('/Users')).status, 200);
    assert.equal((await scimClient(keyless, 'a.b.c').get('/Users')).status, 401);
    await keyless.close();
  });
});

describe('discovery', () => {
  test('describes the features, the kinds of resources and their attributes', async () => {
    const client = scimClient(identity, (await makeProvisioning(identity)).token);
    const config = await client.get('/ServiceProviderConfig');
    assert.deepEqual(
      ['patch', 'bulk', 'filter', 'changePassword', 'sort', 'etag'].map(
        (name) => config.body[name].supported,
      ),
      [true, false, true, false, true, true],
    );
    const types = await client.get('/ResourceTypes');
    assert.deepEqual(
      types.body.Resources.map(({ id }: { id: string }) => id),
      ['User', 'Group'],
    );
    assert.equal((await client.get('/ResourceTypes/User')).body.endpoint, '/Users');
    const schemas = await client.get('/Schemas');
    assert.equal(schemas.body.totalResults, 3);
    for (const schema of schemas.body.Resources) {
      const one = await client.get(`/Schemas/${schema.id}`);
      assert.deepEqual([one.status, one.body], [200, schema]);
      assert.deepEqual((await client.get(`/Schemas/${encodeURIComponent(schema.id)}`)).body, schema);
    }
    assert.equal((await client.get('/Schemas/urn:nothing')).status, 404);
    assert.equal((await client.get('/ResourceTypes/Nothing')).status, 404);
    for (const path of ['/Schemas', '/ResourceTypes'])
      assert.equal((await client.get(`${path}?filter=id%20pr`)).status, 403);
  });
});

describe('a denied request', () => {
  test('is recorded if the credential identifies the tenant, the same one once a minute, and never with a secret', {
    timeout: 100_000,
  }, async () => {
    const { tenantId, sourceId, account, token } = await makeProvisioning(identity, 'denied');
    const prefix = token.slice(9, 21);
    const agent = await makePrincipal(identity, tenantId);
    const pat = await makeToken(identity, tenantId, agent, {
      audiences: ['iam-scim'],
      scopeCeiling: ['scim:write'],
    });
    const body = { token: pat.token, audience: 'iam-scim' };
    const { accessToken: theirs } = await made(
      identity.request('POST', '/api/v1/platform-access-tokens:exchange', { body }),
    );
    const [ours, narrow] = [await accessToken(account), await accessToken(account, ['scim:other'])];
    const denials = async () =>
      (await auditOf(identity, tenantId)).filter(({ action }) => action === 'scim.access');
    // Polls, because the row is written after the response has been sent.
    const recorded = async (count: number) => {
      for (let found = await denials(); ; found = await denials()) {
        assert.ok(found.length <= count, `${found.length} rows`);
        if (found.length === count) return found.at(-1);
        await sleep(10);
      }
    };

    for (let time = 0; time < 3; time += 1) assert.equal((await get(`${token}x`)).status, 401);
    const wrong = await recorded(1);
    assert.deepEqual(
      [wrong?.actor_ref, wrong?.resource_type, wrong?.resource_id, wrong?.outcome, wrong?.reason],
      [
        'provisioning_source:denied',
        'provisioning_source',
        sourceId,
        'denied',
        `scim:${prefix} wrong_secret`,
      ],
    );
    assert.notEqual(wrong?.request_id, '');
    assert.equal((await get(theirs)).status, 403);
    assert.deepEqual((await recorded(2))?.reason, 'access_token service_identity_required');
    assert.equal((await get(narrow)).status, 403);
    assert.deepEqual((await recorded(3))?.resource_id, account.principalId);
    await identity.pool.run(
      sql`update identity_providers set status = 'disabled' where tenant_id = ${tenantId}`,
    );
    assert.deepEqual([(await get(token)).status, (await get(ours)).status], [503, 503]);
    await recorded(5);
    await identity.pool.run(sql`update principals set status = 'disabled' where id = ${account.principalId}`);
    assert.deepEqual([(await get(token)).status, (await get(ours)).status], [401, 401]);
    await recorded(7);
    // A guess with an unknown prefix belongs to no tenant, so it is only logged, by its prefix.
    assert.equal((await get('iam_scim_0123456789ab_guess')).status, 401);
    await recorded(7);
    assert.ok(identity.logged.some((line) => line.includes('scim:0123456789ab unknown_prefix')));
  });
});
