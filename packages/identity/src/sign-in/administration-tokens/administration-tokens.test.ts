import assert from 'node:assert/strict';
import { createHash, randomUUID } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, beforeEach, describe, test } from 'node:test';
import { sql } from '@baton/kernel/database/sql';
import { keepSecret } from '@baton/kernel/testing/leaks/leaks';
import {
  adminHeader,
  delegationCredential,
  delegationHeader,
  startIdentity,
  type TestIdentity,
  testSigningKey,
} from '../../testing/identity.ts';
import { made, makeAudience, makePrincipal, makeTenant, makeToken, signIn } from '../../testing/objects.ts';
import { auditOf } from '../../testing/records.ts';
import { until } from '../../testing/waiting.ts';
import { ask, makePerson, type Person, signInWith } from '../passkeys/testing/people.ts';
import { bearer, bodyOf, issueToken, pathOf, requestToken, signInOf } from './testing/administration.ts';

let identity: TestIdentity;
let person: Person;
before(async () => {
  identity = await startIdentity({ IAM_SIGNING_PRIVATE_KEY: testSigningKey() });
});
after(() => identity.close());
beforeEach(async () => {
  const tenantId = await makeTenant(identity);
  await makeAudience(identity, tenantId);
  person = await makePerson(identity, tenantId);
});

const tenantPath = () => `/api/v1/tenants/${person.tenantId}`;
const read = (token: string, at = identity) => at.request('GET', tenantPath(), { headers: bearer(token) });
const isAdmitted = async (token: string, at = identity) => {
  const { status, body } = await read(token, at);
  if (status !== 200) assert.deepEqual([status, body], [401, { detail: 'unauthorized' }]);
  return status === 200;
};
const ageSignIn = (seconds: number, id = person.session.id) =>
  identity.pool.run(
    sql`update browser_sessions set auth_time = now() - make_interval(secs => ${seconds}) where id = ${id}`,
  );
const lastAudit = async () => (await auditOf(identity, person.tenantId)).at(-1);
async function assertNotFresh(body: ReturnType<typeof signInOf>, reason?: string): Promise<void> {
  const answer = await requestToken(identity, body);
  assert.deepEqual([answer.status, answer.body], [403, { detail: 'fresh_sign_in_required' }]);
  if (reason === undefined) return;
  const audited = await lastAudit();
  assert.deepEqual(
    [audited?.action, audited?.outcome, audited?.reason, audited?.actor_ref],
    ['administration_tokens.issue', 'denied', reason, person.principalId],
  );
}

