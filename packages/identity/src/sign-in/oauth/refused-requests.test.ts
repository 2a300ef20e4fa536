import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { startIdentity, type TestIdentity, testSigningKey } from '../../testing/identity.ts';
import { made, makeAudience, makeTenant, readScope, writeScope } from '../../testing/objects.ts';
import { makePerson, type Person } from '../passkeys/testing/people.ts';
import {
  allow,
  authorize,
  begin,
  connect,
  decide,
  loopback,
  makePkce,
  oauthSettings,
  open,
  read,
  redeem,
  refresh,
  requestOf,
  sendTokenForm,
} from './testing/browser.ts';

let identity: TestIdentity;
let tenantId: string;
let person: Person;
before(async () => {
  identity = await startIdentity({ IAM_SIGNING_PRIVATE_KEY: testSigningKey(), ...oauthSettings });
  tenantId = await makeTenant(identity);
  await makeAudience(identity, tenantId, 'control-plane', [readScope, writeScope]);
  person = await makePerson(identity, tenantId);
});
after(() => identity.close());

async function newCode(who: Pick<Person, 'token'> = person, more = {}) {
  const pkce = makePkce();
  const back = await allow(identity, who, await begin(identity, requestOf(pkce, more)));
  return { pkce, code: back.searchParams.get('code') as string };
}

const invalidGrant = [400, { error: 'invalid_grant' }];

describe('GET /oauth2/authorize', () => {
  for (const [name, params] of Object.entries({
    'an unknown client': { client_id: 'nobody' },
    'no client': { client_id: undefined },
    'another redirect address': { redirect_uri: 'https://evil.example/callback' },
    'another path on the loopback address': { redirect_uri: 'http://127.0.0.1:53682/other' },
    'a host that begins with the loopback address': {
      redirect_uri: 'http://127.0.0.1.evil.example/callback',
    },
    'credentials in the redirect address': { redirect_uri: 'http://127.0.0.1@evil.example/callback' },
    'a script as the redirect address': { redirect_uri: 'javascript:alert(1)' },
    'no redirect address': { redirect_uri: undefined },
  }))
    test(`shows a page, and redirects nowhere, for ${name}`, async () => {
      const { status, location, body, headers } = await authorize(identity, requestOf(makePkce(), params));
      assert.deepEqual([status, location], [400, undefined], body);
      assert.match(headers.get('content-type') ?? '', /^text\/html/);
      assert.match(headers.get('content-security-policy') ?? '', /frame-ancestors 'none'/);
    });

  test('escapes what it shows of a request', async () => {
    const { body } = await authorize(
      identity,
      requestOf(makePkce(), { client_id: '<img src=x onerror=alert(1)>' }),
    );
    assert.ok(!body.includes('<img'), body);
  });

  for (const [name, params, error] of [
    ['no PKCE', { code_challenge: undefined, code_challenge_method: undefined }, 'invalid_request'],
    ['the plain method of PKCE', { code_challenge_method: 'plain' }, 'invalid_request'],
    ['a challenge without a method', { code_challenge_method: undefined }, 'invalid_request'],
    ['a response type that returns tokens', { response_type: 'token' }, 'unsupported_response_type'],
    ['a hybrid response type', { response_type: 'code id_token' }, 'unsupported_response_type'],
    ['an unknown resource', { resource: 'https://elsewhere.example' }, 'invalid_target'],
    ['no interaction', { prompt: 'none' }, 'login_required'],
  ] as const)
    test(`returns ${error} to the client for ${name}, with iss`, async () => {
      const { status, location } = await authorize(identity, requestOf(makePkce(), params));
      assert.equal(status, 303);
      const back = new URLSearchParams(location?.search || location?.hash.slice(1));
      assert.deepEqual(
        [`${location?.origin}${location?.pathname}`, back.get('error'), back.get('iss'), back.get('state')],
        [loopback, error, 'http://localhost:8010/iam', 'state-of-the-client'],
      );
    });

  test('the port of the loopback address may differ', async () => {
    const { status, location } = await authorize(
      identity,
      requestOf(makePkce(), { redirect_uri: 'http://127.0.0.1:1/callback' }),
    );
    assert.equal(status, 303);
    assert.equal(location?.host, 'localhost:8010');
  });
});

