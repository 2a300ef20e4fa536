import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { decodeJwt } from 'jose';
import { sql } from '@baton/kernel/database/sql';
import { isRevoked } from '../../issuing/revocations/revocation-list.ts';
import type { TestIdentity } from '../../testing/identity.ts';
import { made, makeToken } from '../../testing/objects.ts';
import { auditOf, journalTypes, storeCounts } from '../../testing/records.ts';
import {
  makeRealm,
  newSubject,
  type Realm,
  signInBy,
  startFederation,
} from '../federation/testing/sign-in.ts';
import { nowSeconds, type Upstream } from '../federation/testing/upstream.ts';
import { VirtualAuthenticator } from '../passkeys/testing/authenticator.ts';
import { acceptByPasskey, addPasskey, ask, invite, signInWith } from '../passkeys/testing/people.ts';

/** Tests of links that are accepted with a sign-in through a provider of the tenant. */

let identity: TestIdentity;
let upstream: Upstream;
before(async () => {
  ({ identity, upstream } = await startFederation());
});
after(async () => {
  await identity.close();
  await upstream.close();
});

async function accept(realm: Realm, token: string, claims: object, at = identity) {
  const federation = { identityProvider: realm.key, token: await upstream.sign(claims) };
  return ask(at, '/invitations:accept', { token, federation });
}

test('links the invited person to the identity of the token, with its groups and its sign-in', async () => {
  const realm = await makeRealm(identity, upstream, {
    groupMappings: { eng: 'engineers', ops: 'operators' },
  });
  const { tenantId, key } = realm;
  const { token, invitation } = await invite(identity, tenantId);
  const { principalId } = invitation;
  assert.deepEqual((await ask(identity, '/invitations:read', { token })).body.identityProviders, [key]);
  const [sub, authTime] = [newSubject(), nowSeconds() - 20];
  const claims = { sub, acr: 'gold', amr: ['pwd', 'otp'], auth_time: authTime, groups: ['eng'] };
  const answer = await accept(realm, token, claims);
  assert.equal(answer.status, 200, JSON.stringify(answer.body));
  const { session } = answer.body;
  assert.deepEqual(
    [session.principalId, session.passkeyId, session.clientId, session.acr, session.amr, session.authTime],
    [principalId, null, `idp:${key}`, 'gold', ['otp', 'pwd'], new Date(authTime * 1000).toISOString()],
  );
  const types = (await journalTypes(identity, tenantId)).slice(-6);
  assert.deepEqual(types, [
    'principal.enabled',
    'external_identity.linked',
    'group.created',
    'group_membership.added',
    'invitation.accepted',
    'browser_session.started',
  ]);
  await makeToken(identity, tenantId, principalId);
  const signedIn = (await signInBy(identity, realm, await upstream.sign({ sub }))).body;
  assert.equal(signedIn.principalId, principalId, 'the next sign-in finds the same person');
  assert.equal((await accept(realm, token, claims)).body.detail, 'invalid_invitation');
  const again = await invite(identity, tenantId, { principalId });
  const other = { ...claims, groups: ['ops'] };
  assert.equal((await accept(realm, again.token, other)).status, 200, 'the person has the identity already');
  assert.ok((await journalTypes(identity, tenantId)).includes('group_membership.removed'));
});

test('a person who got in so can add their first passkey, and then sign in by it', async () => {
  const realm = await makeRealm(identity, upstream);
  const link = await invite(identity, realm.tenantId);
  const claims = { sub: newSubject(), auth_time: nowSeconds() };
  const { token, session } = (await accept(realm, link.token, claims)).body;
  const authenticator = new VirtualAuthenticator();
  assert.equal((await addPasskey(identity, token, authenticator)).status, 201);
  const types = (await journalTypes(identity, realm.tenantId)).slice(-2);
  assert.deepEqual(types, ['external_identity.linked', 'passkey.registered']);
  const signedIn = await signInWith(identity, authenticator);
  assert.equal(signedIn.body.session.principalId, session.principalId);
});

