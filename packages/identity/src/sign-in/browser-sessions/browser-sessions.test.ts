import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import { decodeJwt } from 'jose';
import { sql } from '@baton/kernel/database/sql';
import { isRevoked } from '../../issuing/revocations/revocation-list.ts';
import { adminHeader, startIdentity, type TestIdentity, testSigningKey } from '../../testing/identity.ts';
import { adminScope, made, makeAudience, makeTenant, readScope, writeScope } from '../../testing/objects.ts';
import { auditOf, journalOf } from '../../testing/records.ts';
import { VirtualAuthenticator } from '../passkeys/testing/authenticator.ts';
import { addPasskey, ask, makePerson, type Person, signInWith } from '../passkeys/testing/people.ts';
import { sweepOldSessions } from './old-sessions.ts';

let identity: TestIdentity;
let tenantId: string;
before(async () => {
  identity = await startIdentity({ IAM_SIGNING_PRIVATE_KEY: testSigningKey() });
  tenantId = await makeTenant(identity);
  await makeAudience(identity, tenantId, 'control-plane', [readScope, writeScope, adminScope, 'iam:people']);
});
after(() => identity.close());

const exchange = (token: string, more: object = {}, at = identity) =>
  ask(at, '/browser-sessions:exchange', { token, audience: 'control-plane', ...more });
const pathOf = ({ tenantId, principalId }: Person) =>
  `/tenants/${tenantId}/principals/${principalId}/browser-sessions`;
const listOf = async (person: Person) => (await made(identity.get(pathOf(person)))).items;

const dead = [401, { detail: 'invalid_token' }];
async function assertDead(token: string, message?: string): Promise<void> {
  const { status, body } = await exchange(token);
  assert.deepEqual([status, body], dead, message);
}

/** The claims of an access token that are compared with the list of revocations. */
async function claimsOf(token: string) {
  const { accessToken } = await made(exchange(token));
  return decodeJwt(accessToken) as Parameters<typeof isRevoked>[1] & Record<string, unknown>;
}

async function isRevokedNow(claims: Parameters<typeof isRevoked>[1], at = identity): Promise<boolean> {
  return isRevoked((await at.request('GET', '/.well-known/revocations.json')).body, claims);
}

