import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { sql } from '@baton/kernel/database/sql';
import { type Actor, startCoordination, type TestCoordination } from '../../testing/coordination.ts';
import { done, refused } from '../../testing/leases.ts';
import { journalIsStable } from '../../testing/ledger/journal-writer.ts';
import { mailAddress, putPreferences, smtpSettings } from '../../testing/notifications/notifications.ts';

let baton: TestCoordination;
const path = '/notifications/preferences';
/** The version of preferences that were never stored. */
const first = { 'if-match': '"notification_preferences-0"' };
before(async () => {
  baton = await startCoordination();
});
after(() => baton.close());

const person = () => baton.actor({ kind: 'human', permissions: [] });
async function eventsOf({ principalId }: Actor) {
  await journalIsStable(baton.pool);
  return (await done(baton.admin.get(`/events?entityId=${principalId}&types=notification.`))).items;
}

test('a person without preferences has the defaults, and learns that no channel is configured', async () => {
  assert.deepEqual(await done((await person()).get(path)), {
    email: { address: null, source: null },
    kinds: {
      'decision.requested': { mail: 'immediate', slack: 'immediate' },
      'task.assigned': { mail: 'digest', slack: 'immediate' },
      mention: { mail: 'immediate', slack: 'immediate' },
      'control_message.received': { mail: 'digest', slack: 'immediate' },
    },
    digestIntervalSeconds: 86_400,
    slackWebhook: null,
    channels: {
      mail: { available: false, reason: 'smtp_not_configured' },
      slack: { available: false, reason: 'slack_not_enabled' },
    },
    version: 0,
  });
});

test('the channels that the settings configure are available', async () => {
  const one = await person();
  const { url } = await baton.another({ ...smtpSettings({ port: 25 }), CP_SLACK_ENABLED: 'true' });
  const response = await fetch(`${url}/api/v1${path}`, { headers: { authorization: `Bearer ${one.token}` } });
  assert.deepEqual(((await response.json()) as any).channels, {
    mail: { available: true, reason: null },
    slack: { available: true, reason: null },
  });
});

test('preferences are replaced as a whole, by an event without the address; the same again change nothing', async () => {
  const one = await person();
  const email = mailAddress();
  const sent = { email, kinds: { 'task.assigned': { mail: 'off' } }, digestIntervalSeconds: 3600 };
  const stored = await done(putPreferences(one, sent));
  assert.deepEqual(
    [stored.email, stored.kinds['task.assigned'], stored.digestIntervalSeconds, stored.version],
    [{ address: email, source: 'own' }, { mail: 'off', slack: 'immediate' }, 3600, 1],
  );
  assert.equal((await done(putPreferences(one, sent))).version, 1);
  assert.deepEqual(await done(one.get(path)), stored);
  const second = await done(putPreferences(one, {}));
  assert.deepEqual(
    [second.email.address, second.kinds['task.assigned'].mail, second.digestIntervalSeconds, second.version],
    [null, 'digest', 86_400, 2],
  );
  const payloads = (await eventsOf(one)).map(({ type, payload }: any) => ({ type, ...payload }));
  const type = 'notification.preferences_updated';
  const { principalId } = one;
  assert.deepEqual(payloads, [
    {
      type,
      principalId,
      kinds: { 'task.assigned': { mail: 'off' } },
      digestIntervalSeconds: 3600,
      hasOwnEmail: true,
      via: 'api',
    },
    { type, principalId, kinds: {}, digestIntervalSeconds: 86_400, hasOwnEmail: false, via: 'api' },
  ]);
});

test('a version that is no longer the stored one is refused, also for the first preferences', async () => {
  const one = await person();
  const conflict = { entity: 'notification_preferences', id: one.principalId };
  const at = (version: number) => ({ 'if-match': `"notification_preferences-${version}"` });
  const put = (version: number, digestIntervalSeconds: number) =>
    one.put(path, { digestIntervalSeconds }, at(version));
  const early = await refused(put(5, 3600), 409, 'version_conflict');
  assert.deepEqual(
    [early.entity, early.id, early.expectedVersion, early.currentVersion],
    [conflict.entity, conflict.id, 5, 0],
  );
  const rivals = await Promise.all([put(0, 3600), put(0, 7200)]);
  assert.deepEqual(rivals.map(({ status }) => status).sort(), [200, 409]);
  const { headers } = await one.get(path);
  assert.equal(headers.get('etag'), '"notification_preferences-1"');
  // Sends the stored values again, with an old version.
  const { digestIntervalSeconds } = await done(one.get(path));
  const late = await refused(put(0, digestIntervalSeconds), 409, 'version_conflict');
  assert.deepEqual([late.expectedVersion, late.currentVersion], [0, 1]);
  assert.equal((await done(put(1, 10_800))).version, 2);
  await refused(put(1, 3600), 409, 'version_conflict');
  assert.equal((await eventsOf(one)).length, 2);
});

test("without an own address that of the profile is used, unless it can't be", async () => {
  const one = await person();
  const profileOf = async (email: string) => {
    const { version } = await done(baton.admin.get(`/principals/${one.principalId}`));
    await done(
      baton.admin.patch(
        `/principals/${one.principalId}`,
        { profile: { email } },
        { 'if-match': `"principal-${version}"` },
      ),
    );
    return (await done(one.get(path))).email;
  };
  const address = mailAddress();
  assert.deepEqual(await profileOf(address), { address, source: 'profile' });
  for (const unusable of ['nobody', `Maria <${address}>`, `${address}\r\nBcc: x@y.example`, 'a b@c.example'])
    assert.deepEqual(await profileOf(unusable), { address: null, source: null });
});

