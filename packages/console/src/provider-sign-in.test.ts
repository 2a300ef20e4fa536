import assert from 'node:assert/strict';
import { test } from 'node:test';
import { AddressRates, rateBounds } from './address-rates.ts';
import { discoveryBounds } from './endpoint-cache.ts';
import type { Outbound } from './provider.ts';
import { ProviderGrant, type ProviderSecret, ProviderSignIn, signInBounds } from './provider-sign-in.ts';
import { ConsoleRefusal } from './refusal.ts';

// Errors that the real provider of e2e/console/provider-sign-in.test.ts does not produce.

const issuer = 'https://login.example';
const discovery = { issuer, authorization_endpoint: `${issuer}/auth`, token_endpoint: `${issuer}/token` };
const idToken = (claims: object) =>
  `e30.${Buffer.from(JSON.stringify({ sub: 'ada', exp: Date.now() / 1000 + 60, ...claims })).toString('base64url')}.c2ln`;

/** A provider with this discovery document and this response to every token request. */
function signInWith(document: object, tokens: () => { status: number; json: unknown }, now = () => 0) {
  const outbound: Outbound = { readJson: async () => document, send: async () => tokens() };
  return new ProviderSignIn(
    {
      tenantId: 't',
      redirectUri: 'https://baton.example/console/callback',
      providers: new Set(['corporate']),
      read: async () => ({ issuer, audience: 'console', status: 'active' }),
      outbound,
    },
    now,
  );
}
/** The hash of a page's key. */
const page = 'P'.repeat(43);
const stateIn = (url: string) => new URL(url).searchParams.get('state') as string;
const callbackWith = (state: string) => ({ state, code: 'c', issuer: undefined, error: undefined });
const refusedWith = (code: string) => (error: unknown) =>
  error instanceof ConsoleRefusal && error.code === code;

test('an ID token without the nonce of the sign-in, or with another, is refused', async () => {
  for (const claims of [{}, { nonce: 'another' }, { nonce: 1 }]) {
    const signIn = signInWith(discovery, () => ({ status: 200, json: { id_token: idToken(claims) } }));
    const { url, browser } = await signIn.begin('corporate', '/', page);
    await assert.rejects(signIn.finish(callbackWith(stateIn(url)), [browser]), refusedWith('invalid_nonce'));
  }
});

test("responses without a valid ID token are rejected, and an error of the provider doesn't reject the person", async () => {
  for (const [status, json, code] of [
    [200, {}, 'provider_refused'],
    [200, { id_token: 'x'.repeat(40_000) }, 'provider_refused'],
    [200, { id_token: 'a.b.c' }, 'invalid_token'],
    [400, undefined, 'provider_refused'],
    [502, undefined, 'identity_provider_unavailable'],
  ] as const) {
    const signIn = signInWith(discovery, () => ({ status, json }));
    const { url, browser } = await signIn.begin('corporate', '/', page);
    await assert.rejects(signIn.finish(callbackWith(stateIn(url)), [browser]), refusedWith(code));
  }
});

test('a sign-in expires after ten minutes, and is valid once, even if it fails', async () => {
  let nowMs = 0;
  const signIn = signInWith(
    discovery,
    () => ({ status: 400, json: undefined }),
    () => nowMs,
  );
  const late = await signIn.begin('corporate', '/', page);
  nowMs += signInBounds.lastsMsMax;
  const finish = ({ url }: { url: string }, browser: string) =>
    signIn.finish(callbackWith(stateIn(url)), [browser]);
  await assert.rejects(finish(late, late.browser), refusedWith('sign_in_expired'));
  const begun = await signIn.begin('corporate', '/', page);
  await assert.rejects(finish(begun, begun.browser), refusedWith('provider_refused'));
  await assert.rejects(finish(begun, begun.browser), refusedWith('sign_in_expired'));
});

