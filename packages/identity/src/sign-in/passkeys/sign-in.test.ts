import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import { sql } from '@baton/kernel/database/sql';
import { startIdentity, type TestIdentity, testSigningKey } from '../../testing/identity.ts';
import { made, makeAudience, makeTenant, makeToken } from '../../testing/objects.ts';
import { auditOf, journalTypes, storeCounts } from '../../testing/records.ts';
import { until } from '../../testing/waiting.ts';
import { type Deviations, VirtualAuthenticator } from './testing/authenticator.ts';
import { addPasskey, ask, makePerson, type Person, signInWith } from './testing/people.ts';

let identity: TestIdentity;
let tenantId: string;
before(async () => {
  identity = await startIdentity({ IAM_SIGNING_PRIVATE_KEY: testSigningKey() });
  tenantId = await makeTenant(identity);
  await makeAudience(identity, tenantId);
});
after(() => identity.close());

const refusal = [401, { detail: 'invalid_passkey' }];

/** The reason for the newest denied sign-in; the record is written after the response. */
async function reasonOf({ principalId }: Person): Promise<string> {
  const denied = async () =>
    (await auditOf(identity, tenantId)).filter(
      ({ action, outcome, actor_ref }) =>
        action === 'passkeys.sign_in' && outcome === 'denied' && actor_ref === principalId,
    );
  await until(async () => (await denied()).length > 0, 'the denial is audited');
  return (await denied()).at(-1)?.reason ?? '';
}

describe('a sign-in by a passkey', () => {
  test('needs no name: begins a session, and records how the person signed in', async () => {
    for (const [isSynced, acr, amr] of [
      [true, 'phr', ['mfa', 'swk', 'user']],
      [false, 'phrh', ['hwk', 'mfa', 'user']],
    ] as const) {
      const person = await makePerson(identity, tenantId, new VirtualAuthenticator({ isSynced }));
      const answer = await signInWith(identity, person.authenticator);
      assert.equal(answer.status, 200, JSON.stringify(answer.body));
      assert.equal(answer.headers.get('cache-control'), 'no-store');
      const { token, session, displayName } = answer.body;
      assert.match(token, /^iam_ses_[0-9a-f]{12}_[\w-]{43}$/);
      assert.deepEqual(
        [session.tenantId, session.principalId, session.acr, session.amr, displayName],
        [tenantId, person.principalId, acr, amr, 'Maria Lopez'],
      );
      const context = await identity.pool.row<Record<string, unknown>>(sql`
        select c.issuer, c.acr, c.amr, c.source, e.source as identity_source, e.issuer as identity_issuer,
          e.last_acr, e.last_sign_in_at is not null as is_used
        from authentication_contexts c join external_identities e on e.id = c.external_identity_id
        where c.principal_id = ${person.principalId} order by c.recorded_at desc limit 1`);
      const issuer = 'http://localhost:8010/iam/passkeys';
      assert.deepEqual(context, {
        issuer,
        acr,
        amr,
        source: 'passkey',
        identity_source: 'passkey',
        identity_issuer: issuer,
        last_acr: acr,
        is_used: true,
      });
    }
    assert.ok((await journalTypes(identity, tenantId)).includes('browser_session.started'));
  });

  test('works with Ed25519, and with an authenticator that counts', async () => {
    const authenticator = new VirtualAuthenticator({ algorithm: 'EdDSA', counts: true });
    const person = await makePerson(identity, tenantId, authenticator);
    for (let use = 0; use < 2; use += 1)
      assert.equal((await signInWith(identity, person.authenticator)).status, 200);
    const row = await identity.pool.row<{ sign_count: number; is_used: boolean }>(sql`
      select sign_count, last_used_at is not null as is_used from passkeys
      where principal_id = ${person.principalId}`);
    assert.deepEqual(row, { sign_count: 2, is_used: true });
  });

  test('allows issuing platform access tokens for 300 s, and not later', async () => {
    const person = await makePerson(identity, tenantId);
    await signInWith(identity, person.authenticator);
    await makeToken(identity, tenantId, person.principalId);
    await identity.pool.run(sql`
      update authentication_contexts set recorded_at = recorded_at - interval '301 s'
      where principal_id = ${person.principalId}`);
    const path = `/tenants/${tenantId}/principals/${person.principalId}/platform-access-tokens`;
    const wanted = { name: 'x', audiences: ['control-plane'] };
    const late = await identity.post(path, wanted, { 'idempotency-key': 'late-passkey' });
    assert.deepEqual([late.status, late.body.detail], [403, 'authentication_context_expired']);
    await signInWith(identity, person.authenticator);
    assert.equal((await identity.post(path, wanted, { 'idempotency-key': 'fresh-passkey' })).status, 201);
  });

  test('options: any passkey of this relying party, with user verification; nothing is stored', async () => {
    const before = await storeCounts(identity);
    const { publicKey, state } = await made(ask(identity, '/passkeys:sign-in-options'));
    assert.deepEqual(
      [publicKey.rpId, publicKey.userVerification, publicKey.allowCredentials ?? [], publicKey.timeout],
      ['localhost', 'required', [], 300_000],
    );
    assert.ok(Buffer.from(publicKey.challenge, 'base64url').length === 32 && state.length < 1000);
    assert.deepEqual(await storeCounts(identity), before);
  });
});