describe('the decision', () => {
  test('is accepted only in the browser that began the request', async () => {
    const begun = await begin(identity, requestOf(makePkce()));
    const other = await begin(identity, requestOf(makePkce()));
    const { redirectTo } = await made(decide(identity, person, { request: begun.request }));
    for (const cookie of [undefined, other.cookie, begun.cookie.replace(/=.*/, '=x')]) {
      const { status, location } = await open(identity, redirectTo, cookie);
      assert.deepEqual([status, location], [400, undefined], String(cookie));
    }
    const { location } = await open(identity, redirectTo, begun.cookie);
    assert.ok(location?.searchParams.get('code'));
  });

  test('counts once', async () => {
    const begun = await begin(identity, requestOf(makePkce()));
    const { redirectTo } = await made(decide(identity, person, { request: begun.request }));
    assert.equal((await open(identity, redirectTo, begun.cookie)).status, 303);
    const { status, location, body } = await open(identity, redirectTo, begun.cookie);
    assert.deepEqual([status, location], [400, undefined]);
    assert.match(body, /decided before/);
  });

  test('can be neither forged, nor taken from another request', async () => {
    const begun = await begin(identity, requestOf(makePkce()));
    const { redirectTo } = await made(decide(identity, person, { request: begun.request }));
    const address = new URL(redirectTo);
    const right = address.searchParams.get('decision') as string;
    for (const decision of ['', 'x', begun.request, `${right.slice(0, -2)}AA`, right.slice(0, 100)]) {
      address.searchParams.set('decision', decision);
      const { status, location } = await open(identity, String(address), begun.cookie);
      assert.deepEqual([status, location], [400, undefined], decision);
    }
    const { status } = await read(identity, person, { request: right });
    assert.equal(status, 422);
  });

  test('needs a live session, and exactly one request', async () => {
    const { request } = await begin(identity, requestOf(makePkce()));
    for (const token of ['x', `iam_ses_0123456789ab_${'x'.repeat(43)}`]) {
      for (const { status, body } of [
        await decide(identity, { token }, { request }),
        await read(identity, { token }, { request }),
      ])
        assert.deepEqual([status, body.detail], [401, 'invalid_token']);
    }
    assert.equal((await decide(identity, person, {})).status, 422);
    assert.equal((await decide(identity, person, { request, userCode: 'BCDF-GHJK' })).status, 422);
    const wrong = await decide(identity, person, { request: `${request.slice(0, -2)}AA` });
    assert.deepEqual([wrong.status, wrong.body.detail], [422, 'invalid_authorization_request']);
  });

  test('is refused if the tenant offers none of the scopes', async () => {
    const { request } = await begin(identity, requestOf(makePkce(), { scope: 'other:read' }));
    for (const { status, body } of [
      await decide(identity, person, { request }),
      await read(identity, person, { request }),
    ])
      assert.deepEqual([status, body.detail], [403, 'audience_not_allowed']);
  });

  test('grants nothing to a person who was disabled after it', async () => {
    const own = await makePerson(identity, tenantId);
    const begun = await begin(identity, requestOf(makePkce()));
    const { redirectTo } = await made(decide(identity, own, { request: begun.request }));
    await identity.post(`/tenants/${tenantId}/principals/${own.principalId}:disable`);
    const { status, location } = await open(identity, redirectTo, begun.cookie);
    assert.deepEqual([status, location], [400, undefined]);
  });
});

describe('POST /oauth2/token', () => {
  test('refuses a code with a wrong verifier, redirect address, client or none of them', async () => {
    const { pkce, code } = await newCode();
    for (const more of [
      { code_verifier: makePkce().verifier },
      { redirect_uri: 'http://127.0.0.1:1/callback' },
      { code: 'x'.repeat(43) },
    ]) {
      const { status, body } = await redeem(identity, code, pkce, more);
      assert.deepEqual([status, body], invalidGrant, JSON.stringify(more));
    }
    const without = await redeem(identity, code, pkce, { code_verifier: undefined });
    assert.deepEqual([without.status, without.body], invalidGrant);
    const nobody = await redeem(identity, code, pkce, { client_id: 'nobody' });
    assert.deepEqual([nobody.status, nobody.body], [401, { error: 'invalid_client' }]);
    assert.equal((await redeem(identity, code, pkce, { client_secret: 'x' })).status, 400);
    assert.equal((await redeem(identity, code, pkce)).status, 200);
  });

  test('a code that is used twice ends its grant', async () => {
    const { pkce, code } = await newCode();
    const first = await made(redeem(identity, code, pkce));
    const again = await redeem(identity, code, pkce);
    assert.deepEqual([again.status, again.body], invalidGrant);
    assert.deepEqual([(await refresh(identity, first.refresh_token)).status], [400]);
  });

  test('of simultaneous uses of a code at most one succeeds, and the grant ends', async () => {
    const own = await makePerson(identity, tenantId);
    const { pkce, code } = await newCode(own);
    const codes = await Promise.all([1, 2, 3, 4].map(() => redeem(identity, code, pkce)));
    assert.ok(codes.filter(({ status }) => status === 200).length <= 1);
    const live = await made(
      identity.get(`/tenants/${tenantId}/platform-access-tokens?principalId=${own.principalId}`),
    );
    assert.deepEqual(live, []);
  });

  test('nobody can present a grant, or a refresh token as anything else', async () => {
    const { refresh_token: token } = await connect(identity, person);
    for (const form of [
      {
        grant_type: 'authorization_code',
        code: token.replace('iam_ref_', ''),
        code_verifier: makePkce().verifier,
        redirect_uri: loopback,
      },
      { grant_type: 'refresh_token', refresh_token: token.replace('iam_ref_', '') },
      { grant_type: 'refresh_token', refresh_token: `iam_ref_${token}` },
    ]) {
      const { status, body } = await sendTokenForm(identity, { client_id: 'baton-cli', ...form });
      assert.deepEqual([status, body], invalidGrant, form.grant_type);
    }
  });
});

describe('the page', () => {
  test('loads nothing, is framed by nobody, and runs only its own script', async () => {
    for (const path of ['/oauth2/interaction', '/oauth2/device']) {
      const { status, body, headers } = await open(identity, path);
      assert.equal(status, 200);
      const policy = headers.get('content-security-policy') ?? '';
      assert.match(
        policy,
        /^default-src 'none'; script-src 'sha256-[^']+'; style-src 'sha256-[^']+'; connect-src 'self'; /,
      );
      assert.match(policy, /frame-ancestors 'none'/);
      assert.equal(headers.get('x-frame-options'), 'DENY');
      assert.equal(headers.get('cache-control'), 'no-store');
      assert.ok(!/innerHTML|document\.write|eval\(/.test(body));
    }
  });
});