test('a test of a provider returns its ID token, or the step that failed, and never a grant', async () => {
  let tokens: { status: number; json: unknown } = { status: 200, json: {} };
  const signIn = signInWith(discovery, () => tokens);
  const begin = () => signIn.begin('corporate', '/administration', page, { isTest: true, session: 'key' });
  const finish = async (answer: object, { url, browser }: { url: string; browser: string }) => {
    const finished = await signIn.finish({ ...callbackWith(stateIn(url)), ...answer }, [browser]);
    assert.ok(!('grant' in finished) && finished.session === 'key' && finished.next === '/administration');
    return finished.tested;
  };
  const begun = await begin();
  const valid = idToken({ nonce: new URL(begun.url).searchParams.get('nonce') });
  tokens = { status: 200, json: { id_token: valid, refresh_token: 'r' } };
  assert.deepEqual(await finish({}, begun), { provider: 'corporate', idToken: valid });
  await assert.rejects(finish({}, begun), refusedWith('sign_in_expired'));
  for (const [answer, json, failed, code, detail] of [
    [{ error: 'access_denied' }, {}, 'authorization', 'provider_refused', /It reported: access_denied$/],
    [{ issuer: 'https://evil.example' }, {}, 'authorization', 'invalid_issuer', /another identity provider/],
    [{}, { error: 'invalid_client' }, 'exchange', 'provider_refused', /It reported: invalid_client$/],
    [{}, { error: 'ä' }, 'exchange', 'provider_refused', /returned no ID token\.$/],
    [{}, { id_token: idToken({ nonce: 'another' }) }, 'exchange', 'invalid_nonce', /another sign-in/],
  ] as const) {
    tokens = { status: 200, json };
    const tested = await finish(answer, await begin());
    assert.ok('failed' in tested);
    assert.deepEqual([tested.failed, tested.code], [failed, code]);
    assert.match(tested.detail, detail);
  }
});

test('a provider that is not on offer can be tested, but nobody signs in through it', async () => {
  const signIn = new ProviderSignIn({
    tenantId: 't',
    redirectUri: 'https://baton.example/console/callback',
    providers: new Set(),
    list: async () => [],
    read: async () => ({
      issuer,
      audience: 'console',
      status: 'active',
      offered: false,
      own_issuer: false,
      principal_kind: 'human',
    }),
    outbound: { readJson: async () => discovery, send: () => assert.fail() },
  });
  await assert.rejects(signIn.begin('corporate', '/', page), refusedWith('identity_provider_not_found'));
  assert.match(
    (await signIn.begin('corporate', '/', page, { isTest: true })).url,
    /^https:\/\/login\.example\/auth/,
  );
});

test('of two concurrent callbacks of a sign-in one finishes it, with the page and the session that started it', async () => {
  let nonce = '';
  const signIn = signInWith(discovery, () => ({ status: 200, json: { id_token: idToken({ nonce }) } }));
  const { url, browser } = await signIn.begin('corporate', '/inbox', page, { session: 'key-of-the-session' });
  nonce = new URL(url).searchParams.get('nonce') as string;
  const finish = () => signIn.finish(callbackWith(stateIn(url)), [browser]);
  const [first, second] = await Promise.allSettled([finish(), finish()]);
  assert.ok(first.status === 'fulfilled' && second.status === 'rejected');
  assert.ok('grant' in first.value);
  const { grant, ...rest } = first.value;
  assert.deepEqual(rest, {
    next: '/inbox',
    pageKeyHash: page,
    session: 'key-of-the-session',
    invitation: undefined,
  });
  assert.equal(grant.provider, 'corporate');
  assert.ok(refusedWith('sign_in_expired')(second.reason));
});

test('the state alone cannot end a sign-in: it is valid only in the browser that started it', async () => {
  const signIn = signInWith(discovery, () => ({ status: 400, json: undefined }));
  const [mine, theirs] = [
    await signIn.begin('corporate', '/', page),
    await signIn.begin('corporate', '/', page),
  ];
  const answer = callbackWith(stateIn(mine.url));
  for (const cookies of [[], ['A'.repeat(100)], [theirs.browser]])
    await assert.rejects(signIn.finish(answer, cookies), refusedWith('sign_in_of_another'));
  const planted = [theirs.browser, 'A'.repeat(100), mine.browser];
  await assert.rejects(signIn.finish(answer, planted), refusedWith('provider_refused'));
  await assert.rejects(signIn.finish(answer, planted), refusedWith('sign_in_expired'));
});

