import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { decodeJwt, decodeProtectedHeader } from 'jose';
import { startIdentity, type TestIdentity, testSigningKey } from '../../testing/identity.ts';
import { makeToken } from '../../testing/objects.ts';
import { auditOf } from '../../testing/records.ts';
import { type OidcUpstream, resource, startOidcUpstream } from './testing/oidc-upstream.ts';
import { makeRealm, type Realm, signInBy } from './testing/sign-in.ts';
import { makePair } from './testing/upstream.ts';

/** Tests against a certified OpenID provider, with the keys and tokens that it actually publishes and signs. */

let identity: TestIdentity;
let upstream: OidcUpstream;
let realm: Realm;
before(async () => {
  identity = await startIdentity({
    IAM_SIGNING_PRIVATE_KEY: testSigningKey(),
    IAM_OUTBOUND_ALLOWED_HOSTS: '["127.0.0.1"]',
  });
  upstream = await startOidcUpstream(makePair('first'));
  realm = await makeRealm(identity, upstream, {
    groupMappings: { '/engineering': 'engineers', admins: 'administrators' },
    requiredAmrValues: ['otp'],
  });
});
after(async () => {
  await identity.close();
  await upstream.close();
});

test('signs a person in by discovery, with acr, amr, auth_time and groups', async () => {
  const visitor = {
    accountId: 'ada',
    acr: 'urn:gold',
    amr: ['pwd', 'otp'],
    groups: ['engineering', 'others'],
  };
  const { id_token: token } = await upstream.signIn(visitor);
  const { status, body } = await signInBy(identity, realm, token, 'exchange');
  assert.equal(status, 200, JSON.stringify([body, decodeJwt(token)]));
  const authTime = new Date((decodeJwt(token)['auth_time'] as number) * 1000).toISOString();
  assert.deepEqual(
    [body.groups, body.authenticationContext, body.identityProviderStale],
    [['engineers'], { acr: 'urn:gold', amr: ['pwd', 'otp'], authTime }, false],
  );
  const claims = decodeJwt(body.accessToken);
  assert.deepEqual(
    [claims.sub, claims['acr'], claims['auth_time']],
    [body.principalId, 'urn:gold', authTime],
  );
  await makeToken(identity, realm.tenantId, body.principalId);

  const { id_token: next } = await upstream.signIn({ ...visitor, groups: ['admins'] });
  const again = (await signInBy(identity, realm, next)).body;
  assert.deepEqual([again.principalId, again.groups], [body.principalId, ['administrators']]);
});

test('requires the configured methods', async () => {
  const { id_token: token } = await upstream.signIn({ accountId: 'weak', acr: 'urn:gold', amr: ['pwd'] });
  const { status, body } = await signInBy(identity, realm, token);
  assert.deepEqual([status, body], [403, { detail: 'step_up_required' }]);
});

test('takes its access token where no method of sign-in is required, since it names none', async () => {
  const visitor = { accountId: 'alan', amr: ['otp'] };
  const { access_token: token } = await upstream.signIn(visitor, { resource });
  assert.equal(decodeProtectedHeader(token).typ, 'at+jwt');
  const weak = await signInBy(identity, realm, token);
  assert.deepEqual([weak.status, weak.body], [403, { detail: 'step_up_required' }]);
  const plain = await makeRealm(identity, upstream);
  assert.equal((await signInBy(identity, plain, token, 'exchange')).status, 200);
});

test('fetches a new key at once, refuses the old one, and fetches at most every 10 seconds for it', async () => {
  const visitor = { accountId: 'grace', amr: ['otp'] };
  const { id_token: former } = await upstream.signIn(visitor);
  assert.equal((await signInBy(identity, realm, former)).status, 200);
  upstream.rotate(makePair('second', 'ES256'));
  const { id_token: token } = await upstream.signIn(visitor);
  assert.deepEqual(decodeProtectedHeader(token), { alg: 'ES256', kid: 'second' });
  assert.equal((await signInBy(identity, realm, token)).status, 200);
  assert.equal((await signInBy(identity, realm, former)).body.detail, 'unknown_signing_key');
  upstream.rotate(makePair('third'));
  const { id_token: third } = await upstream.signIn(visitor);
  assert.equal((await signInBy(identity, realm, third)).body.detail, 'unknown_signing_key');
});

test('that is down: its cached keys are used, and the response reports it', async () => {
  const pair = makePair('fourth');
  const other = await startOidcUpstream(pair);
  const eager = await makeRealm(identity, other, { jwksCacheTtlSeconds: 0 });
  const strict = await makeRealm(identity, other, {
    jwksCacheTtlSeconds: 0,
    jwksStaleGraceSeconds: 0,
  });
  const { id_token: token } = await other.signIn({ accountId: 'eve' });
  const { id_token: stranger } = await other.signIn({ accountId: 'mallory' });
  assert.equal((await signInBy(identity, eager, token)).body.identityProviderStale, false);
  assert.equal((await signInBy(identity, strict, stranger)).status, 200);
  await other.close();
  for (const route of ['authenticate', 'exchange'] as const) {
    const { status, body } = await signInBy(identity, eager, token, route);
    assert.deepEqual([status, body.identityProviderStale], [200, true]);
    const reason = (await auditOf(identity, eager.tenantId)).at(-1)?.reason ?? '';
    assert.ok(reason.endsWith(' jwks:stale'), reason);
  }
  const { status, body, headers } = await signInBy(identity, strict, stranger);
  assert.deepEqual(
    [status, body, headers.get('retry-after')],
    [503, { detail: 'identity_provider_unavailable' }, '5'],
  );
});
