import assert from 'node:assert/strict';
import { createHash, randomUUID } from 'node:crypto';
import { after, before, test } from 'node:test';
import { keepSecret } from '@baton/kernel/testing/leaks/leaks';
import { startIdentity, type TestIdentity, testSigningKey } from '../testing/identity.ts';
import { made, makeBearer, makePrincipal, makeServiceAccount, readScope } from '../testing/objects.ts';
import { makeProvisioning } from '../testing/provisioning.ts';

let identity: TestIdentity;
before(async () => {
  identity = await startIdentity({ IAM_SIGNING_PRIVATE_KEY: testSigningKey() });
});
after(() => identity.close());

const audience = 'control-plane';
const sha256 = (text: string) => createHash('sha256').update(text).digest('hex');

const open = (path: string, body: unknown) => identity.request('POST', `/api/v1${path}`, { body });

/** Makes secrets of every kind, uses them correctly and incorrectly, and returns them. */
async function makeSecrets(): Promise<string[]> {
  const { tenantId, principalId, token, credential } = await makeBearer(identity);
  const rotatePath = `/tenants/${tenantId}/platform-access-tokens/${credential.id}:rotate`;
  const successor = await made(identity.post(rotatePath, {}, { 'idempotency-key': randomUUID() }));
  const client = await makeServiceAccount(identity, tenantId);
  const accountPath = `/tenants/${tenantId}/service-accounts/${client.clientId}`;
  const { clientSecret } = await made(identity.patch(accountPath, { rotateSecret: true }));
  const keyPrefix = randomUUID().slice(-12);
  const legacyKey = `cp_${keyPrefix}_${randomUUID()}`;
  keepSecret('legacy key', legacyKey);
  const legacy = {
    principalId,
    name: 'old',
    keyPrefix,
    keyHash: sha256(legacyKey),
    audience,
    expiresInSeconds: 60,
  };
  await made(identity.post(`/tenants/${tenantId}/legacy-credentials:import`, legacy));
  const subject = `subject-${randomUUID()}`;
  const person = await makePrincipal(identity, tenantId, 'human');
  await made(
    identity.post(`/tenants/${tenantId}/principals/${person}/external-identities`, {
      issuer: 'https://i',
      subject,
    }),
  );

  const secrets = [token, successor.token, client.clientSecret, clientSecret, legacyKey];
  for (const presented of [successor.token, legacyKey])
    secrets.push(
      (await made(open('/platform-access-tokens:exchange', { token: presented, audience }))).accessToken,
    );
  const scopes = [readScope];
  const credentials = { clientId: client.clientId, clientSecret, audience };
  secrets.push((await made(open('/tokens/exchange', { ...credentials, scopes }))).accessToken);

  const provisioning = await makeProvisioning(identity);
  const authorization = `Bearer ${provisioning.token}`;
  const user = { userName: `${randomUUID()}@example.com`, password: randomUUID() };
  await made(identity.request('POST', '/scim/v2/Users', { body: user, headers: { authorization } }));
  secrets.push(provisioning.token, user.password);

  await misuse(secrets, client.clientId);
  await failInside(successor.token, client.clientId, clientSecret);
  return secrets;
}

/** Sends each secret in the wrong place: refusals must not repeat it. */
async function misuse(secrets: readonly string[], clientId: string): Promise<void> {
  for (const secret of secrets) {
    for (const answer of [
      await open('/platform-access-tokens:exchange', { token: `${secret}x`, audience }),
      await open('/platform-access-tokens:introspect', { tokenn: secret }),
      await open('/platform-access-tokens:revoke-self', `{"token": "${secret}`),
      await open('/platform-access-tokens:exchange', { token: secret, audience: { secret } }),
      await open('/tokens/exchange', { clientId, clientSecret: `${secret}x`, audience }),
      await open('/tokens/exchange', { clientId: secret, clientSecret: secret, audience }),
      await identity.request('GET', '/api/v1/events', { headers: { authorization: `Bearer ${secret}` } }),
      await identity.request('GET', '/api/v1/events', { headers: { 'x-iam-bootstrap-token': secret } }),
    ]) {
      assert.ok(answer.status >= 400);
      assert.ok(!JSON.stringify(answer.body).includes(secret));
    }
  }
}

/** Makes a request fail while it is being handled, so that the error is logged, but not the request. */
async function failInside(token: string, clientId: string, clientSecret: string): Promise<void> {
  const refuse = `create function refuse() returns trigger language plpgsql as $$ begin raise exception 'broken'; end $$`;
  await identity.pool.run({ text: refuse, values: [] });
  const trigger =
    'create trigger refuse before insert on audit_records for each statement execute function refuse()';
  await identity.pool.run({ text: trigger, values: [] });
  for (const answer of [
    await open('/platform-access-tokens:exchange', { token, audience }),
    await open('/platform-access-tokens:revoke-self', { token }),
    await open('/tokens/exchange', { clientId, clientSecret, audience }),
  ])
    assert.equal(answer.status, 500);
  await identity.pool.run({ text: 'drop trigger refuse on audit_records', values: [] });
}

test('no answer repeats a secret of any kind, whether it was used rightly, wrongly or in an internal error', async () => {
  assert.ok((await makeSecrets()).length >= 10);
  assert.ok(identity.logged.join('').includes('request failed'));
  // At the end of every test run, logs and tables are searched for these secrets (scripts/leaks.ts).
});