describe('browser-sessions:exchange', () => {
  test('issues a token of one audience with exactly its claims', async () => {
    const { token, session, principalId } = await makePerson(identity, tenantId);
    const { status, body, headers } = await exchange(token, { scopes: [writeScope, readScope] });
    assert.equal(status, 200);
    assert.equal(headers.get('cache-control'), 'no-store');
    const { accessToken, sessionId, ...rest } = body;
    assert.deepEqual(rest, {
      tokenType: 'Bearer',
      expiresIn: 300,
      audience: 'control-plane',
      scope: [readScope, writeScope],
    });
    const { iat, nbf, exp, jti, ...claims } = decodeJwt(accessToken);
    assert.deepEqual(claims, {
      iss: 'http://localhost:8010/iam',
      sub: principalId,
      tenant_id: tenantId,
      aud: 'control-plane',
      scope: `${readScope} ${writeScope}`,
      scope_ceiling: [adminScope, readScope, writeScope],
      principal_type: 'human',
      credential_id: session.id,
      client_id: 'baton-console',
      session_id: sessionId,
      auth_time: session.authTime,
      acr: 'phr',
    });
    assert.deepEqual([nbf, exp], [iat, (iat as number) + 300]);
    assert.match(jti as string, /^[\w-]{36}$/);
    const audited = (await auditOf(identity, tenantId)).at(-1);
    assert.deepEqual(
      [audited?.action, audited?.actor_ref, audited?.resource_type, audited?.resource_id, audited?.outcome],
      ['browser_sessions.exchange', principalId, 'browser_session', session.id, 'allowed'],
    );
    assert.match(audited?.reason ?? '', /^session:[0-9a-f]{12} audience:control-plane session:/);
  });

  test('grants no privileged scope, also to a member of its group, and all others to an empty request', async () => {
    const { token, principalId } = await makePerson(identity, tenantId);
    const group = await made(
      identity.post(`/tenants/${tenantId}/groups`, { key: 'people-admins', name: 'Administrators' }),
    );
    await made(identity.post(`/tenants/${tenantId}/groups/${group.id}/members`, { principalId }));
    const { scope } = (await exchange(token)).body;
    assert.deepEqual(scope, [adminScope, readScope, writeScope]);
    const denied = await exchange(token, { scopes: ['iam:people'] });
    assert.deepEqual([denied.status, denied.body], [403, { detail: 'scope_not_allowed' }]);
    const elsewhere = await exchange(token, { audience: 'unknown', scopes: ['iam:people'] });
    assert.deepEqual([elsewhere.status, elsewhere.body], [403, { detail: 'audience_not_allowed' }]);
    const reasons = (await auditOf(identity, tenantId)).slice(-2).map(({ reason }) => reason);
    assert.match(
      reasons.join(),
      /audience:control-plane scope_not_allowed.*audience:unknown audience_not_allowed/,
    );
  });

  test('a session is no bearer token, and no platform access token', async () => {
    const { token } = await makePerson(identity, tenantId);
    const authorization = `Bearer ${token}`;
    for (const path of ['/scim/v2/Users', '/api/v1/tenants'])
      assert.equal((await identity.request('GET', path, { headers: { authorization } })).status, 401);
    for (const [action, more] of [
      ['exchange', { audience: 'control-plane' }],
      ['introspect', {}],
      ['revoke-self', {}],
    ] as const) {
      const answer = await ask(identity, `/platform-access-tokens:${action}`, { token, ...more });
      assert.deepEqual([answer.status, answer.body], dead);
    }
    assert.equal((await exchange(token)).status, 200);
  });

  test('unknown, wrong and dead sessions have the same response; the audit record has the reason', async () => {
    for (const token of ['x', `iam_ses_${'0'.repeat(12)}_${'x'.repeat(43)}`]) await assertDead(token);
    const own = await makeTenant(identity);
    await makeAudience(identity, own);
    const faults: Record<string, (person: Person) => Promise<unknown>> = {
      wrong_secret: async () => undefined,
      session_ended: ({ session }) =>
        identity.pool.run(sql`update browser_sessions set ended_at = now() where id = ${session.id}`),
      session_expired: ({ session }) =>
        identity.pool.run(
          sql`update browser_sessions set expires_at = now() - interval '1 ms' where id = ${session.id}`,
        ),
      membership_not_active: ({ principalId }) =>
        identity.pool.run(
          sql`update memberships set status = 'disabled' where principal_id = ${principalId}`,
        ),
      principal_not_active: ({ principalId }) =>
        identity.pool.run(sql`update principals set status = 'paused' where id = ${principalId}`),
      identity_disabled: ({ principalId }) =>
        identity.pool.run(
          sql`update external_identities set status = 'disabled' where principal_id = ${principalId}`,
        ),
      tenant_not_active: () => identity.patch(`/tenants/${own}`, { status: 'disabled' }),
    };
    for (const [reason, put] of Object.entries(faults)) {
      const person = await makePerson(identity, own);
      await put(person);
      await assertDead(reason === 'wrong_secret' ? `${person.token}x` : person.token, reason);
      if (reason === 'wrong_secret') continue;
      const audited = (await auditOf(identity, own)).at(-1);
      assert.deepEqual([audited?.action, audited?.outcome], ['browser_sessions.exchange', 'denied']);
      assert.ok(audited?.reason.endsWith(` ${reason}`), `${audited?.reason}`);
    }
  });

  test('an idle session expires after 12 hours, a used one after 7 days', async () => {
    const person = await makePerson(identity, tenantId);
    const { session } = person;
    const hours = (from: string, to: string) => Math.round((Date.parse(to) - Date.parse(from)) / 3_600_000);
    assert.deepEqual(
      [hours(session.createdAt, session.expiresAt), hours(session.createdAt, session.idleExpiresAt)],
      [168, 12],
    );
    const age = (interval: string) =>
      identity.pool.run(sql`
        update browser_sessions set last_used_at = now() - ${interval}::interval where id = ${session.id}`);
    await age('11 hours 59 minutes');
    assert.equal((await exchange(person.token)).status, 200);
    assert.equal(hours((await listOf(person))[0].idleExpiresAt, new Date().toISOString()), -12, 'used now');
    await age('12 hours');
    await assertDead(person.token);
    assert.deepEqual(await listOf(person), []);
    const short = await identity.another({
      IAM_BROWSER_SESSION_IDLE_SECONDS: '60',
      IAM_BROWSER_SESSION_MAX_SECONDS: '120',
    });
    const brief = (await makePerson(short, tenantId)).session;
    const seconds = (to: string) => (Date.parse(to) - Date.parse(brief.createdAt)) / 1000;
    assert.deepEqual([seconds(brief.idleExpiresAt), seconds(brief.expiresAt)], [60, 120]);
  });

  test('counts failures of an address and of a session', async () => {
    const strict = await identity.another({ IAM_FAILURES_PER_ADDRESS_MAX: '1' });
    const wrong = `iam_ses_${'0'.repeat(12)}_x`;
    assert.equal((await exchange(wrong, {}, strict)).status, 401);
    assert.equal((await exchange(wrong, {}, strict)).status, 429);
    const paths = ['list', 'revoke', 'revoke-others', 'revoke-self'];
    for (const path of paths) {
      const more = path === 'revoke' ? { browserSessionId: randomUUID() } : {};
      const answer = await ask(strict, `/browser-sessions:${path}`, { token: wrong, ...more });
      assert.deepEqual([answer.status, answer.body], [429, { detail: 'rate_limited' }], path);
    }
    const guarded = await identity.another({ IAM_FAILURES_PER_CREDENTIAL_MAX: '1' });
    const { token } = await makePerson(identity, tenantId);
    assert.equal((await exchange(`${token}x`, {}, guarded)).status, 401);
    assert.equal((await exchange(`${token}x`, {}, guarded)).status, 429);
    assert.equal((await exchange(token, {}, guarded)).status, 200, 'the right one always passes');
  });
});

