import assert from 'node:assert/strict';
import { after, before, beforeEach, test } from 'node:test';
import { sql } from '@baton/kernel/database/sql';
import { type Actor, startCoordination, type TestCoordination } from '../../testing/coordination.ts';
import { done, makeTask } from '../../testing/leases.ts';
import { emptyOutbox, type Received, type Receiver, startReceiver } from '../../testing/ledger/sinks.ts';
import {
  type LoggedWorker,
  publicUrl,
  putPreferences,
  startSender,
  untilNotified,
  webhookAddress,
} from '../../testing/notifications/notifications.ts';

let baton: TestCoordination;
let slack: Receiver;
let worker: LoggedWorker;
let respond: (
  received: Received,
) => { status: number; headers?: Record<string, string>; body?: string } | undefined;
before(async () => {
  slack = await startReceiver((received) => respond(received));
  const hosts = JSON.stringify([new URL(slack.url).host]);
  baton = await startCoordination({
    CP_SLACK_ENABLED: 'true',
    CP_PUBLIC_URL: publicUrl,
    CP_SLACK_WEBHOOK_HOSTS: hosts,
    CP_OUTBOUND_ALLOWED_HOSTS: hosts,
    CP_OUTBOX_BACKOFF_BASE_SECONDS: '1',
    CP_OUTBOX_BACKOFF_MAX_SECONDS: '1',
    CP_OUTBOX_MAX_ATTEMPTS: '3',
    CP_OUTBOX_LOCK_TIMEOUT_SECONDS: '4',
  });
  worker = await startSender(baton.env);
});
after(async () => {
  await worker.close();
  await slack.stop();
  await baton.close();
});
beforeEach(() => {
  respond = () => ({ status: 200, body: 'ok' });
});

interface Subscriber extends Actor {
  readonly url: string;
}
async function person(preferences: object = {}): Promise<Subscriber> {
  const actor = await baton.actor({ kind: 'human', permissions: ['approvals.decide', 'tasks.read'] });
  const url = webhookAddress(slack.url);
  await done(actor.put('/notifications/slack-webhook', { url }));
  await done(putPreferences(actor, preferences));
  return { ...actor, url };
}
const postsTo = ({ url }: { url: string }) =>
  slack.received.filter(({ path }) => path === new URL(url).pathname).map(({ body }) => JSON.parse(body));
const ask = (one: Actor, comment = 'May I?', more: object = {}) =>
  done(baton.admin.post('/approvals', { assignedPrincipalId: one.principalId, comment, ...more }), 201);
const listOf = async (status: string) =>
  (await done(baton.admin.get(`/operations/outbox?status=${status}`))).items as any[];
const isDelivered = () =>
  untilNotified(async () => {
    const row = await baton.pool.row<{ n: number }>(sql`
      select (select count(*) from outbox) + (select count(*) from outbox_deliveries where dead_at is null) as n`);
    return row?.n === 0;
  }, 'the outbox');