test('a pending sign-in can be finished regardless of the number of other sign-ins and callbacks', async () => {
  const signIn = signInWith(discovery, () => ({ status: 400, json: undefined }));
  const mine = await signIn.begin('corporate', '/', page);
  for (let n = 0; n < 1500; n += 1) {
    const { url, browser } = await signIn.begin('corporate', '/', page);
    if (n % 2 === 0)
      await assert.rejects(
        signIn.finish(callbackWith(stateIn(url)), [browser]),
        refusedWith('provider_refused'),
      );
  }
  await assert.rejects(
    signIn.finish(callbackWith('A'.repeat(72)), [mine.browser]),
    refusedWith('sign_in_expired'),
  );
  await assert.rejects(
    signIn.finish(callbackWith(stateIn(mine.url)), [mine.browser]),
    refusedWith('provider_refused'),
  );
});

test('a sealed sign-in reveals nothing, and opens only unchanged and with its own state', async () => {
  const signIn = signInWith(discovery, () => ({ status: 400, json: undefined }));
  const one = await signIn.begin('corporate', '/tasks?q=private', page, { session: 'key-of-the-session' });
  assert.match(one.browser, /^[\w-]{100,3800}$/);
  assert.doesNotMatch(Buffer.from(one.browser, 'base64url').toString('latin1'), /private|session|corporate/);
  const cases: [name: string, change: (text: string) => string][] = [
    ['nothing', () => ''],
    ['a changed first byte', (text) => `${text.startsWith('A') ? 'B' : 'A'}${text.slice(1)}`],
    [
      'a changed byte in the midst',
      (text) => `${text.slice(0, 80)}${text[80] === 'A' ? 'B' : 'A'}${text.slice(81)}`,
    ],
    ['a part of it', (text) => text.slice(0, -4)],
    ['more than it', (text) => `${text}AAAA`],
    ['that of another sign-in', () => one.browser],
    ['4,000 characters', () => 'A'.repeat(4000)],
  ];
  for (const [name, change] of cases) {
    const { url, browser } = await signIn.begin('corporate', '/', page);
    const finished = signIn.finish(callbackWith(stateIn(url)), [change(browser)]);
    await assert.rejects(finished, refusedWith('sign_in_of_another'), name);
  }
  const { url, browser } = await signIn.begin('corporate', '/', page);
  const elsewhere = signInWith(discovery, () => ({ status: 400, json: undefined }));
  await assert.rejects(
    elsewhere.finish(callbackWith(stateIn(url)), [browser]),
    refusedWith('sign_in_expired'),
  );
});

test('a return path that is too long for a cookie is replaced by the start page', async () => {
  const tokens = () => ({ status: 200, json: { id_token: idToken({ nonce: 'pending' }) } });
  const signIn = signInWith(discovery, tokens);
  for (const next of [`/${'x'.repeat(8000)}`, `/?q=${'é'.repeat(900)}`]) {
    const { browser } = await signIn.begin('corporate', next, page);
    assert.match(browser, /^[\w-]{100,3800}$/);
  }
});

test('the discovery document is fetched once for concurrent sign-ins, and again after five minutes or a failure', async () => {
  let nowMs = 0;
  let reads = 0;
  let isDown = false;
  const outbound: Outbound = {
    readJson: async () => {
      reads += 1;
      if (isDown) throw new Error('down');
      return discovery;
    },
    send: async () => ({ status: 400, json: undefined }),
  };
  const options = { tenantId: 't', redirectUri: 'https://baton.example/console/callback' };
  const read = async () => ({ issuer, audience: 'console', status: 'active' as const });
  const providers = new Set(['corporate']);
  const signIn = new ProviderSignIn({ ...options, providers, read, outbound }, () => nowMs);
  const begin = () => signIn.begin('corporate', '/', page);
  await Promise.all([begin(), begin(), begin()]);
  await begin();
  assert.equal(reads, 1);
  nowMs += discoveryBounds.keptMsMax;
  isDown = true;
  for (let n = 0; n < 20; n += 1) await assert.rejects(begin(), refusedWith('identity_provider_unavailable'));
  assert.equal(reads, 2);
  nowMs += discoveryBounds.failedMsMax;
  isDown = false;
  await begin();
  assert.equal(reads, 3);
});

