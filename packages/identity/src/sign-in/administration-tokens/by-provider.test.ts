import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { decodeJwt } from 'jose';
import type { TestIdentity } from '../../testing/identity.ts';
import { made } from '../../testing/objects.ts';
import {
  makeRealm,
  newSubject,
  type Realm,
  signInBy,
  startFederation,
} from '../federation/testing/sign-in.ts';
import { nowSeconds, type Upstream } from '../federation/testing/upstream.ts';
import { ask, invite } from '../passkeys/testing/people.ts';
import { bearer, requestToken } from './testing/administration.ts';

let identity: TestIdentity;
let upstream: Upstream;
before(async () => {
  ({ identity, upstream } = await startFederation());
});
after(async () => {
  await identity.close();
  await upstream.close();
});

/**
 * Signs in through the provider without a browser session, and returns what coordination learns from the access token.
 */
async function signInOf(realm: Realm, claims: object) {
  const { accessToken } = await made(signInBy(identity, realm, await upstream.sign(claims), 'exchange'));
  const { sub, credential_id: credentialId } = decodeJwt(accessToken);
  return { tenantId: realm.tenantId, principalId: sub, credentialId };
}

const statusOf = async (body: Parameters<typeof requestToken>[1]) =>
  (await requestToken(identity, body)).status;

test('a sign-in through a provider counts from the time that the provider states', async () => {
  const realm = await makeRealm(identity, upstream);
  const sub = newSubject();
  const authTime = nowSeconds() - 200;
  const signedIn = await signInOf(realm, { sub, auth_time: authTime });
  const { token, authTime: stated, expiresAt } = await made(requestToken(identity, signedIn));
  assert.equal(Date.parse(stated), authTime * 1000);
  assert.equal(Date.parse(expiresAt), (authTime + 300) * 1000);
  const path = `/api/v1/tenants/${realm.tenantId}`;
  const read = async () => (await identity.request('GET', path, { headers: bearer(token) })).status;
  assert.equal(await read(), 200);
  await made(identity.post(`/tenants/${realm.tenantId}/identity-providers/${realm.key}:disable`));
  assert.equal(await read(), 401);
  assert.equal(await statusOf(signedIn), 403);
});

test('presenting an old token of a provider again makes no sign-in fresh', async () => {
  const realm = await makeRealm(identity, upstream);
  for (const claims of [{}, { auth_time: nowSeconds() - 301 }, { auth_time: nowSeconds() + 3600 }])
    assert.equal(await statusOf(await signInOf(realm, { sub: newSubject(), ...claims })), 403);
});

test('a browser session that began by a provider counts only with a stated time', async () => {
  const realm = await makeRealm(identity, upstream);
  for (const [claims, status] of [
    [{}, 403],
    [{ auth_time: nowSeconds() - 10 }, 201],
  ] as const) {
    const link = await invite(identity, realm.tenantId);
    const federation = {
      identityProvider: realm.key,
      token: await upstream.sign({ sub: newSubject(), ...claims }),
    };
    const { session } = await made(ask(identity, '/invitations:accept', { token: link.token, federation }));
    const { tenantId, principalId, id: credentialId } = session;
    assert.equal(await statusOf({ tenantId, principalId, credentialId }), status);
  }
});
