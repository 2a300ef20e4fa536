import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { startIdentity, type TestIdentity, testSigningKey } from '../../testing/identity.ts';
import { made, makeBearer, makeServiceAccount } from '../../testing/objects.ts';
import { auditOf, journalTypes, storeCounts } from '../../testing/records.ts';
import { basicOf, sendForm } from './testing/forms.ts';

let identity: TestIdentity;
before(async () => {
  identity = await startIdentity({ IAM_SIGNING_PRIVATE_KEY: testSigningKey() });
});
after(() => identity.close());

const exchange = (token: string) =>
  identity.request('POST', '/api/v1/platform-access-tokens:exchange', {
    body: { token, audience: 'control-plane' },
  });

test('the holder of a platform access token can revoke it; revoking it again returns the same response and changes nothing', async () => {
  const { tenantId, token, credential, principalId } = await makeBearer(identity);
  const first = await sendForm(identity, 'revoke', { token, token_type_hint: 'refresh_token' });
  assert.deepEqual([first.status, first.body], [200, '']);
  assert.equal((await exchange(token)).status, 401);
  const events = await journalTypes(identity, tenantId);
  assert.equal(events.at(-1), 'credential.revoked');
  const again = await sendForm(identity, 'revoke', { token });
  assert.deepEqual([again.status, again.body], [200, '']);
  assert.deepEqual(await journalTypes(identity, tenantId), events);
  const audited = (await auditOf(identity, tenantId)).filter(
    ({ action }) => action === 'platform_access_tokens.revoke',
  );
  assert.deepEqual(
    audited.map(({ action, outcome, actor_ref }) => [action, outcome, actor_ref]),
    [
      ['platform_access_tokens.revoke', 'allowed', principalId],
      ['platform_access_tokens.revoke', 'denied', principalId],
    ],
  );
  assert.match(String(audited[0]?.reason), new RegExp(`^pat:${credential.publicPrefix} `));
});

test('an unknown token is answered like a known one, and leaves no trace', async () => {
  const { token } = await makeBearer(identity);
  const before = await storeCounts(identity);
  for (const unknown of ['x', `${token}x`, 'iam_pat_0123456789ab_x'])
    assert.equal((await sendForm(identity, 'revoke', { token: unknown })).status, 200, unknown);
  assert.deepEqual(await storeCounts(identity), before);
  assert.equal((await exchange(token)).status, 200);
});

test('client credentials are checked where they are sent, before anything is revoked', async () => {
  const { tenantId, token } = await makeBearer(identity);
  const client = await makeServiceAccount(identity, tenantId);
  const wrong = basicOf({ ...client, clientSecret: 'wrong' });
  for (const [form, headers, status, error] of [
    [{ token }, wrong, 401, 'invalid_client'],
    [{ token, client_id: 'x' }, basicOf(client), 400, 'invalid_request'],
    [{}, {}, 400, 'invalid_request'],
  ] as const) {
    const answer = await sendForm(identity, 'revoke', { ...form }, headers);
    assert.deepEqual([answer.status, answer.body], [status, { error }]);
  }
  assert.equal((await exchange(token)).status, 200);
  assert.equal((await sendForm(identity, 'revoke', { token }, basicOf(client))).status, 200);
  assert.equal((await exchange(token)).status, 401);
});

test('an access token is of a type that is not revoked', async () => {
  const { token } = await makeBearer(identity);
  const { accessToken } = await made(exchange(token));
  const { status, body } = await sendForm(identity, 'revoke', { token: accessToken });
  assert.deepEqual([status, body], [400, { error: 'unsupported_token_type' }]);
});

test('who guesses tokens is slowed down', async () => {
  const limited = await identity.another({ IAM_FAILURES_PER_ADDRESS_MAX: '2' });
  const statuses: number[] = [];
  for (let count = 0; count < 3; count += 1)
    statuses.push((await sendForm(limited, 'revoke', { token: 'x' })).status);
  assert.deepEqual(statuses, [200, 200, 429]);
  await limited.close();
});
