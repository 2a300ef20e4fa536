import assert from 'node:assert/strict';
import { createHash, randomUUID } from 'node:crypto';
import { after, before, test } from 'node:test';
import { keepSecret } from '@baton/kernel/testing/leaks/leaks';
import { issueToken } from '../sign-in/administration-tokens/testing/administration.ts';
import {
  allow,
  begin,
  connect,
  loopback,
  makePkce,
  oauthSettings,
  requestOf,
} from '../sign-in/oauth/testing/browser.ts';
import { newDevice } from '../sign-in/oauth/testing/device.ts';
import { acceptByPasskey, invite } from '../sign-in/passkeys/testing/people.ts';
import {
  delegationCredential,
  startIdentity,
  type TestIdentity,
  testSigningKey,
} from '../testing/identity.ts';
import { made, makeBearer, makePrincipal, makeServiceAccount, readScope } from '../testing/objects.ts';
import { makeProvisioning } from '../testing/provisioning.ts';

let identity: TestIdentity;
before(async () => {
  identity = await startIdentity({ IAM_SIGNING_PRIVATE_KEY: testSigningKey(), ...oauthSettings });
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

  const link = await invite(identity, tenantId);
  const signedIn = await made(acceptByPasskey(identity, link.token));
  const session = { token: signedIn.token, audience };
  secrets.push(
    link.token,
    session.token,
    (await made(open('/browser-sessions:exchange', session))).accessToken,
    delegationCredential,
    (await issueToken(identity, { ...signedIn, tenantId, principalId: signedIn.session.principalId })).token,
  );

  secrets.push(...(await makeOauthSecrets(signedIn)));
  await misuse(secrets, client.clientId);
  await failInside(successor.token, client.clientId, clientSecret);
  return secrets;
}

/** A code that nobody redeems, the tokens issued for another code, and the code of a device. */
async function makeOauthSecrets(person: { token: string }): Promise<string[]> {
  const begun = await begin(identity, requestOf(makePkce()));
  const code = (await allow(identity, person, begun)).searchParams.get('code') ?? '';
  keepSecret('authorization code', code);
  const granted = await connect(identity, person);
  const device = await newDevice(identity);
  keepSecret('device code', device.device_code);
  return [code, granted.access_token, granted.refresh_token, device.device_code, begun.request];
}

const form = (fields: Record<string, string>) =>
  identity.request('POST', '/oauth2/token', {
    body: new URLSearchParams(fields).toString(),
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
  });

/** Sends each secret in the wrong place: refusals must not repeat it. */
async function misuse(secrets: readonly string[], clientId: string): Promise<void> {
  for (const secret of secrets) {
    for (const answer of [
      await open('/platform-access-tokens:exchange', { token: `${secret}x`, audience }),
      await open('/platform-access-tokens:introspect', { tokenn: secret }),
      await open('/platform-access-tokens:revoke-self', `{"token": "${secret}`),
      await open('/platform-access-tokens:exchange', { token: secret, audience: { secret } }),
      await open('/browser-sessions:exchange', { token: `${secret}x`, audience }),
      await open('/browser-sessions:revoke-self', { token: { secret } }),
      await open('/passkeys:list', { token: `${secret}x` }),
      await open('/invitations:read', { token: `${secret}x` }),
      await open('/invitations:registration-options', `{"token": "${secret}`),
      await open('/oauth-requests:read', { token: `${secret}x`, request: secret }),
      await open('/oauth-requests:decide', {
        token: secret,
        userCode: secret.slice(0, 40),
        decision: secret,
      }),
      await form({
        ...{ grant_type: 'authorization_code', client_id: 'baton-cli', redirect_uri: loopback },
        ...{ code: `${secret}x`, code_verifier: secret },
      }),
      await form({ grant_type: 'refresh_token', client_id: 'baton-cli', refresh_token: `${secret}x` }),
      await form({ grant_type: secret, client_id: secret, device_code: secret }),
      await form({
        ...{ grant_type: 'urn:ietf:params:oauth:grant-type:jwt-bearer', audience },
        assertion: `${secret}.${secret}.x`,
      }),
      await open('/tokens/exchange', { clientId, clientSecret: `${secret}x`, audience }),
      await open('/tokens/exchange', { clientId: secret, clientSecret: secret, audience }),
      await identity.request('GET', '/api/v1/events', { headers: { authorization: `Bearer ${secret}` } }),
      await identity.request('GET', '/api/v1/events', { headers: { 'x-iam-bootstrap-token': secret } }),
      await identity.request('GET', `/api/v1/tenants/${randomUUID()}`, {
        headers: { authorization: `Bearer ${secret}` },
      }),
      await identity.request('POST', `/api/v1/tenants/${randomUUID()}/administration-tokens`, {
        body: { credentialId: secret },
        headers: { authorization: `Bearer ${secret}` },
      }),
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
