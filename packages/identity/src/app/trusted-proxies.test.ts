import assert from 'node:assert/strict';
import { test } from 'node:test';
import { largeBodies } from '@baton/kernel/limits/large-bodies';
import { SettingError } from '@baton/kernel/process/config';
import { startIdentity } from '../testing/identity.ts';
import { readIdentitySettings } from './settings.ts';

const limit = { IAM_FAILURES_PER_ADDRESS_MAX: '2' };

test('behind trusted proxies failures count for the client, whatever it writes into X-Forwarded-For', async (t) => {
  const identity = await startIdentity({ ...limit, IAM_TRUSTED_PROXIES: '["127.0.0.0/8", "10.0.0.0/8"]' });
  t.after(() => identity.close());
  const fail = async (forwarded: string) =>
    (
      await identity.request('GET', '/api/v1/tenants', {
        headers: { 'x-iam-bootstrap-token': 'wrong', 'x-forwarded-for': forwarded },
      })
    ).status;
  const statuses = [];
  for (const spoofed of ['1.1.1.1', '2.2.2.2', '3.3.3.3, ::1', 'unknown'])
    statuses.push(await fail(`${spoofed}, 203.0.113.9, 10.0.0.2`));
  assert.deepEqual(statuses, [401, 401, 429, 429]);
  assert.equal(await fail('203.0.113.9, 203.0.113.10'), 401, 'another client is not limited');
  assert.equal(await fail('::ffff:203.0.113.9'), 429, 'the same client in another form');
  const refusals = identity.logged.map((line) => JSON.parse(line)).filter(({ msg }) => msg === 'refused');
  assert.deepEqual(
    [...new Set(refusals.map(({ address }) => address))],
    ['203.0.113.9', '203.0.113.10'],
    'the log names the client',
  );
});

test('large bodies of one IPv6 network are read one at a time, whichever of its addresses sends them', async (t) => {
  const identity = await startIdentity({ IAM_TRUSTED_PROXIES: '["127.0.0.0/8"]' });
  let isHeld = true;
  t.after(() => {
    isHeld = false;
    return identity.close();
  });
  const held = largeBodies.read(
    '2001:db8:1:2::/64',
    (function* () {
      while (isHeld) yield;
    })(),
  );
  const send = (from: string) =>
    identity.post('/tenants', { slug: 'large', name: 'x'.repeat(40_000) }, { 'x-forwarded-for': from });
  let isAnswered = false;
  const waiting = send('2001:db8:1:2:ffff::9').then(({ status }) => {
    isAnswered = true;
    return status;
  });
  const { status } = await send('2001:db8:1:3::1');
  assert.ok(status >= 400 && status < 500, `${status}`);
  assert.equal(isAnswered, false);
  isHeld = false;
  await held;
  assert.equal(await waiting, status);
});

test('without trusted proxies the header changes nothing', async (t) => {
  const identity = await startIdentity(limit);
  t.after(() => identity.close());
  const statuses = [];
  for (let n = 1; n <= 3; n += 1) {
    const headers = { 'x-iam-bootstrap-token': 'wrong', 'x-forwarded-for': `203.0.113.${n}` };
    statuses.push((await identity.request('GET', '/api/v1/tenants', { headers })).status);
  }
  assert.deepEqual(statuses, [401, 401, 429]);
});

test('a setting that is no list of networks keeps identity from starting', () => {
  assert.throws(() => readIdentitySettings({ IAM_TRUSTED_PROXIES: '10.0.0.0/8' }), SettingError);
});
