import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { decodeJwt } from 'jose';
import { startIdentity, type TestIdentity, testSigningKey } from '../../testing/identity.ts';
import {
  makeAudience,
  makeServiceAccount,
  makeTenant,
  readScope,
  writeScope,
} from '../../testing/objects.ts';

let identity: TestIdentity;
let tenantId: string;
let client: { clientId: string; clientSecret: string; principalId: string };
before(async () => {
  identity = await startIdentity({ IAM_SIGNING_PRIVATE_KEY: testSigningKey() });
  tenantId = await makeTenant(identity);
  await makeAudience(identity, tenantId);
  client = await makeServiceAccount(identity, tenantId, { scopeCeiling: [readScope, writeScope] });
});
after(() => identity.close());

const formType = 'application/x-www-form-urlencoded';
const basic = (id: string, secret: string) => ({
  authorization: `Basic ${Buffer.from(`${encodeURIComponent(id)}:${encodeURIComponent(secret)}`).toString('base64')}`,
});
const ask = (form: Record<string, string> | string, headers: Record<string, string> = {}) =>
  identity.request('POST', '/oauth2/token', {
    body: typeof form === 'string' ? form : new URLSearchParams(form).toString(),
    headers: { 'content-type': formType, ...headers },
  });
const grant = { grant_type: 'client_credentials', audience: 'control-plane' };

test('both ways to authenticate give the token of the exchange, never to be stored', async () => {
  const { clientId, clientSecret, principalId } = client;
  const { audience, ...rest } = grant;
  const scope = `${writeScope} ${readScope}`;
  for (const answer of [
    await ask({ ...grant, scope }, basic(clientId, clientSecret)),
    await ask({ ...grant, scope, client_id: clientId, client_secret: clientSecret, unknown: 'x' }),
    await ask({ ...rest, resource: audience, scope }, basic(clientId, clientSecret)),
  ]) {
    const { access_token, ...shown } = answer.body;
    assert.deepEqual(
      [answer.status, shown],
      [200, { token_type: 'Bearer', expires_in: 300, scope: `${readScope} ${writeScope}` }],
    );
    assert.equal(answer.headers.get('cache-control'), 'no-store');
    const claims = decodeJwt(access_token);
    assert.deepEqual([claims.sub, claims.aud], [principalId, audience]);
    assert.deepEqual([claims['client_id'], claims['scope']], [clientId, answer.body.scope]);
  }
});

test('refusals have the form and the codes of RFC 6749', async () => {
  const right = basic(client.clientId, client.clientSecret);
  const cases: [Record<string, string> | string, Record<string, string>, number, string][] = [
    [{ ...grant, grant_type: 'password' }, right, 400, 'unsupported_grant_type'],
    [{ audience: 'control-plane' }, right, 400, 'invalid_request'],
    [{ grant_type: 'client_credentials' }, right, 400, 'invalid_request'],
    [{ ...grant, resource: 'other' }, right, 400, 'invalid_request'],
    [{ ...grant, client_id: client.clientId }, right, 400, 'invalid_request'],
    ['grant_type=client_credentials&audience=a&audience=b', right, 400, 'invalid_request'],
    ['grant_type=client_credentials&audience=%00', right, 400, 'invalid_request'],
    [grant, { ...right, 'content-type': 'application/json' }, 400, 'invalid_request'],
    [grant, {}, 401, 'invalid_client'],
    [grant, basic(client.clientId, 'wrong'), 401, 'invalid_client'],
    [grant, basic('a\0', 'x'), 401, 'invalid_client'],
    [grant, { authorization: 'Basic !' }, 401, 'invalid_client'],
    [{ ...grant, audience: 'other' }, right, 400, 'invalid_target'],
    [{ ...grant, scope: 'control-plane:admin' }, right, 400, 'invalid_scope'],
  ];
  for (const [form, headers, status, error] of cases) {
    const answer = await ask(form, headers);
    assert.deepEqual([answer.status, answer.body], [status, { error }], JSON.stringify([form, headers]));
    const challenge = status === 401 ? 'Basic realm="iam"' : null;
    assert.equal(answer.headers.get('www-authenticate'), challenge);
  }
});