test('a decision is posted to the webhook of the person, with a link, and texts can contain neither mentions nor links', async () => {
  const one = await person();
  const task = await makeTask(baton, { title: 'Ship <!channel> & <https://evil.example|this>' });
  const link = `<${publicUrl}/approvals/`;
  const approval = await ask(one, '<@U123> ok?\nsecond line', { task: task.id });
  await untilNotified(() => postsTo(one).length === 1);
  const [message] = postsTo(one);
  assert.deepEqual([message.unfurl_links, message.unfurl_media], [false, false]);
  const texts = message.blocks.map(({ text }: { text: { text: string } }) => text.text);
  assert.equal(texts.at(-1), `${link}${approval.id}|Open the decision>`);
  assert.ok(texts[0].includes('Ship &lt;!channel&gt; &amp; &lt;https://evil.example|this&gt;'));
  assert.equal(texts[1], '> &lt;@U123&gt; ok?\n> second line');
  // Slack turns bare addresses into links, and names into mentions, unless a text is verbatim.
  for (const { type, text } of message.blocks)
    assert.deepEqual([type, text.type, text.verbatim], ['section', 'mrkdwn', true]);
  // The text is for systems without blocks.
  assert.ok(message.text.endsWith(`${link}${approval.id}|Open the decision>`));
  const outside = message.text.slice(0, message.text.indexOf(link));
  assert.equal(outside.match(/<|:\/\/|[@#]\w|www\./i), null);
  for (const text of [outside, ...texts.slice(0, -1)]) assert.equal(text.match(/</), null);
  await isDelivered();
  assert.equal(postsTo(one).length, 1);
});

test('the longest question fits the sections of Slack', async () => {
  const one = await person();
  await ask(one, `@channel www.evil.example #general https://evil.example ${'&'.repeat(3000)}`);
  await untilNotified(() => postsTo(one).length === 1);
  const [message] = postsTo(one);
  assert.equal(message.blocks.length, 5);
  for (const { text } of message.blocks) assert.ok(text.text.length <= 3000, String(text.text.length));
  assert.equal(message.text.match(/[@#]\w|www\.|:\/\/evil/), null);
  await isDelivered();
});

test('a mention is posted with the comment, which can mention nobody in Slack and contains no link', async () => {
  const one = await person();
  const task = await makeTask(baton, { title: 'Ship' });
  const body = `@[<!channel>](${one.principalId}) see <https://evil.example|this>`;
  await done(baton.admin.post(`/tasks/${task.id}/comments`, { body }), 201);
  await untilNotified(() => postsTo(one).length === 1);
  const [message] = postsTo(one);
  const texts = message.blocks.map(({ text }: { text: { text: string } }) => text.text);
  assert.ok(texts[0].startsWith(`*Mentioned: Ship (${task.publicId})*\n`));
  assert.equal(texts[1], '> @&lt;!channel&gt; see &lt;https://evil.example|this&gt;');
  assert.equal(texts[2], `<${publicUrl}/tasks/${task.publicId}|Open the task>`);
});

test('kinds are turned off one by one, and somebody without a webhook gets nothing', async () => {
  const one = await person({ kinds: { 'decision.requested': { slack: 'off' } } });
  const without = await baton.actor({ kind: 'human', permissions: ['approvals.decide'] });
  await ask(one);
  await ask(without);
  await makeTask(baton, { title: 'a task', assigneeId: one.principalId });
  await untilNotified(() => postsTo(one).length === 1);
  await isDelivered();
  assert.deepEqual(
    postsTo(one).map(({ text }) => text.startsWith('*Task assigned: a task')),
    [true],
  );
});

test("the tenant's channel gets its kinds once per event, for any addressee", async () => {
  const [one, other] = [await person(), await person()];
  const role = await done(baton.admin.post('/roles', { slug: `r${Date.now()}`, name: 'Deciders' }), 201);
  for (const { principalId } of [one, other])
    await done(baton.admin.post(`/principals/${principalId}/roles`, { roleId: role.id }), 201);
  const channel = { url: webhookAddress(slack.url) };
  await done(baton.admin.put('/notifications/slack-channel', { ...channel, kinds: ['decision.requested'] }));
  await done(baton.admin.post('/approvals', { requiredRoleId: role.id, comment: 'May I?' }), 201);
  await makeTask(baton, { assigneeId: one.principalId });
  await untilNotified(() => postsTo(one).length === 2 && postsTo(other).length === 1);
  await isDelivered();
  assert.equal(postsTo(channel).length, 1);
  assert.equal((await baton.admin.delete('/notifications/slack-channel')).status, 204);
  await ask(one);
  await isDelivered();
  assert.equal(postsTo(channel).length, 1);
});

test('a webhook that was removed at Slack makes a dead letter; one that is busy is tried again', async () => {
  const [gone, busy] = [await person(), await person()];
  let refusals = 0;
  respond = ({ path }) => {
    if (path === new URL(gone.url).pathname) return { status: 404, body: 'no_service' };
    if (path !== new URL(busy.url).pathname || refusals === 2) return { status: 200 };
    refusals += 1;
    return { status: 429, headers: { 'retry-after': '1' } };
  };
  await ask(gone);
  await ask(busy);
  await untilNotified(async () => (await listOf('dead')).length === 1);
  const [letter] = await listOf('dead');
  assert.deepEqual(
    [letter.sink, letter.lastError, letter.attempts],
    ['baton:slack', 'the webhook answered 404', 1],
  );
  await untilNotified(() => postsTo(busy).length === 3);
  await isDelivered();
  assert.deepEqual([postsTo(gone).length, postsTo(busy).length], [1, 3]);
  await emptyOutbox(baton.pool);
  await worker.close();
  worker = await startSender(baton.env);
});

test('a redirect is not followed', async () => {
  const one = await person();
  respond = () => ({ status: 302, headers: { location: slack.url.replace('/hook', '/elsewhere') } });
  await ask(one);
  await untilNotified(async () => (await listOf('dead')).length === 1);
  assert.equal((await listOf('dead'))[0].lastError, 'the webhook answered 302');
  assert.equal(slack.received.filter(({ path }) => path === '/elsewhere').length, 0);
  await emptyOutbox(baton.pool);
  await worker.close();
  worker = await startSender(baton.env);
});

test('an address is used for no other host than that for which it was entered', async () => {
  const one = await person();
  await baton.pool.run(sql`
    update notification_webhooks set host = 'hooks.slack.com' where principal_id = ${one.principalId}`);
  await ask(one);
  await untilNotified(async () => (await listOf('dead')).length === 1);
  assert.equal((await listOf('dead'))[0].lastError, 'the address of the webhook is not stored');
  assert.equal(postsTo(one).length, 0);
  await emptyOutbox(baton.pool);
  await worker.close();
  worker = await startSender(baton.env);
});

test('a private address is refused unless the operator allows it', async () => {
  const one = await person();
  await worker.close();
  worker = await startSender({ ...baton.env, CP_OUTBOUND_ALLOWED_HOSTS: '[]' });
  await ask(one);
  await untilNotified(async () => (await listOf('dead')).length === 1);
  assert.match((await listOf('dead'))[0].lastError, /^the webhook could not be reached: not_https$/);
  assert.equal(postsTo(one).length, 0);
  await emptyOutbox(baton.pool);
  await worker.close();
  worker = await startSender(baton.env);
});

test('a webhook that is silent gets a message twice at most', async () => {
  const one = await person();
  respond = ({ path }) => (path === new URL(one.url).pathname ? undefined : { status: 200 });
  await ask(one);
  await untilNotified(async () => (await listOf('dead')).length === 1);
  assert.match((await listOf('dead'))[0].lastError, /may have been sent/);
  assert.equal(postsTo(one).length, 2);
  await emptyOutbox(baton.pool);
  await worker.close();
  worker = await startSender(baton.env);
});

test("a dead webhook of the tenant's channel makes one dead letter, and people keep getting theirs", async () => {
  const one = await person();
  const channel = { url: webhookAddress(slack.url) };
  respond = ({ path }) => ({ status: path === new URL(channel.url).pathname ? 404 : 200 });
  await done(baton.admin.put('/notifications/slack-channel', { ...channel, kinds: ['decision.requested'] }));
  for (let n = 1; n <= 4; n += 1) {
    await ask(one, `question ${n}`);
    await untilNotified(() => postsTo(one).length === n);
  }
  await isDelivered();
  assert.deepEqual([(await listOf('dead')).length, postsTo(channel).length], [1, 1]);
  const next = { url: webhookAddress(slack.url) };
  await done(baton.admin.put('/notifications/slack-channel', { ...next, kinds: ['decision.requested'] }));
  await ask(one, 'at the new webhook');
  await untilNotified(() => postsTo(next).length === 1);
  await isDelivered();
  assert.equal((await baton.admin.delete('/notifications/slack-channel')).status, 204);
  await emptyOutbox(baton.pool);
  await worker.close();
  worker = await startSender(baton.env);
});

test('a webhook that fails again and again is left out until it is tried again, and delays nobody', async () => {
  const [failing, other] = [await person(), await person()];
  respond = ({ path }) => ({ status: path === new URL(failing.url).pathname ? 503 : 200 });
  await ask(failing, 'the first');
  await untilNotified(async () => (await listOf('dead')).length === 1, 'the dead letter');
  assert.equal(postsTo(failing).length, 3);
  await baton.pool.run(sql`
    update notification_pauses set paused_until = now() + interval '1 hour' where recipient_id = ${failing.principalId}`);
  for (let n = 0; n < 5; n += 1) await ask(failing, `question ${n}`);
  await ask(other);
  await untilNotified(() => postsTo(other).length === 1);
  await isDelivered();
  assert.deepEqual([postsTo(failing).length, (await listOf('dead')).length], [3, 1]);
  respond = () => ({ status: 200 });
  await baton.pool.run(sql`
    update notification_pauses set paused_until = now() - interval '1 ms' where recipient_id = ${failing.principalId}`);
  await ask(failing, 'the next');
  await untilNotified(() => postsTo(failing).length === 4);
  await emptyOutbox(baton.pool);
  await worker.close();
  worker = await startSender(baton.env);
});

test("the hourly maxima of a person and of the tenant's channel are exact with several workers", async () => {
  const people = [await person(), await person()];
  const channel = { url: webhookAddress(slack.url) };
  await done(baton.admin.put('/notifications/slack-channel', { ...channel, kinds: ['decision.requested'] }));
  await worker.close();
  for (let n = 0; n < 10; n += 1) for (const one of people) await ask(one, `question ${n}`);
  const env = {
    ...baton.env,
    CP_NOTIFICATIONS_HOURLY_MAX: '2',
    CP_SLACK_CHANNEL_HOURLY_MAX: '7',
    // A message that is late may have been sent, and counts.
    CP_OUTBOX_LOCK_TIMEOUT_SECONDS: '40',
  };
  const workers = await Promise.all([startSender(env), startSender(env), startSender(env)]);
  await isDelivered();
  for (const each of workers) await each.close();
  assert.deepEqual(
    [...people, channel].map((each) => postsTo(each).length),
    [2, 2, 7],
  );
  assert.equal((await baton.admin.delete('/notifications/slack-channel')).status, 204);
  worker = await startSender(baton.env);
});

test('while the secret store is unavailable no attempt is counted', async () => {
  const one = await person();
  await worker.close();
  const away = { CP_SECRET_STORE_URL: 'http://127.0.0.1:9', CP_SECRET_STORE_TOKEN: 'of-no-store' };
  const without = await startSender({ ...baton.env, ...away });
  await ask(one);
  await untilNotified(() => without.lines.some((line) => line.includes('the secret store is unavailable')));
  await without.close();
  assert.deepEqual(
    (await listOf('pending')).map(({ attempts }) => attempts <= 1),
    [true],
  );
  worker = await startSender(baton.env);
  await untilNotified(() => postsTo(one).length === 1);
});

test('no line of the log has an address of a webhook', () => {
  assert.ok(worker.lines.length > 0);
  for (const line of worker.lines) assert.ok(!line.includes('/hook/'), line);
});
