import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { TestIdentity } from '../../testing/identity.ts';
import { made } from '../../testing/objects.ts';
import { assertRefused } from '../federation/testing/refusals.ts';
import {
  makeRealm,
  newSubject,
  type Realm,
  routes,
  signInBy,
  startFederation,
} from '../federation/testing/sign-in.ts';
import { makePair, nowSeconds, type Upstream, upstreamAudience } from '../federation/testing/upstream.ts';

/**
 * Access tokens of the provider, tokens of several audiences, and the clients that may have requested them (see
 * docs/reference/providers.md#who-requested-the-token).
 */

let identity: TestIdentity;
let upstream: Upstream;
let realm: Realm;
before(async () => {
  ({ identity, upstream } = await startFederation());
  realm = await makeRealm(identity, upstream);
});
after(async () => {
  await identity.close();
  await upstream.close();
});

type Claims = Record<string, unknown>;
const signed = (claims: Claims, header: object = {}) =>
  upstream.sign({ sub: newSubject(), ...claims }, header);

/** An access token like one of Keycloak 26 that the client `web-portal` requested, with a mapper for the audience. */
const ofKeycloak = (): Claims => ({
  jti: 'onrtac:7d6c2f9e-2b2f-4d0a-9a3c-0a4e2a5a8a11',
  auth_time: nowSeconds() - 5,
  typ: 'Bearer',
  azp: 'web-portal',
  aud: [upstreamAudience, 'account'],
  sid: '5f0a6e0e-6f0e-4a48-8c65-4b7a2b9f9c11',
  acr: '1',
  'allowed-origins': ['https://portal.example'],
  realm_access: { roles: ['offline_access', 'uma_authorization'] },
  resource_access: { account: { roles: ['manage-account'] } },
  scope: 'openid profile email',
  preferred_username: 'ada',
});

async function accepted(tokens: Record<string, string>, at: Realm = realm): Promise<void> {
  for (const [name, token] of Object.entries(tokens))
    for (const route of routes) assert.equal((await signInBy(identity, at, token, route)).status, 200, name);
}

async function signedAll(all: Record<string, Claims>, header: object = {}): Promise<Record<string, string>> {
  const tokens: Record<string, string> = {};
  for (const [name, claims] of Object.entries(all)) tokens[name] = await signed(claims, header);
  return tokens;
}

test('an access token of Keycloak, or one of RFC 9068, signs its person in', async () => {
  await accepted({
    'Keycloak, header JWT': await signed(ofKeycloak()),
    'Keycloak, header at+jwt': await signed(ofKeycloak(), { typ: 'at+jwt' }),
    'RFC 9068': await signed({ client_id: 'web-portal', scope: 'openid' }, { typ: 'at+jwt' }),
    'RFC 9068, in full': await signed({ client_id: 'web-portal' }, { typ: 'application/at+jwt' }),
    'RFC 9068, in other letters': await signed({ client_id: 'web-portal' }, { typ: 'AT+JWT' }),
    'as most providers sign them': await signed({ azp: 'web-portal', scp: 'openid' }),
  });
  const { body } = await signInBy(identity, realm, await signed(ofKeycloak()), 'exchange');
  assert.deepEqual([body.authenticationContext.acr, body.audience], ['1', 'control-plane']);
});

test('an access token is checked as an ID token is: issuer, audience, times, key and methods', async () => {
  const at = { typ: 'at+jwt' };
  const strong = await makeRealm(identity, upstream, { requiredAmrValues: ['otp'] });
  for (const [code, claims] of [
    ['invalid_issuer', { iss: 'https://other.example' }],
    ['invalid_audience', { aud: ['account'] }],
    ['invalid_audience', { aud: 'account', azp: upstreamAudience }],
    ['invalid_audience', { aud: ['account'], azp: upstreamAudience, client_id: upstreamAudience }],
    ['token_expired', { exp: nowSeconds() - 1 }],
    ['invalid_token', { iat: nowSeconds() + 120 }],
    ['invalid_token', { aud: undefined }],
    ['invalid_token', { sub: undefined }],
  ] as const)
    await assertRefused(identity, realm, code, 401, {
      [JSON.stringify(claims)]: await signed({ ...ofKeycloak(), ...claims }, at),
    });
  await assertRefused(identity, strong, 'step_up_required', 403, {
    'no amr': await signed(ofKeycloak(), at),
  });
  const forged = await upstream.sign(ofKeycloak(), at, makePair('upstream-1'));
  await assertRefused(identity, realm, 'invalid_signature', 401, { forged });
  const unknown = await upstream.sign(ofKeycloak(), at, makePair('unknown'));
  await assertRefused(identity, realm, 'unknown_signing_key', 401, { unknown });
});