describe('POST /administration-tokens', () => {
  test('issues a token of the person until 300 seconds after the sign-in, shown once and audited', async () => {
    await ageSignIn(100);
    const { status, body, headers } = await requestToken(identity, signInOf(person));
    assert.deepEqual([status, headers.get('cache-control')], [201, 'no-store']);
    assert.deepEqual(Object.keys(body), ['token', 'id', 'tenantId', 'principalId', 'authTime', 'expiresAt']);
    assert.match(body.token, /^iam_adm_[0-9a-f]{12}_[\w-]{43}$/);
    assert.deepEqual([body.tenantId, body.principalId], [person.tenantId, person.principalId]);
    assert.equal(Date.parse(body.expiresAt) - Date.parse(body.authTime), 300_000);
    const left = Date.parse(body.expiresAt) - Date.now();
    assert.ok(left > 150_000 && left <= 201_000, `${left} ms`);
    const audited = await lastAudit();
    assert.deepEqual(
      [audited?.action, audited?.actor_ref, audited?.resource_id, audited?.outcome],
      ['administration_tokens.issue', person.principalId, body.id, 'allowed'],
    );
    assert.equal(audited?.reason, `adm:${body.token.slice(8, 20)} sign_in:${person.session.id}`);
  });

  test('is audited under the person, whatever they do with it', async () => {
    const { token } = await issueToken(identity, person);
    const principal = { kind: 'agent', displayName: 'Desk' };
    const answer = await identity.request('POST', `${tenantPath()}/principals`, {
      body: principal,
      headers: bearer(token),
    });
    assert.equal(answer.status, 201);
    const audited = await lastAudit();
    assert.deepEqual(
      [audited?.action, audited?.actor_ref, audited?.resource_id],
      ['principals.create', person.principalId, answer.body.id],
    );
    const log = await identity.request('GET', `${tenantPath()}/audit?order=desc&limit=1`, {
      headers: bearer(token),
    });
    assert.deepEqual([log.status, log.body.items[0].actor_ref], [200, person.principalId]);
  });

  test('refuses an old sign-in, to the second', async () => {
    await ageSignIn(300);
    await assertNotFresh(signInOf(person), 'sign_in_too_old');
    await ageSignIn(298);
    await issueToken(identity, person);
    const strict = await identity.another({ IAM_ADMINISTRATION_AUTHENTICATION_AGE_SECONDS: '60' });
    await ageSignIn(61);
    assert.equal((await requestToken(strict, signInOf(person))).status, 403);
    await ageSignIn(0);
    const { expiresAt, authTime } = await made(requestToken(strict, signInOf(person)));
    assert.equal(Date.parse(expiresAt) - Date.parse(authTime), 60_000);
  });

  test('refuses the session of another person, of another tenant, and everything that is no sign-in', async () => {
    const other = await makePerson(identity, person.tenantId);
    await assertNotFresh({ ...signInOf(person), credentialId: other.session.id }, 'no_fresh_sign_in');
    await assertNotFresh({ ...signInOf(person), principalId: other.principalId });
    await assertNotFresh({ ...signInOf(person), tenantId: await makeTenant(identity) });
    const nowhere = await requestToken(identity, { ...signInOf(person), tenantId: randomUUID() });
    assert.deepEqual([nowhere.status, nowhere.body], [404, { detail: 'tenant_not_found' }]);
    await assertNotFresh({ ...signInOf(person), credentialId: randomUUID() }, 'no_fresh_sign_in');
    await signIn(identity, person.tenantId, person.principalId);
    const { credential } = await makeToken(identity, person.tenantId, person.principalId);
    await assertNotFresh({ ...signInOf(person), credentialId: credential.id }, 'no_fresh_sign_in');
    const agent = await makePrincipal(identity, person.tenantId);
    const { credential: ofAgent } = await makeToken(identity, person.tenantId, agent);
    await assertNotFresh({ ...signInOf(person), principalId: agent, credentialId: ofAgent.id });
  });

  test('refuses an ended session, a disabled person and a disabled tenant', async () => {
    await made(
      ask(identity, '/browser-sessions:exchange', { token: person.token, audience: 'control-plane' }),
    );
    await ask(identity, '/browser-sessions:revoke-self', { token: person.token });
    await assertNotFresh(signInOf(person), 'session_ended');
    const { session } = await made(signInWith(identity, person.authenticator));
    const again = { ...signInOf(person), credentialId: session.id };
    await identity.patch(`/tenants/${person.tenantId}`, { status: 'disabled' });
    assert.equal((await requestToken(identity, again)).status, 404);
    await identity.patch(`/tenants/${person.tenantId}`, { status: 'active' });
    await made(requestToken(identity, again));
    await made(identity.post(`/tenants/${person.tenantId}/principals/${person.principalId}:disable`));
    await assertNotFresh(again, 'principal_not_active');
  });

  test('an eleventh token of a person replaces the oldest; expired ones are deleted', async () => {
    const [first, second] = [
      (await issueToken(identity, person)).token,
      (await issueToken(identity, person)).token,
    ];
    for (let more = 0; more < 9; more += 1) await issueToken(identity, person);
    assert.deepEqual([await isAdmitted(first), await isAdmitted(second)], [false, true]);
    await identity.pool.run(sql`update administration_tokens set expires_at = now() - interval '1 second'`);
    await issueToken(identity, person);
    const row = await identity.pool.row<{ n: number }>(
      sql`select count(*)::int as n from administration_tokens`,
    );
    assert.equal(row?.n, 1);
  });
});

