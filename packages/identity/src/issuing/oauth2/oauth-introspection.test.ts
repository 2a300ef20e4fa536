import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { decodeJwt } from 'jose';
import { startIdentity, type TestIdentity, testSigningKey } from '../../testing/identity.ts';
import {
  made,
  makeAudience,
  makeBearer,
  makeServiceAccount,
  makeToken,
  readScope,
} from '../../testing/objects.ts';
import { auditOf } from '../../testing/records.ts';
import { basicOf, sendForm } from './testing/forms.ts';

let identity: TestIdentity;
let bearer: Awaited<ReturnType<typeof makeBearer>>;
let client: Awaited<ReturnType<typeof makeServiceAccount>>;
before(async () => {
  identity = await startIdentity({ IAM_SIGNING_PRIVATE_KEY: testSigningKey() });
  bearer = await makeBearer(identity);
  client = await makeServiceAccount(identity, bearer.tenantId);
});
after(() => identity.close());

const introspect = (token: string, as = client) => sendForm(identity, 'introspect', { token }, basicOf(as));
const exchanged = async (token: string): Promise<string> => {
  const body = { token, audience: 'control-plane', scopes: [readScope] };
  return (await made(identity.request('POST', '/api/v1/platform-access-tokens:exchange', { body })))
    .accessToken;
};
async function assertInactive(token: string, as = client, what = ''): Promise<void> {
  const { status, body } = await introspect(token, as);
  assert.deepEqual([status, body], [200, { active: false }], what);
}

test('an access token is active with its claims, in the names of RFC 7662', async () => {
  const token = await exchanged(bearer.token);
  const { status, body, headers } = await introspect(token);
  const { session_id, scope_ceiling, ...claims } = decodeJwt(token);
  assert.ok(session_id !== undefined && scope_ceiling !== undefined);
  assert.deepEqual([status, body], [200, { active: true, token_type: 'Bearer', ...claims }]);
  assert.equal(headers.get('cache-control'), 'no-store');
  const audited = (await auditOf(identity, bearer.tenantId)).at(-1);
  assert.deepEqual(
    [audited?.action, audited?.actor_ref, audited?.reason],
    ['tokens.introspect', client.principalId, `active credential:${bearer.credential.id}`],
  );
});

test('a platform access token is active with its audiences and its ceiling; its last use stays as it was', async () => {
  const { tenantId, principalId } = bearer;
  const fresh = await makeToken(identity, tenantId, principalId);
  const { body } = await introspect(fresh.token);
  const { expiresAt, createdAt, publicPrefix, id, scopeCeiling } = fresh.credential;
  assert.deepEqual(body, {
    active: true,
    token_type: 'platform_access_token',
    iss: 'http://localhost:8010/iam',
    sub: principalId,
    aud: ['control-plane'],
    client_id: publicPrefix,
    scope: scopeCeiling.join(' '),
    exp: Math.floor(Date.parse(expiresAt) / 1000),
    iat: Math.floor(Date.parse(createdAt) / 1000),
    tenant_id: tenantId,
    principal_type: 'agent',
    credential_id: id,
  });
  const { body: listed } = await identity.get(`/tenants/${tenantId}/platform-access-tokens`);
  assert.equal(listed.find((one: { id: string }) => one.id === id).lastUsedAt, null);
});

test('a token of another tenant, or for an audience that the client does not name, is inactive', async () => {
  const foreign = await makeBearer(identity);
  await assertInactive(foreign.token);
  await assertInactive(await exchanged(foreign.token));
  const { tenantId } = bearer;
  await makeAudience(identity, tenantId, 'memory-service');
  const other = await makeServiceAccount(identity, tenantId, { audiences: ['memory-service'] });
  await assertInactive(bearer.token, other);
  await assertInactive(await exchanged(bearer.token), other);
  // If a token has several audiences, the response contains only those of the client.
  const both = await makeToken(identity, tenantId, bearer.principalId, {
    audiences: ['control-plane', 'memory-service'],
  });
  assert.deepEqual((await introspect(both.token, other)).body.aud, ['memory-service']);
});

test('what is no token, or no valid one any more, is inactive and nothing else', async () => {
  const token = await exchanged(bearer.token);
  for (const text of ['x', 'a.b.c', `${bearer.token}x`, `${token.slice(0, -6)}AAAAAA`, client.clientSecret])
    await assertInactive(text, client, text);
  const doomed = await makeToken(identity, bearer.tenantId, bearer.principalId);
  const access = await exchanged(doomed.token);
  assert.equal((await introspect(access)).body.active, true);
  await identity.post(`/tenants/${bearer.tenantId}/platform-access-tokens/${doomed.credential.id}:revoke`);
  await assertInactive(doomed.token);
  await assertInactive(access);

  const { tenantId, principalId, token: theirs } = await makeBearer(identity);
  const resourceServer = await makeServiceAccount(identity, tenantId);
  const theirAccess = await exchanged(theirs);
  assert.equal((await introspect(theirAccess, resourceServer)).body.active, true);
  await identity.post(`/tenants/${tenantId}/principals/${principalId}:disable`);
  await assertInactive(theirAccess, resourceServer);
});

test('a client must authenticate, in one way; a form without a token is malformed', async () => {
  for (const [form, headers, status, error] of [
    [{ token: bearer.token }, {}, 401, 'invalid_client'],
    [{ token: bearer.token, client_id: client.clientId }, {}, 401, 'invalid_client'],
    [{ token: bearer.token }, basicOf({ ...client, clientSecret: 'x' }), 401, 'invalid_client'],
    [{ token: bearer.token }, { authorization: `Bearer ${bearer.token}` }, 401, 'invalid_client'],
    [{ token: bearer.token, client_id: 'x' }, basicOf(client), 400, 'invalid_request'],
    [{}, basicOf(client), 400, 'invalid_request'],
  ] as const) {
    const answer = await sendForm(identity, 'introspect', { ...form }, headers);
    assert.deepEqual([answer.status, answer.body], [status, { error }], JSON.stringify([form, headers]));
  }
  const { clientId, clientSecret } = client;
  const posted = {
    token: bearer.token,
    client_id: clientId,
    client_secret: clientSecret,
    token_type_hint: 'x',
  };
  assert.equal((await sendForm(identity, 'introspect', posted)).body.active, true);
  const json = await identity.request('POST', '/oauth2/introspect', {
    body: { token: bearer.token },
    headers: basicOf(client),
  });
  assert.deepEqual([json.status, json.body], [400, { error: 'invalid_request' }]);
});

test('who guesses secrets, of clients or of tokens, is slowed down', async () => {
  const limited = await identity.another({ IAM_FAILURES_PER_ADDRESS_MAX: '2' });
  const guess = () => sendForm(limited, 'introspect', { token: `${bearer.token}x` }, basicOf(client));
  const statuses = [await guess(), await guess(), await guess()].map(({ status }) => status);
  assert.deepEqual(statuses, [200, 200, 429]);
  await limited.close();
});