for (const email of [
  'nobody',
  'Maria <maria@people.example>',
  'maria@people.example\r\nBcc: other@people.example',
  'maria@people.example, other@people.example',
  '"a b"@people.example',
  'maria@[127.0.0.1]',
  `${'m'.repeat(65)}@people.example`,
])
  test(`the address ${JSON.stringify(email.slice(0, 30))} is refused`, async () => {
    const details = await refused(putPreferences(await person(), { email }), 422, 'invalid_email_address');
    assert.deepEqual(details, { field: 'email', reason: 'malformed' });
  });

test('with CP_MAIL_ALLOWED_DOMAINS an address of another domain is refused', async () => {
  const one = await person();
  const { url } = await baton.another({ CP_MAIL_ALLOWED_DOMAINS: '["Company.example"]' });
  const put = async (email: string) => {
    const response = await fetch(`${url}/api/v1${path}`, {
      method: 'PUT',
      headers: { authorization: `Bearer ${one.token}`, 'content-type': 'application/json', ...first },
      body: JSON.stringify({ email }),
    });
    return ((await response.json()) as any).error?.details.reason;
  };
  assert.equal(await put('maria@company.EXAMPLE'), undefined);
  assert.equal(await put('maria@sub.company.example'), 'domain_not_allowed');
});

test('an unknown kind, an unknown mode and an interval out of its bounds are refused', async () => {
  const one = await person();
  const details = await refused(
    putPreferences(one, { kinds: { 'lunch.ready': { mail: 'off' } } }),
    422,
    'unknown_notification_kind',
  );
  assert.deepEqual(details.unknown, ['lunch.ready']);
  assert.ok(details.known.includes('decision.requested'));
  await refused(
    putPreferences(one, { kinds: { 'task.assigned': { mail: 'weekly' } } }),
    400,
    'invalid_request',
  );
  await refused(
    putPreferences(one, { kinds: { 'task.assigned': { slack: 'digest' } } }),
    400,
    'invalid_request',
  );
  for (const digestIntervalSeconds of [899, 604_801, 3600.5])
    await refused(putPreferences(one, { digestIntervalSeconds }), 400, 'invalid_request');
  const many = Object.fromEntries(Array.from({ length: 101 }, (_, n) => [`kind.${n}`, { mail: 'off' }]));
  await refused(putPreferences(one, { kinds: many }), 400, 'invalid_request');
});

test('agents and services are not notified', async () => {
  for (const kind of ['agent', 'service'] as const) {
    const one = await baton.actor({ kind, permissions: [] });
    await refused(one.get(path), 403, 'not_a_person');
    await refused(one.put(path, {}, first), 403, 'not_a_person');
  }
});

test('a person enters another address five times a day at most, whatever else changes', async () => {
  const one = await person();
  const change = (preferences: object) => putPreferences(one, preferences);
  for (let n = 0; n < 4; n += 1) await done(change({ email: mailAddress() }));
  const last = mailAddress();
  await done(change({ email: last }));
  const details = await refused(change({ email: mailAddress() }), 409, 'too_many_address_changes');
  assert.deepEqual(details, { max: 5 });
  assert.equal((await done(one.get(path))).email.address, last);
  await done(change({ email: last, digestIntervalSeconds: 3600 }));
  await done(change({ email: null }));
  await refused(change({ email: last }), 409, 'too_many_address_changes');
  await baton.pool.run(sql`
    update notification_preferences set address_changes_since = now() - interval '25 hours'
    where principal_id = ${one.principalId}`);
  for (let n = 0; n < 5; n += 1) await done(change({ email: mailAddress() }));
  await refused(change({ email: mailAddress() }), 409, 'too_many_address_changes');
});

test('changes of the address in parallel do not exceed the maximum', async () => {
  const one = await person();
  await Promise.all(Array.from({ length: 20 }, () => putPreferences(one, { email: mailAddress() })));
  const row = await baton.pool.row(sql<{ changes: number }>`
    select address_changes as changes from notification_preferences where principal_id = ${one.principalId}`);
  assert.ok((row?.changes ?? 0) >= 1 && (row?.changes ?? 0) <= 5, JSON.stringify(row));
});

test('a token that only reads changes nothing', async () => {
  const one = await person();
  const token = await baton.issuer.sign({
    sub: one.iamPrincipalId,
    tenant_id: baton.tenantId,
    scope: ['control-plane:read'],
  });
  const send = (method: string, at: string, body?: object) =>
    baton.request(method, `/api/v1/notifications/${at}`, { token, headers: first, ...(body && { body }) });
  await done(send('GET', 'preferences'));
  const url = 'https://hooks.slack.com/services/T/B/x';
  for (const [method, at, body] of [
    ['PUT', 'preferences', {}],
    ['PUT', 'slack-webhook', { url }],
    ['DELETE', 'slack-webhook', undefined],
  ] as const) {
    const details = await refused(send(method, at, body), 403, 'permission_denied');
    assert.deepEqual(details, { required: ['control-plane:write'] });
  }
});
