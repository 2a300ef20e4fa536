import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import { after, before, test } from 'node:test';
import { decodeJwt } from 'jose';
import type { TestIdentity } from '../../testing/identity.ts';
import { made, makeServiceAccount } from '../../testing/objects.ts';
import { makeRealm, newSubject, signInBy, startFederation } from './testing/sign-in.ts';
import type { Upstream } from './testing/upstream.ts';

let identity: TestIdentity;
let upstream: Upstream;
before(async () => {
  ({ identity, upstream } = await startFederation());
});
after(async () => {
  await identity.close();
  await upstream.close();
});

test('the access tokens of a disabled identity provider are revoked until it is enabled again, and no others', async () => {
  const realm = await makeRealm(identity, upstream);
  const other = await makeRealm(identity, upstream, { issuer: `${upstream.issuer}/other` });
  const { clientId, clientSecret } = await makeServiceAccount(identity, realm.tenantId);
  const { accessToken } = await made(
    signInBy(identity, realm, await upstream.sign({ sub: newSubject() }), 'exchange'),
  );
  const authorization = `Basic ${Buffer.from(`${clientId}:${clientSecret}`).toString('base64')}`;
  const isActive = async () => {
    const headers = { authorization, 'content-type': 'application/x-www-form-urlencoded' };
    const body = `token=${accessToken}`;
    return (await made(identity.request('POST', '/oauth2/introspect', { body, headers }))).active;
  };
  const claims = decodeJwt(accessToken);
  const sha256 = hash('sha256', `${claims['tenant_id']} ${claims['client_id']}`, 'base64url');
  const isListed = async () =>
    (await made(identity.request('GET', '/.well-known/revocations.json'))).revoked.some(
      (entry: { sha256: string; not_before: number | null }) =>
        entry.sha256 === sha256 && entry.not_before === null,
    );
  const set = ({ tenantId, key }: typeof realm, act: 'enable' | 'disable') =>
    made(identity.post(`/tenants/${tenantId}/identity-providers/${key}:${act}`));

  await set(other, 'disable');
  assert.deepEqual([await isListed(), await isActive()], [false, true]);
  await set(realm, 'disable');
  assert.deepEqual([await isListed(), await isActive()], [true, false]);
  await set(realm, 'enable');
  assert.deepEqual([await isListed(), await isActive()], [false, true]);
});