describe('a browser session ends, with its access tokens,', () => {
  test('by its holder', async () => {
    const { token, session } = await makePerson(identity, tenantId);
    const claims = await claimsOf(token);
    assert.equal(await isRevokedNow(claims), false);
    assert.equal((await ask(identity, '/browser-sessions:revoke-self', { token })).status, 204);
    await assertDead(token);
    assert.equal(await isRevokedNow(claims), true);
    const again = await ask(identity, '/browser-sessions:revoke-self', { token });
    assert.deepEqual([again.status, again.body], dead);
    const event = (await journalOf(identity, tenantId)).at(-1);
    assert.deepEqual(
      [event.type, event.aggregate_id, event.payload.reason],
      ['browser_session.revoked', session.id, 'logout'],
    );
    const wrong = `iam_ses_${'0'.repeat(12)}_x`;
    assert.equal((await ask(identity, '/browser-sessions:revoke-self', { token: wrong })).status, 401);
  });

  test('by an administrator, once', async () => {
    const person = await makePerson(identity, tenantId);
    const claims = await claimsOf(person.token);
    const { token: other } = (await signInWith(identity, person.authenticator)).body;
    const path = `${pathOf(person)}/${person.session.id}:revoke`;
    assert.equal((await listOf(person)).length, 2);
    for (let time = 0; time < 2; time += 1)
      assert.equal((await identity.post(`${path}?reason=lost%20laptop`)).status, 204);
    await assertDead(person.token);
    assert.equal(await isRevokedNow(claims), true);
    assert.equal((await exchange(other)).status, 200, 'the other session lives');
    assert.equal(await isRevokedNow(await claimsOf(other)), false);
    const events = (await journalOf(identity, tenantId)).filter(
      ({ type, aggregate_id }) => type === 'browser_session.revoked' && aggregate_id === person.session.id,
    );
    assert.deepEqual(
      events.map(({ payload }) => payload.reason),
      ['lost laptop'],
    );
    assert.equal((await listOf(person)).length, 1);
  });

  test('at every process within a second of the revocation', async () => {
    const other = await identity.another();
    const person = await makePerson(identity, tenantId);
    const claims = await claimsOf(person.token);
    assert.equal(await isRevokedNow(claims, other), false);
    await made(identity.post(`/tenants/${tenantId}/principals/${person.principalId}:disable`));
    assert.equal(await isRevokedNow(claims), true);
    const { status } = await exchange(person.token, {}, other);
    assert.equal(status, 401);
  });

  test('when its person is disabled; enabling them revives none', async () => {
    const person = await makePerson(identity, tenantId);
    const claims = await claimsOf(person.token);
    const path = `/tenants/${tenantId}/principals/${person.principalId}`;
    await made(identity.post(`${path}:disable`));
    await assertDead(person.token);
    assert.equal(await isRevokedNow(claims), true);
    await made(identity.post(`${path}:enable`));
    await assertDead(person.token);
    assert.equal((await signInWith(identity, person.authenticator)).status, 200);
  });

  test('when its passkey is removed', async () => {
    const person = await makePerson(identity, tenantId);
    const phone = new VirtualAuthenticator();
    const { id: passkeyId } = await made(addPasskey(identity, person.token, phone));
    const { token } = (await signInWith(identity, phone)).body;
    const claims = await claimsOf(token);
    await made(ask(identity, '/passkeys:list', { token: person.token }));
    await ask(identity, '/passkeys:remove', { token: person.token, passkeyId });
    await assertDead(token);
    assert.equal(await isRevokedNow(claims), true);
  });

  test('when the person begins a 21st one: the oldest is replaced', async () => {
    const person = await makePerson(identity, tenantId);
    const tokens = [person.token];
    for (let session = 1; session < 20; session += 1)
      tokens.push((await signInWith(identity, person.authenticator)).body.token);
    assert.equal((await exchange(person.token)).status, 200);
    const answers = await Promise.all(
      Array.from({ length: 3 }, () => signInWith(identity, person.authenticator)),
    );
    assert.deepEqual(
      answers.map(({ status }) => status),
      [200, 200, 200],
    );
    for (const token of tokens.slice(0, 3)) await assertDead(token);
    assert.equal((await exchange(tokens[3] as string)).status, 200);
    assert.equal((await listOf(person)).length, 20);
    const [event] = (await journalOf(identity, tenantId)).filter(
      ({ type, aggregate_id }) => type === 'browser_session.revoked' && aggregate_id === person.session.id,
    );
    assert.equal(event.payload.reason, 'replaced');
  });
});