test('no passkey is added to disabled passkeys, neither by the person nor by a link, which stays open', async () => {
  const realm = await makeRealm(identity, upstream);
  const { tenantId } = realm;
  const link = await invite(identity, tenantId);
  const claims = { sub: newSubject(), auth_time: nowSeconds() };
  const { token, session } = (await accept(realm, link.token, claims)).body;
  await made(addPasskey(identity, token));
  await identity.pool.run(sql`
    update external_identities set status = 'disabled'
    where principal_id = ${session.principalId} and source = 'passkey'`);
  const own = await addPasskey(identity, token);
  assert.deepEqual([own.status, own.body], [403, { detail: 'identity_disabled' }]);
  const path = `/tenants/${tenantId}/principals/${session.principalId}/recovery-links`;
  const recovery = await made(identity.post(path, {}));
  const recovered = await acceptByPasskey(identity, recovery.token);
  assert.deepEqual([recovered.status, recovered.body], [403, { detail: 'identity_disabled' }]);
  assert.equal(
    (await ask(identity, '/passkeys:list', { token })).body.items.length,
    1,
    'nothing was replaced',
  );
  assert.equal((await ask(identity, '/invitations:read', { token: recovery.token })).status, 200);
});

test('a session that began so ends when its provider is disabled, with its access tokens', async () => {
  const realm = await makeRealm(identity, upstream);
  const link = await invite(identity, realm.tenantId);
  const { token } = (await accept(realm, link.token, { sub: newSubject() })).body;
  const exchange = () => ask(identity, '/browser-sessions:exchange', { token, audience: 'control-plane' });
  const { accessToken } = await made(exchange());
  const claims = decodeJwt(accessToken) as Parameters<typeof isRevoked>[1];
  await made(identity.post(`/tenants/${realm.tenantId}/identity-providers/${realm.key}:disable`));
  assert.deepEqual((await exchange()).body, { detail: 'invalid_token' });
  assert.match((await auditOf(identity, realm.tenantId)).at(-1)?.reason ?? '', /identity_provider_disabled$/);
  const { body: list } = await identity.request('GET', '/.well-known/revocations.json');
  assert.equal(isRevoked(list, claims), true);
});

test("somebody else's identity, and a provider of programs, are refused, and the link stays open", async () => {
  const realm = await makeRealm(identity, upstream);
  const sub = newSubject();
  await made(signInBy(identity, realm, await upstream.sign({ sub })));
  const { token, invitation } = await invite(identity, realm.tenantId);
  const before = await storeCounts(identity);
  const taken = await accept(realm, token, { sub });
  assert.deepEqual([taken.status, taken.body], [409, { detail: 'external_identity_conflict' }]);
  await identity.pool.run(sql`
    update identity_providers set principal_kind = 'workload' where id = ${realm.providerId}`);
  const programs = await accept(realm, token, { sub: newSubject() });
  assert.deepEqual([programs.status, programs.body], [404, { detail: 'identity_provider_not_found' }]);
  assert.deepEqual(await storeCounts(identity), before);
  const { body } = await identity.get(`/tenants/${realm.tenantId}/principals/${invitation.principalId}`);
  assert.equal(body.status, 'paused');
});

test('of a sign-in and an acceptance by one identity at the same time one wins, and neither fails otherwise', async () => {
  const realm = await makeRealm(identity, upstream);
  const other = await identity.another();
  for (let round = 0; round < 8; round += 1) {
    const sub = newSubject();
    const [one, two] = [await invite(identity, realm.tenantId), await invite(identity, realm.tenantId)];
    const answers = await Promise.all([
      accept(realm, one.token, { sub }),
      accept(realm, two.token, { sub }, other),
    ]);
    assert.deepEqual(answers.map(({ status }) => status).sort(), [200, 409]);
    const lost = answers.find(({ status }) => status === 409);
    assert.equal(lost?.body.detail, 'external_identity_conflict');
  }
});