test('a token that declares another type is refused, wherever it declares it', async () => {
  for (const header of [{}, { typ: undefined }, { typ: 'at+jwt' }])
    await assertRefused(identity, realm, 'invalid_token', 401, {
      ...(await signedAll(
        {
          refresh: { ...ofKeycloak(), typ: 'Refresh' },
          offline: { ...ofKeycloak(), typ: 'Offline' },
          logout: { ...ofKeycloak(), typ: 'Logout' },
          'bound to a key': { ...ofKeycloak(), typ: 'DPoP', cnf: { jkt: 'x' } },
          'bound to a key, and Bearer': { ...ofKeycloak(), cnf: { jkt: 'x' } },
          'bound to a certificate': { ...ofKeycloak(), typ: undefined, cnf: { 'x5t#S256': 'x' } },
          'other letters': { ...ofKeycloak(), typ: 'bearer' },
          'a list': { ...ofKeycloak(), typ: ['Bearer'] },
          'an event': { ...ofKeycloak(), events: {} },
          'use refresh': { ...ofKeycloak(), token_use: 'refresh' },
        },
        header,
      )),
    });
  for (const typ of ['logout+jwt', 'secevent+jwt', 'dpop+jwt', 'rt+jwt', 'at+jwt;x', 'at+jwt '])
    await assertRefused(identity, realm, 'invalid_token', 401, {
      [typ]: await signed(ofKeycloak(), { typ }),
    });
});

test('our audience among others is enough, whichever client requested the token', async () => {
  const aud = ['other', upstreamAudience];
  await accepted(
    await signedAll({
      'no azp': { aud },
      'azp of another': { aud, azp: 'other' },
      'azp of somebody who is not in aud': { aud, azp: 'mobile' },
      'azp empty': { aud, azp: '' },
      'azp null': { aud, azp: null },
      'azp a list': { aud, azp: [upstreamAudience] },
      'our name twice': { aud: [upstreamAudience, upstreamAudience] },
      'beside what is no text': { aud: [1, null, upstreamAudience] },
    }),
  );
});

describe('authorizedParties', () => {
  test('the azp must be one of them; without an azp, the single audience', async () => {
    const at = await makeRealm(identity, upstream, { authorizedParties: ['web-portal', 'mobile'] });
    const several = [upstreamAudience, 'web-portal'];
    await accepted(
      await signedAll({
        'one of them': { azp: 'mobile' },
        'one of them, of several audiences': { azp: 'web-portal', aud: several },
        Keycloak: ofKeycloak(),
      }),
      at,
    );
    await assertRefused(
      identity,
      at,
      'invalid_audience',
      401,
      await signedAll({
        'another azp': { azp: 'other' },
        'our audience as azp': { azp: upstreamAudience },
        'no azp, and our audience alone': {},
        'no azp, and several audiences': { aud: several },
        'no azp, and one of them twice': { aud: [upstreamAudience, 'mobile', 'mobile'] },
        'azp empty': { azp: '', aud: several },
        'azp null': { azp: null },
        'azp a list': { azp: ['mobile'] },
        'azp a number': { azp: 7 },
        'azp in other letters': { azp: 'Mobile' },
        'azp with a space': { azp: 'mobile ' },
        'a name of the prototype': { azp: 'constructor' },
        'only as client_id': { client_id: 'mobile' },
        'the azp of one of them, another audience': { azp: 'mobile', aud: 'other' },
      }),
    );
    const own = await makeRealm(identity, upstream, { authorizedParties: [upstreamAudience] });
    await accepted(
      await signedAll({
        'no azp, and our audience alone': {},
        'no azp, and our audience alone in a list': { aud: [upstreamAudience] },
        'our audience as azp': { azp: upstreamAudience, aud: several },
      }),
      own,
    );
    await assertRefused(identity, own, 'invalid_audience', 401, {
      'no azp, and our audience twice': await signed({ aud: [upstreamAudience, upstreamAudience] }),
    });
  });

  test('a change counts from the next sign-in on; an empty list admits any', async () => {
    const at = await makeRealm(identity, upstream);
    const path = `/tenants/${at.tenantId}/identity-providers/${at.key}`;
    const token = await signed({ azp: 'mobile' });
    const statusAfter = async (authorizedParties: string[]) => {
      await made(identity.patch(path, { authorizedParties }));
      return (await signInBy(identity, at, token)).status;
    };
    assert.deepEqual(
      [await statusAfter(['other']), await statusAfter(['mobile']), await statusAfter([])],
      [401, 200, 200],
    );
  });
});
