import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Outbound } from './provider.ts';
import { ProviderGrant, ProviderSignIn, signInBounds } from './provider-sign-in.ts';
import { ConsoleRefusal } from './refusal.ts';

// What a provider can do wrong, which the real one of e2e/console/provider-sign-in.test.ts does not.

const issuer = 'https://login.example';
const discovery = { issuer, authorization_endpoint: `${issuer}/auth`, token_endpoint: `${issuer}/token` };
const idToken = (claims: object) =>
  `e30.${Buffer.from(JSON.stringify({ sub: 'ada', exp: Date.now() / 1000 + 60, ...claims })).toString('base64url')}.c2ln`;

/** A provider that gives this document, and this answer to every request for tokens. */
function signInWith(document: object, tokens: () => { status: number; json: unknown }, now = () => 0) {
  const outbound: Outbound = { readJson: async () => document, send: async () => tokens() };
  return new ProviderSignIn(
    {
      tenantId: 't',
      redirectUri: 'https://baton.example/console/callback',
      providers: new Map([['corporate', undefined]]),
      read: async () => ({ issuer, audience: 'console', status: 'active' }),
      outbound,
    },
    now,
  );
}
const stateIn = (url: string) => new URL(url).searchParams.get('state') as string;
const answerOf = (state: string) => ({ state, code: 'c', issuer: undefined, error: undefined });
const refusedWith = (code: string) => (error: unknown) =>
  error instanceof ConsoleRefusal && error.code === code;

test('an ID token without the nonce of the sign-in, or with another, is refused', async () => {
  for (const claims of [{}, { nonce: 'another' }, { nonce: 1 }]) {
    const signIn = signInWith(discovery, () => ({ status: 200, json: { id_token: idToken(claims) } }));
    const { url, browser } = await signIn.begin('corporate', '/');
    await assert.rejects(signIn.finish(answerOf(stateIn(url)), browser), refusedWith('invalid_nonce'));
  }
});

test('answers without a usable ID token are refused, and an error of the provider is no refusal of the person', async () => {
  for (const [status, json, code] of [
    [200, {}, 'provider_refused'],
    [200, { id_token: 'x'.repeat(40_000) }, 'provider_refused'],
    [200, { id_token: 'a.b.c' }, 'invalid_token'],
    [400, undefined, 'provider_refused'],
    [502, undefined, 'identity_provider_unavailable'],
  ] as const) {
    const signIn = signInWith(discovery, () => ({ status, json }));
    const { url, browser } = await signIn.begin('corporate', '/');
    await assert.rejects(signIn.finish(answerOf(stateIn(url)), browser), refusedWith(code));
  }
});

test('a sign-in is over after ten minutes, and of more than the bound the oldest is gone', async () => {
  let nowMs = 0;
  const signIn = signInWith(
    discovery,
    () => ({ status: 400, json: undefined }),
    () => nowMs,
  );
  const late = await signIn.begin('corporate', '/');
  nowMs += signInBounds.lastsMsMax;
  await assert.rejects(
    signIn.finish(answerOf(stateIn(late.url)), late.browser),
    refusedWith('sign_in_expired'),
  );
  const [oldest, second] = [await signIn.begin('corporate', '/'), await signIn.begin('corporate', '/')];
  for (let n = 1; n < signInBounds.begunMax; n += 1) await signIn.begin('corporate', '/');
  await assert.rejects(
    signIn.finish(answerOf(stateIn(oldest.url)), oldest.browser),
    refusedWith('sign_in_expired'),
  );
  await assert.rejects(
    signIn.finish(answerOf(stateIn(second.url)), second.browser),
    refusedWith('provider_refused'),
  );
});

test('a discovery document of another issuer, or with addresses that are not https, is not used', async () => {
  for (const wrong of [
    { issuer: 'https://evil.example' },
    { authorization_endpoint: 'http://login.example/auth' },
    { token_endpoint: 'javascript:alert(1)' },
    { authorization_endpoint: undefined },
  ]) {
    const signIn = signInWith({ ...discovery, ...wrong }, () => ({ status: 400, json: undefined }));
    await assert.rejects(signIn.begin('corporate', '/'), refusedWith('identity_provider_unavailable'));
  }
});

test('where the provider says that it names itself, an answer without its name is refused', async () => {
  const signIn = signInWith({ ...discovery, authorization_response_iss_parameter_supported: true }, () => ({
    status: 400,
    json: undefined,
  }));
  const { url, browser } = await signIn.begin('corporate', '/');
  await assert.rejects(signIn.finish(answerOf(stateIn(url)), browser), refusedWith('invalid_issuer'));
});

test('a grant is renewed once for all who ask, never for another person, and survives an outage of the provider', async () => {
  const over = { idToken: idToken({ exp: Date.now() / 1000 + 5 }), refreshToken: 'first' };
  const asked: string[] = [];
  const renewed = new ProviderGrant('corporate', over, async (refreshToken) => {
    asked.push(refreshToken);
    return { idToken: idToken({}), refreshToken: 'second' };
  });
  const [one, two] = await Promise.all([renewed.idToken(), renewed.idToken()]);
  assert.equal(one, two);
  assert.deepEqual(asked, ['first']);

  const foreign = new ProviderGrant('corporate', over, async () => ({
    idToken: idToken({ sub: 'bob' }),
    refreshToken: undefined,
  }));
  await assert.rejects(foreign.idToken(), refusedWith('sign_in_over'));
  let isDown = true;
  const lasting = new ProviderGrant('corporate', over, async () => {
    if (isDown) throw new ConsoleRefusal(503, 'identity_provider_unavailable', 'It is down.');
    return { idToken: idToken({}), refreshToken: undefined };
  });
  await assert.rejects(lasting.idToken(), refusedWith('identity_provider_unavailable'));
  isDown = false;
  assert.match(await lasting.idToken(), /^e30\./);
  const single = new ProviderGrant('corporate', { ...over, refreshToken: undefined }, () => assert.fail());
  await assert.rejects(single.idToken(), refusedWith('sign_in_over'));
});
