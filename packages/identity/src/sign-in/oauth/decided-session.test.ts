import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { decodeJwt } from 'jose';
import { sql } from '@baton/kernel/database/sql';
import { startIdentity, type TestIdentity, testSigningKey } from '../../testing/identity.ts';
import { made, makeAudience, makeTenant, readScope, signIn, writeScope } from '../../testing/objects.ts';
import { untilBlocked } from '../../testing/waiting.ts';
import { ask, makePerson, type Person, signInWith } from '../passkeys/testing/people.ts';
import { endUnredeemedGrants } from './expired-handles.ts';
import {
  allow,
  begin,
  connect,
  decide,
  makePkce,
  oauthSettings,
  open,
  redeem,
  refresh,
  requestOf,
} from './testing/browser.ts';
import { newDevice, poll } from './testing/device.ts';

let identity: TestIdentity;
let tenantId: string;
before(async () => {
  identity = await startIdentity({ IAM_SIGNING_PRIVATE_KEY: testSigningKey(), ...oauthSettings });
  tenantId = await makeTenant(identity);
  await makeAudience(identity, tenantId, 'control-plane', [readScope, writeScope]);
});
after(() => identity.close());

const invalidGrant = [400, { error: 'invalid_grant' }];
const endSession = async ({ token }: Pick<Person, 'token'>) =>
  assert.equal((await ask(identity, '/browser-sessions:revoke-self', { token })).status, 204);
const store = (...statement: Parameters<typeof sql>) => identity.pool.run(sql(...statement));

/** Every grant of a person, live or not, with the reason of its end. */
async function grantsOf({ principalId }: Person): Promise<(string | null)[]> {
  const path = `/tenants/${tenantId}/platform-access-tokens?principalId=${principalId}&includeRevoked=true`;
  return (await made(identity.get(path))).map(
    ({ revokedAt, revokeReason }: { revokedAt: string | null; revokeReason: string }) =>
      revokedAt === null ? null : revokeReason,
  );
}

/** A code that has not been redeemed yet. */
async function newCode(person: Person) {
  const pkce = makePkce();
  const back = await allow(identity, person, await begin(identity, requestOf(pkce)));
  return { pkce, code: back.searchParams.get('code') as string };
}

/** What ends the right to decide, after the decision. */
const endings: Readonly<Record<string, (person: Person) => Promise<unknown>>> = {
  'the person signs out': endSession,
  'an administrator ends the session': async ({ principalId, session }) => {
    const path = `/tenants/${tenantId}/principals/${principalId}/browser-sessions/${session.id}:revoke`;
    assert.equal((await identity.post(path)).status, 204);
  },
  'the session expires': ({ session }) =>
    store`update browser_sessions set expires_at = now() - interval '1 ms' where id = ${session.id}`,
  'the session is unused for too long': ({ session }) =>
    store`update browser_sessions set last_used_at = now() - interval '30 days' where id = ${session.id}`,
  'the identity of the sign-in is disabled': ({ principalId }) =>
    store`update external_identities set status = 'disabled' where principal_id = ${principalId}`,
  'the membership ends': ({ principalId }) =>
    store`update memberships set status = 'disabled' where principal_id = ${principalId}`,
  'the person is paused': ({ principalId }) =>
    store`update principals set status = 'paused' where id = ${principalId}`,
  'the sign-in is no longer recent': ({ session }) =>
    store`update browser_sessions set auth_time = auth_time - interval '1 hour' where id = ${session.id}`,
};

for (const [name, end] of Object.entries(endings))
  describe(`if ${name} after the decision`, () => {
    test('it grants nothing', async () => {
      const person = await makePerson(identity, tenantId);
      const begun = await begin(identity, requestOf(makePkce()));
      const { redirectTo } = await made(decide(identity, person, { request: begun.request }));
      await end(person);
      const { status, location } = await open(identity, redirectTo, begun.cookie);
      assert.deepEqual([status, location], [400, undefined]);
      assert.deepEqual(await grantsOf(person), []);
    });

    test('its code is not redeemed', async () => {
      const person = await makePerson(identity, tenantId);
      const { pkce, code } = await newCode(person);
      await end(person);
      const { status, body } = await redeem(identity, code, pkce);
      assert.deepEqual([status, body], invalidGrant);
    });

    test('a device that polls gets nothing', async () => {
      const person = await makePerson(identity, tenantId);
      const { device_code: deviceCode, user_code: userCode } = await newDevice(identity);
      await made(decide(identity, person, { userCode }));
      await end(person);
      const { status, body } = await poll(identity, deviceCode);
      assert.deepEqual([status, body], invalidGrant);
    });
  });

