import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { decodeJwt, decodeProtectedHeader } from 'jose';
import { sql } from '@baton/kernel/database/sql';
import { isRevoked } from '../../issuing/revocations/revocation-list.ts';
import { startIdentity, type TestIdentity, testSigningKey } from '../../testing/identity.ts';
import { adminScope, made, makeAudience, makeTenant, readScope, writeScope } from '../../testing/objects.ts';
import { auditOf, journalOf } from '../../testing/records.ts';
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
  resource,
} from './testing/browser.ts';
import { newDevice } from './testing/device.ts';

let identity: TestIdentity;
let tenantId: string;
let person: Person;
before(async () => {
  identity = await startIdentity({ IAM_SIGNING_PRIVATE_KEY: testSigningKey(), ...oauthSettings });
  tenantId = await makeTenant(identity);
  await makeAudience(identity, tenantId, 'control-plane', [readScope, writeScope, adminScope, 'iam:people']);
  person = await makePerson(identity, tenantId);
});
after(() => identity.close());

const tokensOf = async ({ principalId }: Pick<Person, 'principalId'>) =>
  made(identity.get(`/tenants/${tenantId}/platform-access-tokens?principalId=${principalId}`));

async function isRevokedNow(token: string): Promise<boolean> {
  const { body } = await identity.request('GET', '/.well-known/revocations.json');
  return isRevoked(body, decodeJwt(token));
}