describe('a passkey response is refused with one code, and the audit record has the reason', () => {
  const deviations: Record<string, [Deviations, reason: string]> = {
    'from a page of another origin': [{ origin: 'https://evil.example' }, 'wrong_origin'],
    'from a page of another port': [{ origin: 'http://localhost:9999' }, 'wrong_origin'],
    'from a frame in a page of another origin': [{ crossOrigin: true }, 'embedded_page'],
    'for another relying party': [{ rpId: 'evil.example' }, 'wrong_relying_party'],
    'for another challenge': [{ challenge: 'AAAA' }, 'wrong_challenge'],
    'for a registration': [{ type: 'webauthn.create' }, 'malformed'],
    'without user verification': [{ userVerified: false }, 'user_not_verified'],
    'without a user': [{ userPresent: false }, 'user_not_present'],
    'with the handle of somebody else': [{ userHandle: 'AAAA' }, 'another_user_handle'],
    'signed by another key': [
      { key: generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey },
      'wrong_signature',
    ],
  };
  for (const [name, [deviation, reason]] of Object.entries(deviations))
    test(name, async () => {
      const person = await makePerson(identity, tenantId);
      const { status, body } = await signInWith(identity, person.authenticator, deviation);
      assert.deepEqual([status, body], refusal);
      assert.equal(await reasonOf(person), reason);
    });

  test("with somebody else's credential id", async () => {
    const [one, other] = [await makePerson(identity, tenantId), await makePerson(identity, tenantId)];
    const { credentialId, userHandle } = other.authenticator;
    const answer = await signInWith(identity, one.authenticator, { credentialId, userHandle });
    assert.deepEqual([answer.status, answer.body], refusal);
    assert.equal(await reasonOf(other), 'wrong_signature');
  });

  test('with an unknown credential, which has the same response', async () => {
    const stranger = new VirtualAuthenticator();
    const answer = await signInWith(identity, stranger, { userHandle: 'AAAA' });
    assert.deepEqual([answer.status, answer.body], refusal);
  });

  test('replayed, also at another process and by parallel requests', async () => {
    const other = await identity.another();
    const person = await makePerson(identity, tenantId);
    const { publicKey, state } = await made(ask(identity, '/passkeys:sign-in-options'));
    const request = { state, credential: person.authenticator.get(publicKey) };
    const answers = await Promise.all(
      Array.from({ length: 12 }, (_, at) =>
        ask(at % 2 === 0 ? identity : other, '/passkeys:sign-in', request),
      ),
    );
    const statuses = answers.map(({ status }) => status).sort();
    assert.deepEqual(statuses, [200, ...Array(11).fill(401)]);
    assert.equal((await ask(other, '/passkeys:sign-in', request)).status, 401);
    assert.match(await reasonOf(person), /replayed_challenge/);
  });

  test('with a state that is changed, expired, of another purpose or of another installation', async () => {
    const person = await makePerson(identity, tenantId);
    const { publicKey, state } = await made(ask(identity, '/passkeys:sign-in-options'));
    const credential = person.authenticator.get(publicKey);
    const bytes = Buffer.from(state, 'base64url');
    bytes[bytes.length - 3] = (bytes.at(-3) as number) ^ 1;
    const swift = await identity.another({ IAM_PASSKEY_CHALLENGE_SECONDS: '10' });
    const stale = await made(ask(swift, '/passkeys:sign-in-options'));
    assert.equal(stale.publicKey.timeout, 10_000);
    const registration = await made(ask(identity, '/passkeys:registration-options', { token: person.token }));
    for (const wrong of [bytes.toString('base64url'), 'AAAA', 'x', registration.state, stale.state]) {
      const answer = await ask(identity, '/passkeys:sign-in', { state: wrong, credential });
      assert.deepEqual([answer.status, answer.body], refusal);
    }
    const { makeRsaKey } = await import('../../testing/identity.ts');
    const foreign = await identity.another({ IAM_SIGNING_PRIVATE_KEY: makeRsaKey(3072) });
    assert.equal((await ask(foreign, '/passkeys:sign-in', { state, credential })).status, 401);
    assert.equal((await ask(identity, '/passkeys:sign-in', { state, credential })).status, 200);
  });

  test('after its challenge has expired', async (context) => {
    const person = await makePerson(identity, tenantId);
    const { publicKey, state } = await made(ask(identity, '/passkeys:sign-in-options'));
    const credential = person.authenticator.get(publicKey);
    const now = Date.now();
    for (const [seconds, status] of [
      [301, 401],
      [299, 200],
    ] as const) {
      context.mock.timers.enable({ apis: ['Date'], now: now + seconds * 1000 });
      assert.equal((await ask(identity, '/passkeys:sign-in', { state, credential })).status, status);
      context.mock.timers.reset();
    }
    assert.equal(await reasonOf(person), 'unknown_or_expired_challenge');
  });

  test('of a copied authenticator whose counter is behind', async () => {
    const person = await makePerson(identity, tenantId, new VirtualAuthenticator({ counts: true }));
    for (let use = 0; use < 3; use += 1) await signInWith(identity, person.authenticator);
    for (const counter of [0, 1, 3]) {
      const { status, body } = await signInWith(identity, person.authenticator, { counter });
      assert.deepEqual([status, body], refusal, `counter ${counter}`);
      assert.equal(await reasonOf(person), 'counter_not_increased');
    }
    assert.equal((await signInWith(identity, person.authenticator, { counter: 9 })).status, 200);
  });

  test('of two copies of an authenticator at the same time, except one', async () => {
    const person = await makePerson(identity, tenantId, new VirtualAuthenticator({ counts: true }));
    const answers = await Promise.all(
      Array.from({ length: 8 }, () => signInWith(identity, person.authenticator, { counter: 5 })),
    );
    assert.deepEqual(answers.map(({ status }) => status).sort(), [200, ...Array(7).fill(401)]);
  });

  test('of a person who is disabled, not a member, in a closed tenant, or whose identity is disabled', async () => {
    const own = await makeTenant(identity);
    for (const [change, undo, reason] of [
      ['disable', 'enable', 'principal_not_active'],
      ['memberships', 'memberships', 'membership_not_active'],
      ['tenants', 'tenants', 'tenant_not_active'],
      ['identities', 'identities', 'identity_disabled'],
    ] as const) {
      const person = await makePerson(identity, own);
      const path = `/tenants/${own}/principals/${person.principalId}`;
      const set = (status: string) => {
        if (change === 'disable') return identity.post(`${path}:${status === 'active' ? undo : change}`);
        if (change === 'tenants') return identity.patch(`/tenants/${own}`, { status });
        return change === 'memberships'
          ? identity.pool.run(sql`
              update memberships set status = ${status} where principal_id = ${person.principalId}`)
          : identity.pool.run(sql`
              update external_identities set status = ${status} where principal_id = ${person.principalId}`);
      };
      await set('disabled');
      const { status, body } = await signInWith(identity, person.authenticator);
      assert.deepEqual([status, body], refusal, reason);
      await until(async () => {
        const last = (await auditOf(identity, own)).at(-1);
        return last?.outcome === 'denied' && last.reason === reason;
      }, reason);
      await set('active');
      assert.equal((await signInWith(identity, person.authenticator)).status, 200, reason);
    }
  });

  test('of a removed passkey', async () => {
    const person = await makePerson(identity, tenantId);
    const phone = new VirtualAuthenticator();
    const { id: passkeyId } = await made(addPasskey(identity, person.token, phone));
    assert.equal((await signInWith(identity, phone)).status, 200);
    assert.equal((await ask(identity, '/passkeys:remove', { token: person.token, passkeyId })).status, 204);
    const answer = await signInWith(identity, phone);
    assert.deepEqual([answer.status, answer.body], refusal);
  });
});