test('the sessions of a person are listed for an administrator, without their secrets', async () => {
  const person = await makePerson(identity, tenantId);
  const [listed] = await listOf(person);
  assert.deepEqual(listed, person.session);
  const unknown = `/tenants/${tenantId}/principals/${randomUUID()}/browser-sessions`;
  assert.equal((await identity.get(unknown)).body.detail, 'principal_not_found');
  for (const [of, id] of [
    [person, randomUUID()],
    [await makePerson(identity, tenantId), person.session.id],
    [{ ...person, tenantId: await makeTenant(identity) }, person.session.id],
  ] as const) {
    const path = `/api/v1${pathOf(of)}/${id}:revoke`;
    const answer = await identity.request('POST', path, { headers: adminHeader });
    assert.deepEqual([answer.status, answer.body], [404, { detail: 'browser_session_not_found' }]);
  }
});

describe('the own sessions of a person', () => {
  const own = (action: string, body: object) => ask(identity, `/browser-sessions:${action}`, body);

  test('are listed with the presented one, and without secrets', async () => {
    const person = await makePerson(identity, tenantId);
    const { token, session } = await made(signInWith(identity, person.authenticator));
    const { status, body } = await own('list', { token });
    assert.equal(status, 200);
    assert.deepEqual(body, { items: [session, person.session], currentId: session.id });
    await makePerson(identity, tenantId);
    assert.equal((await made(own('list', { token: person.token }))).items.length, 2, 'only theirs');
    assert.deepEqual((await own('list', { token: `${token}x` })).body, { detail: 'invalid_token' });
  });

  test('are ended one by one, once, in the name of the person', async () => {
    const person = await makePerson(identity, tenantId);
    const { token } = (await signInWith(identity, person.authenticator)).body;
    const claims = await claimsOf(person.token);
    const order = { token, browserSessionId: person.session.id };
    for (let time = 0; time < 2; time += 1) assert.equal((await own('revoke', order)).status, 204);
    await assertDead(person.token);
    assert.equal(await isRevokedNow(claims), true);
    assert.equal((await exchange(token)).status, 200, 'the other session lives');
    const events = (await journalOf(identity, tenantId)).filter(
      ({ type, aggregate_id }) => type === 'browser_session.revoked' && aggregate_id === person.session.id,
    );
    assert.deepEqual(
      events.map(({ payload }) => payload.reason),
      ['revoked'],
    );
    const audited = (await auditOf(identity, tenantId)).findLast(
      ({ action }) => action === 'browser_sessions.revoke',
    );
    assert.deepEqual([audited?.actor_ref, audited?.resource_id], [person.principalId, person.session.id]);
  });

  test('do not include those of others', async () => {
    const [person, other] = [await makePerson(identity, tenantId), await makePerson(identity, tenantId)];
    const elsewhere = await makePerson(identity, await makeTenant(identity));
    for (const browserSessionId of [other.session.id, elsewhere.session.id, randomUUID()]) {
      const answer = await own('revoke', { token: person.token, browserSessionId });
      assert.deepEqual([answer.status, answer.body], [404, { detail: 'browser_session_not_found' }]);
    }
    assert.equal((await own('revoke-others', { token: person.token })).status, 204);
    for (const { token } of [person, other]) assert.equal((await exchange(token)).status, 200);
    assert.equal((await own('list', { token: elsewhere.token })).status, 200);
  });

  test('are all ended but the presented one', async () => {
    const person = await makePerson(identity, tenantId);
    const tokens = [];
    for (let n = 0; n < 3; n += 1) tokens.push((await signInWith(identity, person.authenticator)).body.token);
    const [token, ...others] = tokens as [string, ...string[]];
    const claims = await claimsOf(token);
    assert.equal((await own('revoke-others', { token, reason: 'lost phone' })).status, 204);
    for (const one of [person.token, ...others]) await assertDead(one);
    assert.equal((await exchange(token)).status, 200);
    assert.equal(await isRevokedNow(claims), false);
    assert.deepEqual(
      (await made(own('list', { token }))).items.map(({ id }: { id: string }) => id),
      [(await made(own('list', { token }))).currentId],
    );
    const { payload } = (await journalOf(identity, tenantId)).at(-1);
    assert.equal(payload.reason, 'lost phone');
    await assertDead(person.token);
    assert.equal((await own('revoke-others', { token: person.token })).status, 401);
  });

  test('are not ended by an old sign-in, so that a thief of a session cannot sign out the person', async () => {
    const person = await makePerson(identity, tenantId);
    const { token, session } = await made(signInWith(identity, person.authenticator));
    await identity.pool.run(sql`
      update browser_sessions set auth_time = auth_time - interval '301 s' where id = ${person.session.id}`);
    const stolen = person.token;
    for (const [act, body] of [
      ['revoke', { browserSessionId: session.id }],
      ['revoke', { browserSessionId: randomUUID() }],
      ['revoke-others', {}],
      ['revoke-others', { withThis: false }],
    ] as const) {
      const answer = await own(act, { token: stolen, ...body });
      assert.deepEqual([answer.status, answer.body], [403, { detail: 'authentication_context_expired' }]);
    }
    const denied = (await auditOf(identity, tenantId)).filter(
      ({ outcome, resource_id }) => outcome === 'denied' && resource_id === person.session.id,
    );
    assert.deepEqual(
      denied.map(({ action, actor_ref }) => [action, actor_ref]),
      Array(4).fill(['browser_sessions.revoke', person.principalId]),
    );
    for (const one of [token, stolen]) assert.equal((await exchange(one)).status, 200);
  });

  test('are ended by an old sign-in together with the presented one, or the presented one alone', async () => {
    const [person, other] = [await makePerson(identity, tenantId), await makePerson(identity, tenantId)];
    const { token } = await made(signInWith(identity, person.authenticator));
    await identity.pool.run(sql`update browser_sessions set auth_time = auth_time - interval '301 s'
      where principal_id in (${person.principalId}, ${other.principalId})`);
    const everywhere = { token: person.token, reason: 'logout', withThis: true };
    assert.equal((await own('revoke-others', everywhere)).status, 204);
    for (const one of [person.token, token]) await assertDead(one);
    const { payload } = (await journalOf(identity, tenantId)).at(-1);
    assert.equal(payload.reason, 'logout');
    const alone = { token: other.token, browserSessionId: other.session.id };
    assert.equal((await own('revoke', alone)).status, 204);
    await assertDead(other.token);
  });

  test('of two sessions that end each other at the same time, one remains', async () => {
    const person = await makePerson(identity, tenantId);
    for (let round = 0; round < 5; round += 1) {
      const tokens = [
        (await signInWith(identity, person.authenticator)).body.token,
        (await signInWith(identity, person.authenticator)).body.token,
      ] as string[];
      const answers = await Promise.all(tokens.map((token) => own('revoke-others', { token })));
      assert.deepEqual(answers.map(({ status }) => status).sort(), [204, 401]);
      const winner = answers.findIndex(({ status }) => status === 204);
      assert.equal((await exchange(tokens[winner] as string)).status, 200);
      await assertDead(tokens[1 - winner] as string);
    }
  });
});

test('sessions that expired more than 30 days ago are deleted, although their person never signs in again', async () => {
  const [person, other] = [await makePerson(identity, tenantId), await makePerson(identity, tenantId)];
  await signInWith(identity, other.authenticator);
  await identity.pool.run(sql`
    update browser_sessions set expires_at = now() - interval '31 days'
    where id in (${person.session.id}, ${other.session.id})`);
  await sweepOldSessions(identity.pool);
  for (const [{ principalId }, expected] of [
    [person, 0],
    [other, 1],
  ] as const) {
    const row = await identity.pool.row<{ count: number }>(
      sql`select count(*) as count from browser_sessions where principal_id = ${principalId}`,
    );
    assert.equal(row?.count, expected);
  }
  await assertDead(person.token);
});
