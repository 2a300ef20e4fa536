import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { decodeJwt } from 'jose';
import { sql } from '@baton/kernel/database/sql';
import { keepSecret } from '@baton/kernel/testing/leaks/leaks';
import { isRevoked } from '../../issuing/revocations/revocation-list.ts';
import { startIdentity, type TestIdentity, testSigningKey } from '../../testing/identity.ts';
import { made, makeAudience, makeTenant, readScope, writeScope } from '../../testing/objects.ts';
import { makePerson, type Person } from '../passkeys/testing/people.ts';
import {
  allow,
  begin,
  connect,
  makePkce,
  oauthSettings,
  redeem,
  refresh,
  requestOf,
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

const invalidGrant = [400, { error: 'invalid_grant' }];
const grantOf = (accessToken: string) => String(decodeJwt(accessToken)['credential_id']);
const isRevokedNow = async (accessToken: string) =>
  isRevoked((await identity.request('GET', '/.well-known/revocations.json')).body, decodeJwt(accessToken));

/** Why the grant of an access token was revoked; null if it was not. */
async function endOf(accessToken: string): Promise<string | null> {
  const row = await identity.pool.row<{ revoke_reason: string; revoked_at: string | null }>(
    sql`select revoke_reason, revoked_at from platform_access_tokens where id = ${grantOf(accessToken)}`,
  );
  return row?.revoked_at == null ? null : row.revoke_reason;
}

/** Makes the database reject every new handle of a kind while `work` runs, as if it didn't respond in time. */
async function whileRefused(kind: string, work: () => Promise<void>): Promise<void> {
  const run = (text: string) => identity.pool.run({ text, values: [] });
  await run(`create function refuse_handle() returns trigger language plpgsql as $$
    begin raise exception 'refused' using errcode = '55P03'; end $$`);
  await run(`create trigger refuse_handle before insert on oauth_handles
    for each row when (new.kind = '${kind}') execute function refuse_handle()`);
  try {
    await work();
  } finally {
    await run('drop trigger refuse_handle on oauth_handles');
    await run('drop function refuse_handle');
  }
}

describe('a refresh', () => {
  test('that fails before its tokens are stored uses up nothing, and can be repeated', async () => {
    const first = await connect(identity, person);
    await whileRefused('RefreshToken', async () => {
      const { status, body } = await refresh(identity, first.refresh_token);
      assert.deepEqual([status, body.error], [503, 'temporarily_unavailable']);
    });
    const second = await made(refresh(identity, first.refresh_token));
    assert.equal((await refresh(identity, second.refresh_token)).status, 200);
    assert.equal(await endOf(first.access_token), null);
  });

  test('whose response was lost can be repeated for 30 s, with the same refresh token', async () => {
    const first = await connect(identity, person);
    const lost = await made(refresh(identity, first.refresh_token));
    const again = await made(refresh(identity, first.refresh_token, { scope: readScope }));
    assert.equal(again.refresh_token, lost.refresh_token);
    assert.notEqual(again.access_token, lost.access_token);
    assert.equal(again.scope, readScope);
    assert.equal((await refresh(identity, again.refresh_token)).status, 200);
    assert.equal(await endOf(first.access_token), null);
  });

  test('can not be repeated with more than the grant, or by another client', async () => {
    const first = await connect(identity, person, { scope: readScope });
    await made(refresh(identity, first.refresh_token));
    const wider = await refresh(identity, first.refresh_token, { scope: `${readScope} ${writeScope}` });
    assert.deepEqual([wider.status, wider.body], [400, { error: 'invalid_scope' }]);
    const { clientId } = await made(
      identity.post(`/tenants/${tenantId}/oauth-clients`, {
        name: 'Other',
        redirectUris: ['https://other.example/callback'],
      }),
    );
    const other = await refresh(identity, first.refresh_token, { client_id: clientId });
    assert.deepEqual([other.status, other.body], invalidGrant);
    assert.equal(await endOf(first.access_token), null);
  });

  test('is a reuse once its successor was used, and ends the grant', async () => {
    const first = await connect(identity, person);
    const second = await made(refresh(identity, first.refresh_token));
    const third = await made(refresh(identity, second.refresh_token));
    const { status, body } = await refresh(identity, first.refresh_token);
    assert.deepEqual([status, body], invalidGrant);
    assert.equal(await endOf(first.access_token), 'handle_reused');
    assert.equal(await isRevokedNow(third.access_token), true);
    assert.deepEqual((await refresh(identity, third.refresh_token)).body, { error: 'invalid_grant' });
  });

  test('is a reuse after 30 s, and ends the grant', async () => {
    const first = await connect(identity, person);
    const second = await made(refresh(identity, first.refresh_token));
    await identity.pool.run(sql`
      update oauth_handles set consumed_at = now() - interval '31 s'
      where credential_id = ${grantOf(first.access_token)} and kind = 'RefreshToken' and consumed_at is not null`);
    const { status, body } = await refresh(identity, first.refresh_token);
    assert.deepEqual([status, body], invalidGrant);
    assert.equal(await endOf(first.access_token), 'handle_reused');
    assert.deepEqual((await refresh(identity, second.refresh_token)).body, { error: 'invalid_grant' });
  });

  test('many times at once gives every caller the same refresh token, which remains valid', async () => {
    const first = await connect(identity, person);
    const answers = await Promise.all([1, 2, 3, 4, 5, 6].map(() => refresh(identity, first.refresh_token)));
    assert.deepEqual(
      answers.map(({ status }) => status),
      [200, 200, 200, 200, 200, 200],
    );
    const tokens = new Set(answers.map(({ body }) => body.refresh_token));
    assert.equal(tokens.size, 1);
    assert.equal((await refresh(identity, [...tokens][0])).status, 200);
    assert.equal(await endOf(first.access_token), null);
  });

  test('with a token that was replaced long ago ends the grant, however many followed', async () => {
    const first = await connect(identity, person);
    let { refresh_token: refreshToken, access_token: accessToken } = first;
    for (let round = 0; round < 53; round += 1)
      ({ refresh_token: refreshToken, access_token: accessToken } = await made(
        refresh(identity, refreshToken),
      ));
    const rows = await identity.pool.rows<{ stored: string }>(sql`
      select h::text as stored from oauth_handles h
      where credential_id = ${grantOf(accessToken)} and kind = 'RefreshToken'`);
    assert.equal(rows.length, 2);
    assert.ok(rows.every(({ stored }) => !stored.includes(refreshToken.replace('iam_ref_', ''))));
    const { status, body } = await refresh(identity, first.refresh_token);
    assert.deepEqual([status, body], invalidGrant);
    assert.equal(await endOf(accessToken), 'handle_reused');
    assert.deepEqual((await refresh(identity, refreshToken)).body, { error: 'invalid_grant' });
  });

  test('with a token that only names the grant changes nothing', async () => {
    const { access_token: accessToken, refresh_token: refreshToken } = await connect(identity, person);
    const bytes = Buffer.from(refreshToken.replace('iam_ref_', ''), 'base64url');
    for (const place of [20, 47]) {
      const forged = Buffer.from(bytes);
      forged.writeUInt8(forged.readUInt8(place) ^ 1, place);
      const text = `iam_ref_${forged.toString('base64url')}`;
      keepSecret('forged refresh token', text);
      const { status, body } = await refresh(identity, text);
      assert.deepEqual([status, body], invalidGrant);
    }
    assert.equal(await endOf(accessToken), null);
    assert.equal((await refresh(identity, refreshToken)).status, 200);
  });

  test('of a former token by the wrong client changes nothing; its holder can still revoke the grant', async () => {
    const first = await connect(identity, person);
    const second = await made(refresh(identity, first.refresh_token));
    await made(refresh(identity, second.refresh_token));
    const { clientId } = await made(
      identity.post(`/tenants/${tenantId}/oauth-clients`, {
        name: 'Other',
        redirectUris: ['https://other.example/callback'],
      }),
    );
    assert.equal((await refresh(identity, first.refresh_token, { client_id: clientId })).status, 400);
    assert.equal(await endOf(first.access_token), null);
    const { status } = await identity.request('POST', '/oauth2/revoke', {
      body: new URLSearchParams({ token: first.refresh_token, client_id: 'baton-cli' }).toString(),
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
    });
    assert.equal(status, 200);
    assert.equal(await endOf(first.access_token), 'logout');
  });
});

describe('an authorization code', () => {
  test('whose redemption fails before its tokens are stored can be redeemed again', async () => {
    const pkce = makePkce();
    const back = await allow(identity, person, await begin(identity, requestOf(pkce)));
    const code = back.searchParams.get('code') as string;
    await whileRefused('RefreshToken', async () => {
      const { status, body } = await redeem(identity, code, pkce);
      assert.deepEqual([status, body.error], [503, 'temporarily_unavailable']);
    });
    const granted = await made(redeem(identity, code, pkce));
    assert.equal(await endOf(granted.access_token), null);
  });

  test('can not be repeated: the second use ends the grant', async () => {
    const pkce = makePkce();
    const back = await allow(identity, person, await begin(identity, requestOf(pkce)));
    const code = back.searchParams.get('code') as string;
    const granted = await made(redeem(identity, code, pkce));
    assert.deepEqual((await redeem(identity, code, pkce)).body, { error: 'invalid_grant' });
    assert.equal(await endOf(granted.access_token), 'handle_reused');
  });
});