test('with `preferred` a key without user verification signs in, without `mfa`', async () => {
  const lenient = await identity.another({ IAM_PASSKEY_USER_VERIFICATION: 'preferred' });
  const person = await makePerson(lenient, tenantId, new VirtualAuthenticator({ isSynced: false }));
  const { body } = await signInWith(lenient, person.authenticator, { userVerified: false });
  assert.deepEqual(body.session.amr, ['hwk', 'user']);
  const { publicKey } = await made(ask(lenient, '/passkeys:sign-in-options'));
  assert.equal(publicKey.userVerification, 'preferred');
});

test('relying party and origins follow the settings', async () => {
  const elsewhere = await identity.another({
    IAM_PASSKEY_RP_ID: 'example.com',
    IAM_PASSKEY_ORIGINS: '["https://console.example.com","https://example.com"]',
  });
  const origin = 'https://console.example.com';
  const person = await makePerson(elsewhere, tenantId, new VirtualAuthenticator({ origin }));
  assert.equal((await signInWith(elsewhere, person.authenticator)).status, 200);
  const { status } = await signInWith(elsewhere, person.authenticator, { origin: 'http://example.com' });
  assert.equal(status, 401);
  const onThisMachine = await identity.another({ IAM_PUBLIC_URL: 'http://127.0.0.1:8080' });
  const local = new VirtualAuthenticator({ origin: 'http://localhost:8080' });
  assert.equal(
    (await signInWith(onThisMachine, (await makePerson(onThisMachine, tenantId, local)).authenticator))
      .status,
    200,
  );
  for (const origins of [
    '["https://evil.example"]',
    '["http://example.com"]',
    '["https://example.com/"]',
    '["x"]',
  ])
    await assert.rejects(
      identity.another({ IAM_PASSKEY_RP_ID: 'example.com', IAM_PASSKEY_ORIGINS: origins }),
      /IAM_PASSKEY_ORIGINS must be origins/,
    );
});

test('used challenges are deleted when no process accepts them any more', async () => {
  const person = await makePerson(identity, tenantId);
  await identity.pool.run(sql`update used_challenges set expires_at = now() - interval '1 s'`);
  await signInWith(identity, person.authenticator);
  const left = await identity.pool.row<{ count: number }>(sql`
    select count(*) as count from used_challenges where expires_at < now()`);
  assert.equal(left?.count, 0);
});

test('failures of an address are counted, whichever passkey they present', async () => {
  const strict = await identity.another({ IAM_FAILURES_PER_ADDRESS_MAX: '2' });
  for (const status of [401, 401, 429]) {
    const answer = await signInWith(strict, new VirtualAuthenticator(), { userHandle: 'AAAA' });
    assert.equal(answer.status, status);
  }
});