describe('a decision', () => {
  test('whose session has ended ends its grant', async () => {
    const person = await makePerson(identity, tenantId);
    const { pkce, code } = await newCode(person);
    await endSession(person);
    await redeem(identity, code, pkce);
    assert.deepEqual(await grantsOf(person), ['session_ended']);
    const { device_code: deviceCode, user_code: userCode } = await newDevice(identity);
    const again = await made(signInWith(identity, person.authenticator));
    await made(decide(identity, again, { userCode }));
    await endSession(again);
    await poll(identity, deviceCode);
    assert.deepEqual(await grantsOf(person), ['session_ended', 'session_ended']);
  });

  test('is not redeemed while its session is being ended', async () => {
    const person = await makePerson(identity, tenantId);
    const { pkce, code } = await newCode(person);
    const [redeeming] = await identity.pool.transaction(async (db) => {
      await db.run(sql`
        update browser_sessions set ended_at = now(), end_reason = 'logout' where id = ${person.session.id}`);
      const sent = redeem(identity, code, pkce);
      await untilBlocked(identity, 1);
      return [sent];
    });
    const { status, body } = await redeeming;
    assert.deepEqual([status, body], invalidGrant);
  });

  test('is based on the sign-in of its own session, however new another one is', async () => {
    const person = await makePerson(identity, tenantId);
    await signIn(identity, tenantId, person.principalId);
    const pkce = makePkce();
    const back = await allow(identity, person, await begin(identity, requestOf(pkce)));
    const granted = await made(redeem(identity, back.searchParams.get('code') as string, pkce));
    const { acr, auth_time: authTime } = decodeJwt(granted.access_token);
    assert.deepEqual([acr, authTime], [person.session.acr, person.session.authTime]);

    const begun = await begin(identity, requestOf(makePkce()));
    const { redirectTo } = await made(decide(identity, person, { request: begun.request }));
    await store`
      update browser_sessions set auth_time = now() - interval '301 s' where id = ${person.session.id}`;
    await signIn(identity, tenantId, person.principalId);
    const { status, body } = await open(identity, redirectTo, begun.cookie);
    assert.equal(status, 400);
    assert.match(body, /the sign-in is too old/);
  });

  test('counts as a use of its session', async () => {
    const person = await makePerson(identity, tenantId);
    await store`
      update browser_sessions set last_used_at = now() - interval '11 h' where id = ${person.session.id}`;
    const { pkce, code } = await newCode(person);
    const row = await identity.pool.row<{ is_recent: boolean }>(sql`
      select last_used_at > now() - interval '1 h' as is_recent from browser_sessions
      where id = ${person.session.id}`);
    assert.equal(row?.is_recent, true);
    assert.equal((await redeem(identity, code, pkce)).status, 200);
  });

  test('outlives its session once its code has been redeemed', async () => {
    const person = await makePerson(identity, tenantId);
    const granted = await connect(identity, person);
    await endSession(person);
    assert.equal((await refresh(identity, granted.refresh_token)).status, 200);
  });

  test('can end the session for which it was made: the session expires with the code', async () => {
    const person = await makePerson(identity, tenantId);
    const leftOf = async () => {
      const row = await identity.pool.row<{ seconds: number }>(sql`
        select extract(epoch from expires_at - now())::float8 as seconds from browser_sessions
        where id = ${person.session.id}`);
      return row?.seconds ?? assert.fail('no session');
    };
    const granted = await connect(identity, person, {}, { endsSession: true });
    assert.ok(granted.access_token);
    const left = await leftOf();
    assert.ok(left > 60 && left <= 180, String(left));
    const { device_code: deviceCode, user_code: userCode } = await newDevice(identity);
    await made(decide(identity, person, { userCode, endsSession: true }));
    assert.equal((await poll(identity, deviceCode)).status, 200);
    assert.ok((await leftOf()) <= 180);
  });

  test('in sessions of its own does not push a longer session out of the maximum of 20', async () => {
    const person = await makePerson(identity, tenantId);
    for (let count = 0; count < 20; count += 1) {
      const { session } = await made(signInWith(identity, person.authenticator));
      await store`update browser_sessions set expires_at = now() - interval '1 ms' where id = ${session.id}`;
    }
    await made(signInWith(identity, person.authenticator));
    const { items } = await made(ask(identity, '/browser-sessions:list', { token: person.token }));
    assert.equal(items.length, 2);
  });

  test('leaves no grant behind if its code can not be stored', async () => {
    const person = await makePerson(identity, tenantId);
    const begun = await begin(identity, requestOf(makePkce()));
    const { redirectTo } = await made(decide(identity, person, { request: begun.request }));
    const run = (text: string) => identity.pool.run({ text, values: [] });
    await run(`create function refuse_code() returns trigger language plpgsql as $$
      begin raise exception 'refused' using errcode = '55P03'; end $$`);
    await run(`create trigger refuse_code before insert on oauth_handles
      for each row when (new.kind = 'AuthorizationCode') execute function refuse_code()`);
    const { status } = await open(identity, redirectTo, begun.cookie);
    await run('drop trigger refuse_code on oauth_handles');
    assert.equal(status, 503);
    assert.deepEqual(await grantsOf(person), ['not_redeemed']);
  });

  test('whose code nobody redeems ends its grant when the code has expired', async () => {
    const person = await makePerson(identity, tenantId);
    await newCode(person);
    await endUnredeemedGrants(identity.pool);
    assert.deepEqual(await grantsOf(person), [null]);
    await store`update oauth_handles set expires_at = now() - interval '1 ms' where consumed_at is null`;
    await endUnredeemedGrants(identity.pool);
    assert.deepEqual(await grantsOf(person), ['not_redeemed']);
    await endUnredeemedGrants(identity.pool);
    assert.deepEqual(await grantsOf(person), ['not_redeemed']);
  });
});
