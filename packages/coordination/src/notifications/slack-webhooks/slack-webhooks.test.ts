import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { sql } from '@baton/kernel/database/sql';
import { type Actor, startCoordination, type TestCoordination } from '../../testing/coordination.ts';
import { done, refused } from '../../testing/leases.ts';
import { publicUrl, webhookAddress } from '../../testing/notifications/notifications.ts';

let baton: TestCoordination;
before(async () => {
  baton = await startCoordination({ CP_SLACK_ENABLED: 'true', CP_PUBLIC_URL: publicUrl });
});
after(() => baton.close());

const own = '/notifications/slack-webhook';
const channel = '/notifications/slack-channel';
const person = () => baton.actor({ kind: 'human', permissions: [] });
const secrets = async () =>
  (
    await baton.pool.row<{ n: number }>(
      sql`select count(*) as n from sealed_secrets where folder = 'notifications'`,
    )
  )?.n as number;
const typesOf = async (entityId: string) =>
  (
    await baton.pool.rows<{ type: string }>(
      sql`select type from events where entity_id = ${entityId} order by sequence`,
    )
  ).map(({ type }) => type);
const idOf = async ({ tenantId, principalId }: Actor, isChannel = false) =>
  (
    await baton.pool.row<{ id: string }>(sql`
    select id from notification_webhooks
    where tenant_id = ${tenantId} and principal_id is not distinct from ${isChannel ? null : principalId}`)
  )?.id as string;

test('an own webhook is shown by its host only, replaced with its secret, and removed with it', async () => {
  const one = await person();
  const before = await secrets();
  const url = webhookAddress();
  const set = await one.put(own, { url });
  assert.deepEqual([set.status, set.body.host], [200, 'hooks.slack.com']);
  const { slackWebhook } = await done(one.get('/notifications/preferences'));
  assert.deepEqual(slackWebhook, set.body);
  const id = await idOf(one);
  await done(one.put(own, { url: webhookAddress() }));
  assert.deepEqual([await idOf(one), await secrets()], [id, before + 1]);
  for (let n = 0; n < 2; n += 1) assert.equal((await one.delete(own)).status, 204);
  assert.equal((await done(one.get('/notifications/preferences'))).slackWebhook, null);
  assert.equal(await secrets(), before);
  assert.deepEqual(await typesOf(id), [
    'notification.slack_webhook_set',
    'notification.slack_webhook_set',
    'notification.slack_webhook_removed',
  ]);
  const payloads = await baton.pool.rows<{ payload: object }>(
    sql`select payload from events where entity_id = ${id}`,
  );
  assert.ok(!JSON.stringify(payloads).includes('services'));
});

test('two writers at once leave one webhook and one secret', async () => {
  const one = await person();
  const before = await secrets();
  const all = await Promise.all(Array.from({ length: 8 }, () => one.put(own, { url: webhookAddress() })));
  assert.ok(all.every(({ status }) => status === 200));
  assert.equal(await secrets(), before + 1);
});

for (const [what, url] of [
  ['of another host', 'https://evil.example/services/T/B/x'],
  ['without https', 'http://hooks.slack.com/services/T/B/x'],
  ['with another port', 'https://hooks.slack.com:8443/services/T/B/x'],
  ['with a user', 'https://user:pass@hooks.slack.com/services/T/B/x'],
  ['with a fragment', 'https://hooks.slack.com/services/T/B/x#y'],
  ['of a host that begins alike', 'https://hooks.slack.com.evil.example/services/T/B/x'],
  ['of no web address', 'file:///etc/passwd'],
  ['that is none', 'hooks.slack.com'],
] as const)
  test(`an address ${what} is refused`, async () => {
    const before = await secrets();
    const details = await refused((await person()).put(own, { url }), 422, 'slack_webhook_not_allowed');
    assert.deepEqual(details, { hosts: ['hooks.slack.com', 'hooks.slack-gov.com'] });
    assert.equal(await secrets(), before);
  });

test("the tenant's channel is set by people who may manage connections, with its kinds", async () => {
  const reader = await baton.actor({ kind: 'human', permissions: ['connections.read'] });
  const manager = await baton.actor({
    kind: 'human',
    permissions: ['connections.read', 'connections.manage'],
  });
  await refused(reader.get(channel), 404, 'not_found');
  await refused(reader.put(channel, { url: webhookAddress() }), 403, 'permission_denied');
  const set = await done(manager.put(channel, { url: webhookAddress() }));
  assert.deepEqual([set.host, set.kinds], ['hooks.slack.com', ['decision.requested']]);
  const kinds = ['task.assigned', 'decision.requested', 'task.assigned'];
  const again = await done(manager.put(channel, { url: webhookAddress(), kinds }));
  assert.deepEqual(again.kinds, ['task.assigned', 'decision.requested']);
  assert.deepEqual(await done(reader.get(channel)), again);
  await refused(
    manager.put(channel, { url: webhookAddress(), kinds: ['lunch'] }),
    422,
    'unknown_notification_kind',
  );
  await refused(baton.otherAdmin.get(channel), 404, 'not_found');
  await refused(reader.delete(channel), 403, 'permission_denied');
  // Deleting the caller's own webhook doesn't affect the channel's.
  assert.equal((await manager.delete(own)).status, 204);
  assert.deepEqual(await done(reader.get(channel)), again);
  assert.equal((await manager.delete(channel)).status, 204);
  await refused(reader.get(channel), 404, 'not_found');
});

test('agents have no webhook', async () => {
  const agent = await baton.actor({ kind: 'agent', permissions: [] });
  await refused(agent.put(own, { url: webhookAddress() }), 403, 'not_a_person');
  await refused(agent.delete(own), 403, 'not_a_person');
});

test('without CP_SLACK_ENABLED, and without a secret store, webhooks are refused', async () => {
  const { token } = await baton.actor({ kind: 'human', permissions: ['connections.manage'] });
  const put = async (path: string, env: Record<string, string>, address = webhookAddress()) => {
    const { url } = await baton.another(env);
    const response = await fetch(`${url}/api/v1${path}`, {
      method: 'PUT',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify({ url: address }),
    });
    return [response.status, ((await response.json()) as any).error.code];
  };
  const lost = { CP_SECRET_STORE_URL: 'http://127.0.0.1:1', CP_SECRET_STORE_TOKEN: 'a-token' };
  for (const path of [own, channel]) {
    assert.deepEqual(await put(path, { CP_SLACK_ENABLED: 'false' }), [409, 'slack_not_enabled']);
    assert.deepEqual(await put(path, lost), [503, 'secret_store_unavailable']);
    assert.deepEqual(await put(path, {}, 'https://evil.example/x'), [422, 'slack_webhook_not_allowed']);
  }
});
