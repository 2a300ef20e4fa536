import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { decodeJwt } from 'jose';
import { startIdentity, type TestIdentity, testSigningKey } from '../../testing/identity.ts';
import { adminScope, makeBearer, makeServiceAccount, readScope, writeScope } from '../../testing/objects.ts';
import { auditOf } from '../../testing/records.ts';
import { accessTokenType, basicOf, exchangeGrant, sendForm } from './testing/forms.ts';

const mcp = 'https://baton.example/mcp';
let identity: TestIdentity;
let bearer: Awaited<ReturnType<typeof makeBearer>>;
let client: Awaited<ReturnType<typeof makeServiceAccount>>;
before(async () => {
  identity = await startIdentity({
    IAM_SIGNING_PRIVATE_KEY: testSigningKey(),
    IAM_RESOURCES: JSON.stringify({ [mcp]: 'control-plane', 'https://baton.example/': 'control-plane' }),
  });
  bearer = await makeBearer(identity);
  client = await makeServiceAccount(identity, bearer.tenantId);
});
after(() => identity.close());

const ask = (form: Record<string, string> = {}, headers: Record<string, string> = {}) =>
  sendForm(
    identity,
    'token',
    { grant_type: exchangeGrant, subject_token: bearer.token, subject_token_type: accessTokenType, ...form },
    headers,
  );
const audience = 'control-plane';

test('a platform access token is exchanged, as by our own route', async () => {
  const { status, body, headers } = await ask({ audience });
  const { access_token: accessToken, ...rest } = body;
  assert.deepEqual(
    [status, rest],
    [
      200,
      {
        issued_token_type: accessTokenType,
        token_type: 'Bearer',
        expires_in: 300,
        scope: `${readScope} ${writeScope}`,
      },
    ],
  );
  assert.deepEqual([headers.get('cache-control'), headers.get('pragma')], ['no-store', 'no-cache']);
  const claims = decodeJwt(accessToken);
  assert.deepEqual(
    [claims.sub, claims.aud, claims['client_id'], claims['scope']],
    [bearer.principalId, audience, bearer.credential.publicPrefix, rest.scope],
  );
  const audited = (await auditOf(identity, bearer.tenantId)).at(-1);
  assert.deepEqual([audited?.action, audited?.outcome], ['platform_access_tokens.exchange', 'allowed']);
});

test('a scope narrows it, and a requested type that is issued changes nothing', async () => {
  const { body } = await ask({ audience, scope: readScope, requested_token_type: accessTokenType });
  assert.equal(body.scope, readScope);
});

test('resource names the audience: by the address of a service, with or without a slash, or by its key', async () => {
  for (const resource of [mcp, `${mcp}/`, 'https://baton.example', audience]) {
    const { status, body } = await ask({ resource });
    assert.deepEqual([status, decodeJwt(body.access_token).aud], [200, audience], resource);
    assert.equal((await ask({ resource, audience })).status, 200, resource);
  }
  const credentials = { grant_type: 'client_credentials', resource: mcp };
  const granted = await sendForm(identity, 'token', credentials, basicOf(client));
  assert.equal(decodeJwt(granted.body.access_token).aud, audience);
});

test('client authentication is optional, a public client may send its id, and an attempt must succeed', async () => {
  assert.equal((await ask({ audience, client_id: 'my-mcp-client' })).status, 200);
  assert.equal((await ask({ audience }, basicOf(client))).status, 200);
  assert.equal(
    (await ask({ audience, client_id: client.clientId, client_secret: client.clientSecret })).status,
    200,
  );
  for (const answer of [
    await ask({ audience }, basicOf({ ...client, clientSecret: 'wrong' })),
    await ask({ audience, client_id: 'unknown', client_secret: 'x' }),
    await ask({ audience }, { authorization: 'Basic !' }),
  ]) {
    assert.deepEqual([answer.status, answer.body], [401, { error: 'invalid_client' }]);
    assert.equal(answer.headers.get('www-authenticate'), 'Basic realm="iam"');
  }
  const audited = (await auditOf(identity, bearer.tenantId)).filter(
    ({ action }) => action === 'clients.authenticate',
  );
  assert.deepEqual(
    audited.map(({ outcome, reason }) => [outcome, reason]),
    [['denied', 'oauth2 wrong_secret']],
  );
});

test('refusals have the codes of RFC 8693, and all that is wrong with the subject token has one', async () => {
  const { accessToken } = (
    await identity.request('POST', '/api/v1/platform-access-tokens:exchange', {
      body: { token: bearer.token, audience },
    })
  ).body;
  for (const [form, error] of [
    [{ subject_token: '' }, 'invalid_request'],
    [{ subject_token: `${bearer.token}x` }, 'invalid_request'],
    [{ subject_token: 'unknown' }, 'invalid_request'],
    [{ subject_token: accessToken }, 'invalid_request'],
    [{ subject_token_type: '' }, 'invalid_request'],
    [{ subject_token_type: 'urn:ietf:params:oauth:token-type:id_token' }, 'invalid_request'],
    [{ requested_token_type: 'urn:ietf:params:oauth:token-type:refresh_token' }, 'invalid_request'],
    [{ actor_token: bearer.token }, 'invalid_request'],
    [{ audience: '' }, 'invalid_request'],
    [{ resource: 'https://other.example' }, 'invalid_request'],
    [{ audience: '', resource: 'https://other.example' }, 'invalid_target'],
    [{ audience: '', resource: `https://other.example/${'x'.repeat(200)}` }, 'invalid_target'],
    [{ audience: 'other' }, 'invalid_target'],
    [{ scope: adminScope }, 'invalid_scope'],
    [{ grant_type: 'password' }, 'unsupported_grant_type'],
  ] as const) {
    const { status, body, headers } = await ask({ audience, ...form });
    assert.deepEqual([status, body], [400, { error }], JSON.stringify(form));
    assert.equal(headers.get('www-authenticate'), null);
  }
});

test('a revoked token and one of a disabled principal are refused like an unknown one', async () => {
  const { tenantId, principalId, token } = await makeBearer(identity);
  assert.equal((await ask({ audience, subject_token: token })).status, 200);
  await identity.post(`/tenants/${tenantId}/principals/${principalId}:disable`);
  const { status, body } = await ask({ audience, subject_token: token });
  assert.deepEqual([status, body], [400, { error: 'invalid_request' }]);
});

test('too many wrong tokens of an address are 429, here as at our own route', async () => {
  const limited = await identity.another({ IAM_FAILURES_PER_ADDRESS_MAX: '2' });
  const form = { grant_type: exchangeGrant, subject_token_type: accessTokenType, audience };
  const statuses: number[] = [];
  for (let count = 0; count < 3; count += 1)
    statuses.push((await sendForm(limited, 'token', { ...form, subject_token: 'x' })).status);
  assert.deepEqual(statuses, [400, 400, 429]);
  await limited.close();
});
