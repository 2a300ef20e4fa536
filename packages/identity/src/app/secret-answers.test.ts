import assert from 'node:assert/strict';
import { request } from 'node:http';
import { after, before, test } from 'node:test';
import { z } from 'zod';
import { adminHeader, startIdentity, type TestIdentity, testSigningKey } from '../testing/identity.ts';
import { makeAudience, makeServiceAccount, makeTenant } from '../testing/objects.ts';
import { makeProvisioning } from '../testing/provisioning.ts';
import { endpoints } from './endpoints.ts';

let identity: TestIdentity;
before(async () => {
  identity = await startIdentity({ IAM_SIGNING_PRIVATE_KEY: testSigningKey() });
});
after(() => identity.close());

/** Sends headers unchanged, repeated names included. */
function send(method: string, path: string, headers: [string, string][], body?: string): Promise<number> {
  return new Promise((done, failed) => {
    const raw = [...headers, ['content-length', String(body?.length ?? 0)], ['host', 'localhost']].flat();
    const sent = request(`${identity.url}${path}`, { method, headers: raw }, (answer) => {
      answer.resume();
      done(answer.statusCode ?? 0);
    });
    sent.on('error', failed);
    sent.end(body);
  });
}

test('every endpoint whose response has a secret or a token declares it', () => {
  const names = /"(accessToken|access_token|token|clientSecret)":/;
  const shows = ({ returns }: (typeof endpoints)[number]) =>
    Object.values(returns).some(
      (form) =>
        form !== null &&
        names.test(JSON.stringify(z.toJSONSchema(form, { unrepresentable: 'any', io: 'output' }))),
    );
  const undeclared = endpoints.filter((endpoint) => shows(endpoint) && endpoint.secrets.length === 0);
  assert.deepEqual(
    undeclared.map(({ id }) => id),
    [],
  );
});

test('an answer with a secret or a token is never to be stored', async () => {
  const tenantId = await makeTenant(identity);
  await makeAudience(identity, tenantId);
  const { clientId, clientSecret } = await makeServiceAccount(identity, tenantId);
  const rotated = await identity.patch(`/tenants/${tenantId}/service-accounts/${clientId}`, {});
  const exchanged = await identity.request('POST', '/api/v1/tokens/exchange', {
    body: { clientId, clientSecret, audience: 'control-plane' },
  });
  for (const { status, headers } of [rotated, exchanged])
    assert.deepEqual([status, headers.get('cache-control')], [200, 'no-store']);
});

test('two Authorization headers, or two admin headers, are 401, whichever comes first', async () => {
  const { token } = await makeProvisioning(identity);
  const right: [string, string] = ['authorization', `Bearer ${token}`];
  assert.equal(await send('GET', '/scim/v2/Users', [right]), 200);
  for (const other of ['Bearer x', `Bearer ${token}`])
    for (const both of [
      [right, ['Authorization', other]],
      [['Authorization', other], right],
    ] as [string, string][][])
      assert.equal(await send('GET', '/scim/v2/Users', both), 401);
  const admin = Object.entries(adminHeader);
  assert.equal(await send('GET', '/api/v1/tenants', admin), 200);
  assert.equal(await send('GET', '/api/v1/tenants', [...admin, ...admin]), 401);
  const form = 'grant_type=client_credentials&audience=a&client_id=b&client_secret=c';
  const basic: [string, string] = ['authorization', 'Basic YTpi'];
  assert.equal(
    await send(
      'POST',
      '/oauth2/token',
      [['content-type', 'application/x-www-form-urlencoded'], basic, basic],
      form,
    ),
    401,
  );
});

test('a body with a Content-Encoding is refused by name', async () => {
  const answer = await identity.post(
    '/tenants',
    { slug: 'packed', name: 'x' },
    { 'content-encoding': 'gzip' },
  );
  assert.deepEqual([answer.status, answer.body.detail[0].loc], [422, ['header', 'content-encoding']]);
});
