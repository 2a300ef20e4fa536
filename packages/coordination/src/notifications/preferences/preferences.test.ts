import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { type Actor, startCoordination, type TestCoordination } from '../../testing/coordination.ts';
import { done, refused } from '../../testing/leases.ts';
import { journalIsStable } from '../../testing/ledger/journal-writer.ts';
import { mailAddress, smtpSettings } from '../../testing/notifications/notifications.ts';

let baton: TestCoordination;
const path = '/notifications/preferences';
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
  const first = await done(one.put(path, sent));
  assert.deepEqual(
    [first.email, first.kinds['task.assigned'], first.digestIntervalSeconds, first.version],
    [{ address: email, source: 'own' }, { mail: 'off', slack: 'immediate' }, 3600, 1],
  );
  assert.equal((await done(one.put(path, sent))).version, 1);
  assert.deepEqual(await done(one.get(path)), first);
  const second = await done(one.put(path, {}));
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
    const details = await refused((await person()).put(path, { email }), 422, 'invalid_email_address');
    assert.deepEqual(details, { field: 'email', reason: 'malformed' });
  });

test('with CP_MAIL_ALLOWED_DOMAINS an address of another domain is refused', async () => {
  const one = await person();
  const { url } = await baton.another({ CP_MAIL_ALLOWED_DOMAINS: '["Company.example"]' });
  const put = async (email: string) => {
    const response = await fetch(`${url}/api/v1${path}`, {
      method: 'PUT',
      headers: { authorization: `Bearer ${one.token}`, 'content-type': 'application/json' },
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
    one.put(path, { kinds: { 'lunch.ready': { mail: 'off' } } }),
    422,
    'unknown_notification_kind',
  );
  assert.deepEqual(details.unknown, ['lunch.ready']);
  assert.ok(details.known.includes('decision.requested'));
  await refused(one.put(path, { kinds: { 'task.assigned': { mail: 'weekly' } } }), 400, 'invalid_request');
  await refused(one.put(path, { kinds: { 'task.assigned': { slack: 'digest' } } }), 400, 'invalid_request');
  for (const digestIntervalSeconds of [899, 604_801, 3600.5])
    await refused(one.put(path, { digestIntervalSeconds }), 400, 'invalid_request');
  const many = Object.fromEntries(Array.from({ length: 101 }, (_, n) => [`kind.${n}`, { mail: 'off' }]));
  await refused(one.put(path, { kinds: many }), 400, 'invalid_request');
});

test('agents and services are not notified', async () => {
  for (const kind of ['agent', 'service'] as const) {
    const one = await baton.actor({ kind, permissions: [] });
    await refused(one.get(path), 403, 'not_a_person');
    await refused(one.put(path, {}), 403, 'not_a_person');
  }
});

test('a token that only reads changes nothing', async () => {
  const one = await person();
  const token = await baton.issuer.sign({
    sub: one.iamPrincipalId,
    tenant_id: baton.tenantId,
    scope: ['control-plane:read'],
  });
  const send = (method: string, at: string, body?: object) =>
    baton.request(method, `/api/v1/notifications/${at}`, { token, ...(body && { body }) });
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