describe('the authorization code flow', () => {
  test('sends the browser to the page, whose address holds the request in the fragment only', async () => {
    const { status, location, cookie, headers } = await authorize(identity, requestOf(makePkce()));
    assert.equal(status, 303);
    assert.match(String(location), /^http:\/\/localhost:8010\/iam\/oauth2\/interaction#request=[\w-]+$/);
    assert.match(cookie, /^baton_oauth=[\w-]{43}$/);
    assert.match(
      headers.get('set-cookie') ?? '',
      /; Path=\/iam\/oauth2; Max-Age=600; HttpOnly; SameSite=Lax$/,
    );
    assert.equal(headers.get('cache-control'), 'no-store');
    assert.equal(headers.get('referrer-policy'), 'no-referrer');
  });

  test('shows the person the client, the tenant and the rights, without privileged ones', async () => {
    const { request } = await begin(
      identity,
      requestOf(makePkce(), { scope: 'iam:people control-plane:write openid' }),
    );
    const { status, body } = await read(identity, person, { request });
    assert.equal(status, 200);
    assert.deepEqual(body, {
      client: {
        id: 'baton-cli',
        name: 'Baton command line',
        kind: 'baton',
        host: null,
        redirectHost: '127.0.0.1:53682',
      },
      device: null,
      tenant: body.tenant,
      person: { id: person.principalId, name: 'Maria Lopez' },
      agents: [],
      audience: 'control-plane',
      service: 'Baton (tasks and projects)',
      scopes: [writeScope],
      workspaces: null,
      isRecent: true,
    });
    assert.equal(body.tenant.id, tenantId);
  });

  test('gives the client an access token with exactly the claims of every other one', async () => {
    const pkce = makePkce();
    const begun = await begin(identity, requestOf(pkce));
    const back = await allow(identity, person, begun);
    assert.equal(`${back.origin}${back.pathname}`, loopback);
    assert.deepEqual([...back.searchParams.keys()].sort(), ['code', 'iss', 'state']);
    assert.equal(back.searchParams.get('iss'), 'http://localhost:8010/iam');
    assert.equal(back.searchParams.get('state'), 'state-of-the-client');
    const { status, body, headers } = await redeem(identity, back.searchParams.get('code') as string, pkce);
    assert.equal(status, 200, JSON.stringify(body));
    assert.equal(headers.get('cache-control'), 'no-store');
    const { access_token: token, refresh_token: refreshToken, ...rest } = body;
    assert.deepEqual(rest, { token_type: 'Bearer', expires_in: 300, scope: `${readScope} ${writeScope}` });
    assert.match(refreshToken, /^iam_ref_[\w-]{64}$/);
    const claims = decodeJwt(token);
    assert.deepEqual(Object.keys(claims).sort(), [
      'acr',
      'aud',
      'auth_time',
      'client_id',
      'credential_id',
      'exp',
      'iat',
      'iss',
      'jti',
      'nbf',
      'principal_type',
      'scope',
      'scope_ceiling',
      'session_id',
      'sub',
      'tenant_id',
    ]);
    assert.deepEqual(
      [
        claims.sub,
        claims.aud,
        claims['tenant_id'],
        claims['principal_type'],
        (claims.exp as number) - (claims.iat as number),
      ],
      [person.principalId, 'control-plane', tenantId, 'human', 300],
    );
    assert.equal(decodeProtectedHeader(token).alg, 'RS256');
  });

  test('lists the grant among the tokens of the person; revoking it revokes its tokens', async () => {
    const own = await makePerson(identity, tenantId);
    const { access_token: token, refresh_token: refreshToken } = await connect(identity, own);
    const [grant, ...others] = await tokensOf(own);
    assert.equal(others.length, 0);
    assert.deepEqual(
      [grant.kind, grant.name, grant.audiences, grant.scopeCeiling],
      ['oauth_grant', 'Baton command line', ['control-plane'], [readScope, writeScope]],
    );
    assert.equal(decodeJwt(token)['credential_id'], grant.id);
    const rotate = `/tenants/${tenantId}/platform-access-tokens/${grant.id}:rotate`;
    assert.equal((await identity.post(rotate, {}, { 'idempotency-key': grant.id })).status, 404);
    assert.equal(await isRevokedNow(token), false);
    await identity.post(`/tenants/${tenantId}/platform-access-tokens/${grant.id}:revoke`);
    assert.equal(await isRevokedNow(token), true);
    const { status, body } = await refresh(identity, refreshToken);
    assert.deepEqual([status, body], [400, { error: 'invalid_grant' }]);
    const records = await auditOf(identity, tenantId);
    assert.ok(
      records.some(({ reason }) => reason?.startsWith('oauth:') && reason.includes('client:baton-cli')),
    );
    const events = await journalOf(identity, tenantId);
    assert.ok(
      events.some(
        ({ type, payload }) => type === 'platform_access_token.issued' && payload.kind === 'oauth_grant',
      ),
    );
  });

  test('a disabled person has no client within the next request', async () => {
    const own = await makePerson(identity, tenantId);
    const { access_token: token, refresh_token: refreshToken } = await connect(identity, own);
    await made(identity.post(`/tenants/${tenantId}/principals/${own.principalId}:disable`));
    assert.equal(await isRevokedNow(token), true);
    assert.equal((await refresh(identity, refreshToken)).body.error, 'invalid_grant');
  });

  test('of more grants of a person than allowed, the one that was not used for the longest time ends', async () => {
    const own = await makePerson(identity, tenantId);
    const strict = await identity.another({ IAM_OAUTH_GRANTS_PER_PERSON_MAX: '1' });
    const byBrowser = await connect(strict, own);
    const second = await connect(strict, own);
    assert.equal((await refresh(strict, byBrowser.refresh_token)).body.error, 'invalid_grant');
    const { user_code: userCode } = await newDevice(strict);
    await made(decide(strict, own, { userCode }));
    assert.equal((await refresh(strict, second.refresh_token)).body.error, 'invalid_grant');
    assert.equal((await tokensOf(own)).length, 1);
    await strict.close();
  });

  test('simultaneous decisions of a person leave no more grants than allowed', async () => {
    const own = await makePerson(identity, tenantId);
    const strict = await identity.another({ IAM_OAUTH_GRANTS_PER_PERSON_MAX: '2' });
    const codes = await Promise.all([1, 2, 3, 4, 5, 6].map(() => newDevice(strict)));
    await Promise.all(codes.map(({ user_code: userCode }) => made(decide(strict, own, { userCode }))));
    assert.equal((await tokensOf(own)).length, 2);
    await strict.close();
  });

  test('a refusal returns to the client as access_denied, and grants nothing', async () => {
    const own = await makePerson(identity, tenantId);
    const begun = await begin(identity, requestOf(makePkce()));
    const { redirectTo } = await made(decide(identity, own, { request: begun.request, decision: 'deny' }));
    const { location } = await open(identity, redirectTo, begun.cookie);
    assert.deepEqual(
      [
        location?.searchParams.get('error'),
        location?.searchParams.get('state'),
        location?.searchParams.get('iss'),
      ],
      ['access_denied', 'state-of-the-client', 'http://localhost:8010/iam'],
    );
    assert.deepEqual(await tokensOf(own), []);
  });

  test('the person may allow fewer scopes, and never more than requested', async () => {
    const own = await makePerson(identity, tenantId);
    const granted = await connect(identity, own, {}, { scopes: [readScope] });
    assert.equal(granted.scope, readScope);
    const { request } = await begin(identity, requestOf(makePkce(), { scope: readScope }));
    const { status, body } = await decide(identity, own, { request, scopes: [writeScope] });
    assert.deepEqual([status, body.detail], [403, 'scope_not_allowed']);
  });

  test('a request that is too long for the page is refused before it is shown', async () => {
    const state = String.fromCodePoint(0x1).repeat(1900);
    const { status, location, body } = await authorize(identity, requestOf(makePkce(), { state }));
    assert.deepEqual([status, location], [400, undefined]);
    assert.match(body, /the request is too long/);
  });

  test('without scope and resource, the client gets the default ones', async () => {
    const granted = await connect(identity, person, { scope: undefined, resource: undefined });
    assert.equal(granted.scope, `${readScope} ${writeScope}`);
  });

  test('needs a recent sign-in to allow it, and none to refuse it', async () => {
    const own = await makePerson(identity, tenantId);
    await identity.pool.run(sql`
      update browser_sessions set auth_time = now() - interval '301 s' where principal_id = ${own.principalId}`);
    const { request } = await begin(identity, requestOf(makePkce()));
    assert.equal((await made(read(identity, own, { request }))).isRecent, false);
    const { status, body } = await decide(identity, own, { request });
    assert.deepEqual([status, body.detail], [403, 'authentication_context_expired']);
    assert.equal((await decide(identity, own, { request, decision: 'deny' })).status, 200);
  });
});

describe('refresh tokens', () => {
  test('rotate; the second use of one ends the grant and every token of it', async () => {
    const own = await makePerson(identity, tenantId);
    const first = await connect(identity, own);
    const second = await made(refresh(identity, first.refresh_token));
    assert.notEqual(second.refresh_token, first.refresh_token);
    const third = await made(refresh(identity, second.refresh_token, { scope: readScope }));
    assert.equal(third.scope, readScope);
    assert.equal(decodeJwt(third.access_token)['scope'], readScope);
    const again = await refresh(identity, first.refresh_token);
    assert.deepEqual([again.status, again.body], [400, { error: 'invalid_grant' }]);
    assert.equal((await refresh(identity, third.refresh_token)).body.error, 'invalid_grant');
    assert.equal(await isRevokedNow(third.access_token), true);
    const all = await made(
      identity.get(
        `/tenants/${tenantId}/platform-access-tokens?principalId=${own.principalId}&includeRevoked=true`,
      ),
    );
    assert.deepEqual(
      all.map((one: { revokeReason: string }) => one.revokeReason),
      ['handle_reused'],
    );
  });

  test('end when their holder revokes them, with the grant', async () => {
    const own = await makePerson(identity, tenantId);
    const { access_token: token, refresh_token: refreshToken } = await connect(identity, own);
    const { status } = await identity.request('POST', '/oauth2/revoke', {
      body: new URLSearchParams({ token: refreshToken, client_id: 'baton-cli' }).toString(),
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
    });
    assert.equal(status, 200);
    assert.equal(await isRevokedNow(token), true);
  });

  test('of another resource or with wider scopes are refused', async () => {
    const { refresh_token: refreshToken } = await connect(identity, person, { scope: readScope });
    const wider = await refresh(identity, refreshToken, { scope: `${readScope} ${writeScope}` });
    assert.deepEqual([wider.status, wider.body], [400, { error: 'invalid_scope' }]);
    const other = await refresh(identity, refreshToken, { resource: 'https://elsewhere.example' });
    assert.deepEqual([other.status, other.body], [400, { error: 'invalid_target' }]);
    assert.equal((await refresh(identity, refreshToken, { resource: `${resource}/` })).status, 200);
  });
});