test("a client's secret is sent only to the scheme, host and port for which it was entered, or that were discovered first", async () => {
  let document = discovery;
  let nowMs = 0;
  const sent: string[] = [];
  const outbound: Outbound = {
    readJson: async () => document,
    send: async (address, { headers }) => {
      sent.push(`${new URL(address).origin} ${headers['authorization'] ?? 'nothing'}`);
      return { status: 400, json: undefined };
    },
  };
  const basic = `Basic ${Buffer.from('console:key').toString('base64')}`;
  const signInTo = (secret: ProviderSecret | undefined) =>
    new ProviderSignIn(
      {
        tenantId: 't',
        redirectUri: 'https://baton.example/console/callback',
        providers: new Set(['corporate']),
        findSecret: () => secret,
        read: async () => ({ issuer, audience: 'console', status: 'active' }),
        outbound,
      },
      () => nowMs,
    );
  const attempt = async (signIn: ProviderSignIn) => {
    const { url, browser } = await signIn.begin('corporate', '/', page);
    await assert.rejects(
      signIn.finish(callbackWith(stateIn(url)), [browser]),
      refusedWith('provider_refused'),
    );
  };
  const moved = { ...discovery, token_endpoint: 'https://evil.example/token' };
  for (const address of [issuer, undefined]) {
    document = discovery;
    const signIn = signInTo({ text: 'key', address });
    await attempt(signIn);
    assert.equal(sent.pop(), `${issuer} ${basic}`);
    document = moved;
    nowMs += discoveryBounds.keptMsMax;
    await assert.rejects(signIn.begin('corporate', '/', page), refusedWith('secret_address_changed'));
    assert.deepEqual(sent, []);
  }
  await assert.rejects(
    signInTo({ text: 'key', address: issuer }).begin('corporate', '/', page),
    refusedWith('secret_address_changed'),
  );
  await attempt(signInTo({ text: 'key', address: 'https://evil.example' }));
  await attempt(signInTo(undefined));
  assert.deepEqual(sent, [`https://evil.example ${basic}`, 'https://evil.example nothing']);
});

test('each address has its own rate limit', () => {
  let nowMs = 0;
  const rates = new AddressRates(() => nowMs);
  const { burstMax, perSecond, addressesMax } = rateBounds;
  for (let n = 0; n < burstMax; n += 1) assert.ok(rates.take('one'));
  assert.ok(!rates.take('one'));
  assert.ok(rates.take('two'));
  nowMs += 1000 / perSecond;
  assert.deepEqual([rates.take('one'), rates.take('one')], [true, false]);
  nowMs += 3_600_000;
  for (let n = 0; n < burstMax; n += 1) assert.ok(rates.take('one'));
  assert.ok(!rates.take('one'), 'more than the burst was saved up');
  for (let n = 0; n < addressesMax; n += 1) rates.take(`other ${n}`);
  assert.ok(rates.take('one'), 'the oldest is forgotten');
});

test('a discovery document of another issuer, or with addresses that are not https, is rejected', async () => {
  for (const wrong of [
    { issuer: 'https://evil.example' },
    { authorization_endpoint: 'http://login.example/auth' },
    { token_endpoint: 'javascript:alert(1)' },
    { authorization_endpoint: undefined },
  ]) {
    const signIn = signInWith({ ...discovery, ...wrong }, () => ({ status: 400, json: undefined }));
    await assert.rejects(signIn.begin('corporate', '/', page), refusedWith('identity_provider_unavailable'));
  }
});

test('if the provider announces the issuer parameter, a callback without it is rejected', async () => {
  const signIn = signInWith({ ...discovery, authorization_response_iss_parameter_supported: true }, () => ({
    status: 400,
    json: undefined,
  }));
  const { url, browser } = await signIn.begin('corporate', '/', page);
  await assert.rejects(signIn.finish(callbackWith(stateIn(url)), [browser]), refusedWith('invalid_issuer'));
});

test('a grant is renewed once for concurrent callers, never for another person, and survives an outage of the provider', async () => {
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
