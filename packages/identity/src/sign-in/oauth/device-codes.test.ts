import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { decodeJwt } from 'jose';
import { sql } from '@baton/kernel/database/sql';
import { startIdentity, type TestIdentity, testSigningKey } from '../../testing/identity.ts';
import { made, makeAudience, makeTenant, readScope, writeScope } from '../../testing/objects.ts';
import { untilBlocked } from '../../testing/waiting.ts';
import { makePerson, type Person } from '../passkeys/testing/people.ts';
import { sweepExpiredHandles } from './expired-handles.ts';
import { pendingDeviceCodes } from './provider-adapter.ts';
import { decide, oauthSettings, read, refresh } from './testing/browser.ts';
import { newDevice, poll, requestDevice } from './testing/device.ts';

let identity: TestIdentity;
let tenantId: string;
let person: Person;
before(async () => {
  identity = await startIdentity({
    IAM_SIGNING_PRIVATE_KEY: testSigningKey(),
    IAM_TRUSTED_PROXIES: '["127.0.0.1/32"]',
    ...oauthSettings,
  });
  tenantId = await makeTenant(identity);
  await makeAudience(identity, tenantId, 'control-plane', [readScope, writeScope]);
  person = await makePerson(identity, tenantId);
});
after(() => identity.close());

/** Makes the last poll seem a minute old, as if the device had waited. */
const wait = () => identity.pool.run(sql`update oauth_handles set polled_at = now() - interval '1 min'`);

async function pollLater(deviceCode: string, more: Record<string, string> = {}) {
  await wait();
  return poll(identity, deviceCode, more);
}