describe('the service credential', () => {
  const send = (headers: Record<string, string>, at = identity) =>
    at.request('POST', pathOf(person.tenantId), { body: bodyOf(person), headers });

  test('is the only one: not the admin secret, no token of a person, none at all', async () => {
    const { token } = await issueToken(identity, person);
    for (const headers of [
      {},
      adminHeader,
      bearer('wrong'),
      bearer(token),
      bearer(person.token),
      bearer(Object.values(adminHeader)[0] as string),
      { authorization: delegationCredential },
      { 'x-iam-bootstrap-token': delegationCredential },
    ]) {
      const answer = await send(headers);
      assert.deepEqual([answer.status, answer.body], [401, { detail: 'unauthorized' }]);
    }
  });

  test('may fail 10 times a minute from an address, without any setting; the right one always passes', async () => {
    const fresh = await identity.another();
    for (let time = 0; time < 10; time += 1)
      assert.equal((await send(bearer(`wrong ${time}`.replace(' ', '')), fresh)).status, 401);
    const limited = await send(bearer('wrong'), fresh);
    assert.deepEqual([limited.status, limited.body], [429, { detail: 'rate_limited' }]);
    assert.equal((await send(delegationHeader, fresh)).status, 201);
  });

  test('is stored as itself or as its hash, reloaded, and absent by default', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'baton-delegation-'));
    try {
      const file = join(folder, 'credential');
      const next = `next-${randomUUID()}-${randomUUID()}`;
      keepSecret('service credential', next);
      const hash = createHash('sha256').update(next).digest('hex');
      writeFileSync(file, `# both while it is rotated\n${delegationCredential}\nsha256:${hash}\n`);
      const rotating = await identity.another({ IAM_DELEGATION_CREDENTIAL_FILE: file });
      assert.equal((await send(delegationHeader, rotating)).status, 201);
      assert.equal((await send(bearer(next), rotating)).status, 201);
      assert.equal((await send(bearer(hash), rotating)).status, 401);
      writeFileSync(file, `sha256:${hash}\n`);
      await rotating.service.reload();
      assert.equal((await send(delegationHeader, rotating)).status, 401);
      assert.equal((await send(bearer(next), rotating)).status, 201);
      writeFileSync(file, 'short\n');
      await rotating.service.reload();
      assert.equal((await send(bearer(next), rotating)).status, 201, 'a faulty file changes nothing');
      for (const faulty of [
        'short\n',
        '\n',
        'sha256:xyz\n',
        `${'a b '.repeat(20)}\n`,
        `${next}\n`.repeat(6),
      ]) {
        writeFileSync(file, faulty);
        await assert.rejects(
          identity.another({ IAM_DELEGATION_CREDENTIAL_FILE: file }),
          /IAM_DELEGATION_CREDENTIAL_FILE/,
        );
      }
      await assert.rejects(
        identity.another({ IAM_DELEGATION_CREDENTIAL_FILE: join(folder, 'none') }),
        /cannot be read/,
      );
      const without = await identity.another({ IAM_DELEGATION_CREDENTIAL_FILE: '' });
      assert.equal((await send(delegationHeader, without)).status, 401);
      assert.ok(!identity.logged.join('').includes(delegationCredential));
    } finally {
      await rm(folder, { recursive: true });
    }
  });
});

