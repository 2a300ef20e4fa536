import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { startIdentity, type TestIdentity, testSigningKey } from '../../testing/identity.ts';
import { makeAudience, makeServiceAccount, makeTenant } from '../../testing/objects.ts';

let identity: TestIdentity;
let client: { clientId: string; clientSecret: string };
before(async () => {
  identity = await startIdentity({ IAM_SIGNING_PRIVATE_KEY: testSigningKey() });
  const tenantId = await makeTenant(identity);
  await makeAudience(identity, tenantId);
  client = await makeServiceAccount(identity, tenantId);
});
after(() => identity.close());

const ask = (form: Record<string, string>, headers: Record<string, string> = {}) =>
  identity.request('POST', '/oauth2/token', {
    body: new URLSearchParams({ grant_type: 'client_credentials', ...form }).toString(),
    headers: { 'content-type': 'application/x-www-form-urlencoded', ...headers },
  });

test('a form of more than 16 KiB is 413, of whichever field', async () => {
  for (const field of [
    'client_id',
    'audience',
    'resource',
    'scope',
    'client_secret',
    'assertion',
    'unknown',
  ]) {
    const form = { client_id: 'x', client_secret: 'x', audience: 'x', [field]: 'x'.repeat(16_384) };
    assert.equal((await ask(form)).status, 413, field);
  }
});

test('a form whose client id or audience is longer than any real one is refused before the shared read', async () => {
  const named = { client_id: client.clientId, client_secret: client.clientSecret, audience: 'control-plane' };
  for (const [field, max] of [
    ['client_id', 200],
    ['audience', 120],
  ] as const) {
    const long = await ask({ ...named, [field]: 'x'.repeat(max + 1) });
    assert.deepEqual([long.status, long.body], [400, { error: 'invalid_request' }], field);
    const fits = await ask({ ...named, [field]: 'x'.repeat(max) });
    assert.ok(['invalid_client', 'invalid_target'].includes(fits.body.error), field);
  }
  const basic = Buffer.from(`${'x'.repeat(201)}:x`).toString('base64');
  const answer = await ask({ audience: 'control-plane' }, { authorization: `Basic ${basic}` });
  assert.deepEqual([answer.status, answer.body], [401, { error: 'invalid_client' }]);
});

test('routes without a credential in a header read at most 16 KiB, sign-in 64 KiB', async () => {
  const tenant = '/api/v1/tenants/00000000-0000-4000-8000-000000000000';
  for (const [path, bytesMax] of [
    ['/api/v1/tokens/exchange', 16_384],
    ['/api/v1/platform-access-tokens:exchange', 16_384],
    ['/api/v1/platform-access-tokens:introspect', 16_384],
    ['/api/v1/platform-access-tokens:revoke-self', 16_384],
    [`${tenant}/federation:authenticate`, 65_536],
    [`${tenant}/federation:exchange`, 65_536],
  ] as const) {
    const statusOf = async (bytes: number) =>
      (await identity.request('POST', path, { body: ' '.repeat(bytes) })).status;
    assert.deepEqual([await statusOf(bytesMax), await statusOf(bytesMax + 1)], [422, 413], path);
  }
});