describe('a device code', () => {
  test('has a code for people, the page where they enter it, and an interval', async () => {
    const { status, body, headers } = await requestDevice(identity);
    assert.equal(status, 200);
    assert.equal(headers.get('cache-control'), 'no-store');
    const { device_code: deviceCode, user_code: userCode, ...rest } = body;
    assert.match(deviceCode, /^[\w-]{43}$/);
    assert.match(userCode, /^[BCDFGHJKLMNPQRSTVWXZ]{4}-[BCDFGHJKLMNPQRSTVWXZ]{4}$/);
    assert.deepEqual(rest, {
      verification_uri: 'http://localhost:8010/iam/oauth2/device',
      verification_uri_complete: `http://localhost:8010/iam/oauth2/device#code=${userCode}`,
      expires_in: 600,
      interval: 5,
    });
  });

  test('shows the person what requests access, from where and when', async () => {
    const headers = { 'user-agent': 'baton-cli/0.2.0', 'x-forwarded-for': '203.0.113.9' };
    const { user_code: userCode } = await made(requestDevice(identity, {}, headers));
    const { client, device, scopes } = await made(
      read(identity, person, { userCode: userCode.toLowerCase() }),
    );
    assert.deepEqual(
      [client.id, client.redirectHost, device.address, device.userAgent, scopes],
      ['baton-cli', null, '203.0.113.9', 'baton-cli/0.2.0', [readScope, writeScope]],
    );
    assert.ok(Math.abs(Date.parse(device.requestedAt) - Date.now()) < 60_000);
  });

  test('is exchanged once the person has allowed it, once', async () => {
    const { device_code: deviceCode, user_code: userCode } = await newDevice(identity);
    const pending = await poll(identity, deviceCode);
    assert.deepEqual([pending.status, pending.body], [400, { error: 'authorization_pending' }]);
    const early = await poll(identity, deviceCode);
    assert.deepEqual([early.status, early.body], [400, { error: 'slow_down' }]);
    assert.deepEqual(await made(decide(identity, person, { userCode })), { redirectTo: null });
    const granted = await made(pollLater(deviceCode));
    const claims = decodeJwt(granted.access_token);
    assert.deepEqual([claims.sub, granted.scope], [person.principalId, `${readScope} ${writeScope}`]);
    assert.equal((await refresh(identity, granted.refresh_token)).status, 200);
    const again = await pollLater(deviceCode);
    assert.deepEqual([again.status, again.body], [400, { error: 'invalid_grant' }]);
    assert.equal((await decide(identity, person, { userCode })).body.detail, 'invalid_user_code');
  });

  test('is refused to the device when the person refuses it, and when it expires', async () => {
    const refused = await newDevice(identity);
    await made(decide(identity, person, { userCode: refused.user_code, decision: 'deny' }));
    assert.deepEqual((await pollLater(refused.device_code)).body, { error: 'access_denied' });
    const late = await newDevice(identity);
    await identity.pool.run(sql`
      update oauth_handles set expires_at = now() - interval '1 s',
        payload = payload || jsonb_build_object('exp', floor(extract(epoch from now())) - 1)
      where kind = 'DeviceCode' and consumed_at is null`);
    assert.deepEqual((await pollLater(late.device_code)).body, { error: 'expired_token' });
    assert.equal(
      (await decide(identity, person, { userCode: late.user_code })).body.detail,
      'invalid_user_code',
    );
  });

  test('is of one client', async () => {
    const { device_code: deviceCode } = await newDevice(identity);
    assert.deepEqual((await poll(identity, deviceCode, { client_id: 'other' })).body, {
      error: 'invalid_client',
    });
    const nobody = await requestDevice(identity, { client_id: 'nobody' });
    assert.deepEqual([nobody.status, nobody.body], [401, { error: 'invalid_client' }]);
    const elsewhere = await requestDevice(identity, { resource: 'https://elsewhere.example' });
    assert.deepEqual([elsewhere.status, elsewhere.body], [400, { error: 'invalid_target' }]);
  });

  test('cannot be found by trying: a person has ten wrong guesses', async () => {
    const guesser = await makePerson(identity, tenantId);
    const { user_code: userCode } = await newDevice(identity);
    for (let guess = 0; guess < 10; guess += 1) {
      const { body } = await read(identity, guesser, { userCode: `BCDF-GHJ${'BCDFGHJKLM'[guess]}` });
      assert.equal(body.detail, 'invalid_user_code');
    }
    const { status, body, headers } = await read(identity, guesser, { userCode });
    assert.deepEqual([status, body.detail], [429, 'rate_limited']);
    assert.equal((await decide(identity, guesser, { userCode })).body.detail, 'rate_limited');
    assert.ok(Number(headers.get('retry-after')) > 500);
    assert.equal((await read(identity, person, { userCode })).status, 200);
  });

  test('cannot be found by trying many at the same time', async () => {
    const guesser = await makePerson(identity, tenantId);
    const strict = await identity.another({ IAM_DATABASE_CONNECTIONS_MAX: '25' });
    const guesses = await identity.pool.transaction(async (db) => {
      // All guesses wait for the table, so that each is admitted before another is found to be wrong.
      await db.run(sql`lock table oauth_handles in access exclusive mode`);
      const sent = Array.from({ length: 20 }, (_, at) =>
        read(strict, guesser, { userCode: `BCDF-GH${'BCDFGHJKLM'[at % 10]}${'BC'[at % 2]}` }),
      );
      await untilBlocked(identity, 10);
      return sent;
    });
    const details = (await Promise.all(guesses)).map(({ body }) => body.detail);
    assert.equal(details.filter((detail) => detail === 'invalid_user_code').length, 10);
    assert.equal(details.filter((detail) => detail === 'rate_limited').length, 10);
    await strict.close();
  });

  test('may be of a scope that no text of a scope can be', async () => {
    const { status, body } = await requestDevice(identity, { scope: 'caf\u00e9' });
    assert.deepEqual([status, body], [400, { error: 'invalid_scope' }]);
  });

  test('is limited per address; other addresses are not affected', async () => {
    const from = (address: string) => requestDevice(identity, {}, { 'x-forwarded-for': address });
    for (let count = 0; count < pendingDeviceCodes.ofOneMax; count += 1)
      assert.equal((await from('198.51.100.1')).status, 200);
    const { status, body, headers } = await from('198.51.100.1');
    assert.deepEqual([status, body], [429, { error: 'slow_down' }]);
    assert.equal(headers.get('retry-after'), '60');
    assert.equal((await from('198.51.100.2')).status, 200);
  });

  test('is limited exactly, also for simultaneous requests', async () => {
    const headers = { 'x-forwarded-for': '198.51.100.3' };
    const requests = await identity.pool.transaction(async (db) => {
      // The requests wait for the table, so that none of them could see the code of another that runs beside it.
      await db.run(sql`lock table oauth_handles in access exclusive mode`);
      const sent = Array.from({ length: 25 }, () => requestDevice(identity, {}, headers));
      await untilBlocked(identity, 1);
      return sent;
    });
    const statuses = (await Promise.all(requests)).map(({ status }) => status);
    assert.equal(statuses.filter((status) => status === 200).length, pendingDeviceCodes.ofOneMax);
    assert.equal(statuses.filter((status) => status === 429).length, 25 - pendingDeviceCodes.ofOneMax);
  });

  test('that was refused counts until its device has learned of it', async () => {
    const headers = { 'x-forwarded-for': '198.51.100.4' };
    const codes: { device_code: string; user_code: string }[] = [];
    for (let count = 0; count < pendingDeviceCodes.ofOneMax; count += 1)
      codes.push(await made(requestDevice(identity, {}, headers)));
    for (const { user_code: userCode } of codes)
      await made(decide(identity, person, { userCode, decision: 'deny' }));
    assert.equal((await requestDevice(identity, {}, headers)).status, 429);
    const [refused] = codes;
    assert.ok(refused);
    assert.equal(
      (await decide(identity, person, { userCode: refused.user_code })).body.detail,
      'invalid_user_code',
    );
    assert.deepEqual((await pollLater(refused.device_code)).body, { error: 'access_denied' });
    assert.equal((await requestDevice(identity, {}, headers)).status, 200);
    assert.deepEqual((await pollLater(refused.device_code)).body, { error: 'invalid_grant' });
  });

  test('is deleted an hour after it has expired', async () => {
    await newDevice(identity);
    await identity.pool.run(sql`update oauth_handles set expires_at = now() - interval '61 min'`);
    await newDevice(identity);
    await sweepExpiredHandles(identity.pool);
    const [row] = await identity.pool.rows<{ count: number }>(
      sql`select count(*) as count from oauth_handles`,
    );
    assert.equal(Number(row?.count), 1);
  });
});