describe('an administration token ends', () => {
  test('by its expiry', async () => {
    const { id, token } = await issueToken(identity, person);
    assert.ok(await isAdmitted(token));
    await identity.pool.run(
      sql`update administration_tokens set expires_at = now() - interval '1 ms' where id = ${id}`,
    );
    assert.ok(!(await isAdmitted(token)));
  });

  test('at the sign-out of the person, whatever other sessions they have', async () => {
    const { token } = await issueToken(identity, person);
    await made(signInWith(identity, person.authenticator));
    await ask(identity, '/browser-sessions:revoke-self', { token: person.token });
    assert.ok(!(await isAdmitted(token)));
    const audited = async () =>
      (await auditOf(identity, person.tenantId)).filter(
        ({ action }) => action === 'administration_tokens.use',
      );
    // The response doesn't wait for the record.
    await until(async () => (await audited()).length > 0, 'the refusal is audited');
    assert.deepEqual(
      (await audited()).map(({ reason, outcome }) => [reason, outcome]),
      [['session_ended', 'denied']],
    );
  });

  test('when its session has expired or was idle for too long', async () => {
    const { token } = await issueToken(identity, person);
    const impatient = await identity.another({ IAM_BROWSER_SESSION_IDLE_SECONDS: '60' });
    await identity.pool.run(
      sql`update browser_sessions set last_used_at = now() - interval '61 seconds' where id = ${person.session.id}`,
    );
    assert.deepEqual([await isAdmitted(token, impatient), await isAdmitted(token)], [false, true]);
    await identity.pool.run(
      sql`update browser_sessions set expires_at = now() - interval '1 ms' where id = ${person.session.id}`,
    );
    assert.ok(!(await isAdmitted(token)));
  });

  test('when its person is disabled, at every process, and stays so when they are enabled', async () => {
    const { token } = await issueToken(identity, person);
    const other = await identity.another();
    assert.ok(await isAdmitted(token, other));
    const principal = `/tenants/${person.tenantId}/principals/${person.principalId}`;
    await made(identity.post(`${principal}:disable`));
    assert.deepEqual([await isAdmitted(token), await isAdmitted(token, other)], [false, false]);
    await made(identity.post(`${principal}:enable`));
    assert.ok(!(await isAdmitted(token)), 'its session has ended');
  });

  test('while its tenant is disabled', async () => {
    const { token } = await issueToken(identity, person);
    await made(identity.patch(`/tenants/${person.tenantId}`, { status: 'disabled' }));
    assert.ok(!(await isAdmitted(token)));
  });

  test('when coordination revokes it, once', async () => {
    const { id, token } = await issueToken(identity, person);
    const revoke = (tokenId: string) =>
      identity.request('POST', `${pathOf(person.tenantId)}/${tokenId}:revoke`, { headers: delegationHeader });
    for (let time = 0; time < 2; time += 1) assert.equal((await revoke(id)).status, 204);
    assert.ok(!(await isAdmitted(token)));
    const audited = (await auditOf(identity, person.tenantId)).filter(
      ({ action }) => action === 'administration_tokens.revoke',
    );
    assert.deepEqual(
      audited.map(({ actor_ref, resource_id }) => [actor_ref, resource_id]),
      [['service:coordination', id]],
    );
    const unknown = await revoke(randomUUID());
    assert.deepEqual([unknown.status, unknown.body], [404, { detail: 'administration_token_not_found' }]);
  });

  test('a forged one was never one', async () => {
    const { token } = await issueToken(identity, person);
    const [, , prefix] = token.split('_');
    for (const forged of [
      `${token}x`,
      token.slice(0, -1),
      `iam_adm_${prefix}_`,
      'iam_adm_',
      `iam_adm_${'0'.repeat(12)}_x`,
    ])
      assert.ok(!(await isAdmitted(forged)), forged.slice(0, 12));
    const guarded = await identity.another({ IAM_FAILURES_PER_CREDENTIAL_MAX: '1' });
    assert.ok(!(await isAdmitted(`${token}x`, guarded)));
    assert.equal((await read(`${token}x`, guarded)).status, 429);
    assert.equal((await read(token, guarded)).status, 200, 'the right one always passes');
  });
});
