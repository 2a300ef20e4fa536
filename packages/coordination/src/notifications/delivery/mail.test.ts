import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { sql } from '@baton/kernel/database/sql';
import { keepName } from '@baton/kernel/testing/leaks/leaks';
import { newId } from '@baton/values/ids';
import { startCoordination, type TestCoordination } from '../../testing/coordination.ts';
import { done, makeRun, makeTask, makeWorker, openSession } from '../../testing/leases.ts';
import { journalIsStable } from '../../testing/ledger/journal-writer.ts';
import {
  type Addressee,
  type LoggedWorker,
  makeAddressee,
  publicUrl,
  putPreferences,
  smtpSettings,
  startSender,
  untilNotified,
} from '../../testing/notifications/notifications.ts';
import {
  type ReceivedMail,
  type SmtpServer,
  startSmtpServer,
} from '../../testing/notifications/smtp-server.ts';
import { makeNarrowPerson, makeWorkspace } from '../../testing/organisation/workspaces.ts';

let baton: TestCoordination;
let smtp: SmtpServer;
let worker: LoggedWorker;
before(async () => {
  baton = await startCoordination();
  smtp = await startSmtpServer();
  worker = await startSender({ ...baton.env, ...smtpSettings(smtp) });
});
after(async () => {
  await worker.close();
  await smtp.stop();
  await baton.close();
});

const person = (options: Parameters<typeof makeAddressee>[1] = {}) => makeAddressee(baton, options);
const ask = (more: object) => done(baton.admin.post('/approvals', more), 201);
const mailsTo = ({ address }: Addressee) => smtp.to(address);
async function mailTo(one: Addressee): Promise<ReceivedMail> {
  await untilNotified(() => mailsTo(one).length > 0, 'the e-mail');
  return mailsTo(one)[0] as ReceivedMail;
}
/** Waits until all earlier events have been delivered or have become dead letters. */
const isDelivered = () =>
  untilNotified(async () => {
    const row = await baton.pool.row<{ n: number }>(sql`
      select (select count(*) from outbox) + (select count(*) from outbox_deliveries where dead_at is null) as n`);
    return row?.n === 0;
  }, 'the outbox');

const itemsOf = async ({ principalId }: Addressee) =>
  (
    await baton.pool.rows(
      sql<object>`select id from notification_digest_items where principal_id = ${principalId}`,
    )
  ).length;

async function makeRole() {
  return done(baton.admin.post('/roles', { slug: `r${newId()}`, name: 'Release manager' }), 201);
}
const assign = (one: Addressee, roleId: string, workspaceId: string | null = null) =>
  done(baton.admin.post(`/principals/${one.principalId}/roles`, { roleId, workspaceId }), 201);

test('a decision is sent at once to the person it is addressed to, with a link that leads to it', async () => {
  const one = await person();
  const task = await makeTask(baton, { title: 'Ship the release' });
  const approval = await ask({
    task: task.id,
    assignedPrincipalId: one.principalId,
    comment: 'May I ship it?',
  });
  const mail = await mailTo(one);
  assert.equal(mail.headers.get('subject'), `Decision requested: Ship the release (${task.publicId})`);
  assert.equal(mail.from, 'baton@service.example');
  assert.equal(mail.headers.get('from'), 'Baton <baton@service.example>');
  const { displayName } = await done(baton.admin.get(`/principals/${baton.admin.principalId}`));
  for (const part of [mail.text, mail.html]) {
    assert.ok(
      part.includes(`${displayName} requests your decision about Ship the release (${task.publicId}).`),
    );
    assert.ok(part.includes('May I ship it?'));
    assert.ok(part.includes(`${publicUrl}/approvals/${approval.id}`));
    assert.ok(part.includes('Opening a link decides nothing.'));
  }
  await isDelivered();
  assert.equal(mailsTo(one).length, 1);
  assert.equal((await done(baton.admin.get(`/approvals/${approval.id}`))).status, 'pending');
});

test('an e-mail is marked as automatic, and can be ended by its link with one click', async () => {
  const one = await person();
  await ask({ assignedPrincipalId: one.principalId, comment: 'May I?' });
  const mail = await mailTo(one);
  assert.equal(mail.headers.get('auto-submitted'), 'auto-generated');
  assert.match(mail.headers.get('message-id') ?? '', /^<[0-9a-f]{40}@service\.example>$/);
  assert.equal(mail.headers.get('list-unsubscribe-post'), 'List-Unsubscribe=One-Click');
  const link = mail.headers.get('list-unsubscribe')?.slice(1, -1) ?? '';
  assert.ok(link.startsWith(`${publicUrl}/api/v1/notifications/unsubscribe?token=`));
  assert.ok(mail.text.includes(`Stop e-mail about decisions that wait for you: ${link}`));
  const path = link.slice(publicUrl.length);
  const headers = { 'content-type': 'application/x-www-form-urlencoded' };
  assert.equal(
    (await baton.request('POST', path, { body: 'List-Unsubscribe=One-Click', headers })).status,
    200,
  );
  await ask({ assignedPrincipalId: one.principalId, comment: 'And now?' });
  await isDelivered();
  assert.equal(mailsTo(one).length, 1);
});

test('of a role each holder who may decide gets one e-mail, by name and not together', async () => {
  const role = await makeRole();
  const above = await makeWorkspace(baton);
  const below = await makeWorkspace(baton, { parentId: above.id });
  const elsewhere = await makeWorkspace(baton);
  const [inTenant, inAbove, inElsewhere, excluded, powerless, off, disabled, stranger] = await Promise.all([
    person(),
    person(),
    person(),
    person(),
    person({ permissions: ['tasks.read'] }),
    person({ preferences: { kinds: { 'decision.requested': { mail: 'off' } } } }),
    person(),
    person(),
  ]);
  for (const one of [inTenant, excluded, powerless, off, disabled]) await assign(one, role.id);
  await assign(inAbove, role.id, above.id);
  await assign(inElsewhere, role.id, elsewhere.id);
  await done(baton.admin.post(`/principals/${disabled.principalId}:disable`));
  const task = await makeTask(baton, { workspaceId: below.id });
  await ask({ task: task.id, requiredRoleId: role.id, excludedPrincipals: [excluded.principalId] });
  await Promise.all([mailTo(inTenant), mailTo(inAbove)]);
  await isDelivered();
  for (const one of [inElsewhere, excluded, powerless, off, disabled, stranger])
    assert.equal(mailsTo(one).length, 0);
  for (const one of [inTenant, inAbove]) {
    assert.equal(mailsTo(one).length, 1);
    for (const other of [inTenant, inAbove])
      assert.equal(mailsTo(one)[0]?.raw.includes(other.address), one === other);
  }
});

test('a person who may not see the task is not notified of it', async () => {
  const { person: narrow, mine, other } = await makeNarrowPerson(baton);
  const role = await makeRole();
  const one = { ...narrow, address: 'narrow-person-of-the-tests@people.example' };
  keepName('e-mail address', one.address);
  await done(putPreferences(one, { email: one.address }));
  await assign(one, role.id);
  const [seen, hidden] = [
    await makeTask(baton, { workspaceId: mine.id, title: 'seen' }),
    await makeTask(baton, { workspaceId: other.id, title: 'hidden' }),
  ];
  for (const task of [hidden, seen]) await ask({ task: task.id, requiredRoleId: role.id });
  const mail = await mailTo(one);
  await isDelivered();
  assert.equal(mailsTo(one).length, 1);
  assert.match(mail.headers.get('subject') ?? '', /seen/);
});

test('a person who lost their access, or never had that to tasks, is not sent the title of a task', async () => {
  const preferences = { kinds: { 'task.assigned': { mail: 'immediate' } } };
  const [without, blind, one] = [
    await person({ preferences }),
    await person({ preferences, permissions: ['approvals.read'] }),
    await person({ preferences }),
  ];
  const waiting = await person();
  await makeTask(baton, { assigneeId: waiting.principalId });
  await untilNotified(async () => (await itemsOf(waiting)) === 1, 'the item of the digest');
  await worker.close();
  for (const { principalId } of [without, blind, one])
    await makeTask(baton, { title: 'secret', assigneeId: principalId });
  for (const { principalId } of [without, waiting]) {
    const { items } = await done(baton.admin.get(`/principals/${principalId}/iam-bindings`));
    await done(baton.admin.post(`/iam-bindings/${items[0].id}:revoke`));
  }
  await baton.pool.run(sql`
    update notification_digests set due_at = now() - interval '1 ms' where principal_id = ${waiting.principalId}`);
  worker = await startSender({ ...baton.env, ...smtpSettings(smtp) });
  await mailTo(one);
  await untilNotified(async () => (await itemsOf(waiting)) === 0, 'the end of the digest');
  await isDelivered();
  assert.deepEqual(
    [without, blind, waiting, one].map((each) => mailsTo(each).length),
    [0, 0, 0, 1],
  );
});

test('a decision that was made before the worker came to it is not sent', async () => {
  const one = await person();
  await worker.close();
  const [decided, pending] = [
    await ask({ assignedPrincipalId: one.principalId, comment: 'decided' }),
    await ask({ assignedPrincipalId: one.principalId, comment: 'pending' }),
  ];
  await done(one.post(`/approvals/${decided.id}:approve`));
  worker = await startSender({ ...baton.env, ...smtpSettings(smtp) });
  const mail = await mailTo(one);
  await isDelivered();
  assert.equal(mailsTo(one).length, 1);
  assert.ok(mail.text.includes(pending.id) && !mail.text.includes(decided.id));
});

test('texts from outside are escaped, bounded and on one line where they could be headers', async () => {
  const one = await person();
  const title = `<script>alert(1)</script>\r\nBcc: other@people.example\n\u202egnp.exe ${'long '.repeat(80)}`;
  const comment = `<img src="https://tracker.example/x.png"> & "quotes"\r\n\r\n.\r\nQUIT\r\n${'y'.repeat(3500)}`;
  const name = 'Mallory <mallory@evil.example>\r\nBcc: all@people.example';
  await baton.pool.run(sql`update principals set display_name = ${name} where id = ${one.principalId}`);
  const task = await makeTask(baton, { title: 'x' });
  await baton.pool.run(sql`update tasks set title = ${title} where id = ${task.id}`);
  await ask({ task: task.id, assignedPrincipalId: one.principalId, comment });
  const mail = await mailTo(one);
  assert.equal(mail.headers.has('bcc'), false);
  assert.equal(mail.headers.has('cc'), false);
  assert.equal(mail.to, one.address);
  assert.equal(smtp.commands.filter((line) => /RCPT TO:.*(evil|all@|other@)/.test(line)).length, 0);
  const subject = mail.headers.get('subject') ?? '';
  assert.ok([...subject].length < 180 && !/[\r\n\u202e]/.test(subject), subject);
  assert.ok(!mail.html.includes('<script') && mail.html.includes('&lt;script&gt;'));
  assert.ok(
    !mail.html.includes('<img') &&
      mail.html.includes('&lt;img src=&quot;https://tracker.example/x.png&quot;&gt;'),
  );
  assert.ok(mail.text.includes('> .') && mail.text.length < 2500 && mail.html.length < 4000);
  assert.ok(!/<(img|script|link|iframe|object)\b/i.test(mail.html) && !/\bsrc=(?!&)/i.test(mail.html));
});

test('a task is collected for a digest by default, and sent at once to a person who wants that', async () => {
  const now = await person({ preferences: { kinds: { 'task.assigned': { mail: 'immediate' } } } });
  const later = await person();
  const first = await makeTask(baton, { title: 'Created with its assignee', assigneeId: now.principalId });
  assert.equal(
    (await mailTo(now)).headers.get('subject'),
    `Task assigned: Created with its assignee (${first.publicId})`,
  );
  assert.ok((await mailTo(now)).text.includes(`${publicUrl}/tasks/${first.publicId}`));
  const second = await makeTask(baton, { title: 'Assigned later' });
  const change = (body: object, version: number) =>
    done(baton.admin.patch(`/tasks/${second.id}`, body, { 'if-match': `"task-${version}"` }));
  const { version } = await change({ assigneeId: now.principalId }, 1);
  await untilNotified(() => mailsTo(now).length === 2);
  await change({ priority: 'high' }, version);
  await makeTask(baton, { assigneeId: later.principalId });
  await isDelivered();
  assert.deepEqual([mailsTo(now).length, mailsTo(later).length], [2, 0]);
});

test('what a person does is not sent to that person', async () => {
  const one = await person({
    permissions: ['tasks.write', 'tasks.read', 'approvals.decide', 'approvals.manage'],
    preferences: { kinds: { 'task.assigned': { mail: 'immediate' } } },
  });
  await done(one.post('/tasks', { title: 'for me', assigneeId: one.principalId }), 201);
  // The person is notified of a decision, though: an agent with the person's token acts in the person's name.
  await done(
    one.post('/approvals', { assignedPrincipalId: one.principalId, comment: 'may the agent?' }),
    201,
  );
  assert.match((await mailTo(one)).headers.get('subject') ?? '', /^Decision requested: may the agent\?/);
  await isDelivered();
  assert.equal(mailsTo(one).length, 1);
});

test("a control message is sent to the person who holds the run, without the message's text", async () => {
  const one = await person({
    permissions: ['tasks.claim', 'tasks.read', 'sessions.open'],
    preferences: { kinds: { 'control_message.received': { mail: 'immediate' } } },
  });
  const { task, run } = await makeRun(baton, { actor: one, sessionId: await openSession(one) });
  const body = { operation: 'steer', causalPosition: 'checkpoint:3', directive: 'Leave the login page.' };
  const headers = { 'idempotency-key': newId() };
  await done(
    baton.admin.post(
      `/runs/${run.id}/control-messages`,
      { ...body, reason: 'a reason', expectedRunVersion: 1 },
      headers,
    ),
    201,
  );
  const mail = await mailTo(one);
  assert.equal(mail.headers.get('subject'), `Control message: ${task.title} (${task.publicId})`);
  assert.ok(!mail.raw.includes('login page'));
  // Control messages to runs of agents notify nobody.
  await isDelivered();
  const before = smtp.received.length;
  const agents = await makeRun(baton, await makeWorker(baton));
  await done(
    baton.admin.post(
      `/runs/${agents.run.id}/control-messages`,
      { ...body, reason: 'a reason', expectedRunVersion: 1 },
      {
        'idempotency-key': newId(),
      },
    ),
    201,
  );
  await isDelivered();
  assert.equal(smtp.received.length, before);
});

test('an event notifies no more people than the bound, and the log states so without names', async () => {
  const role = await makeRole();
  const people = await Promise.all(Array.from({ length: 4 }, () => person()));
  for (const one of people) await assign(one, role.id);
  await worker.close();
  worker = await startSender({ ...baton.env, ...smtpSettings(smtp), CP_NOTIFICATIONS_RECIPIENTS_MAX: '3' });
  await ask({ requiredRoleId: role.id, comment: 'May I?' });
  await untilNotified(() => people.filter((one) => mailsTo(one).length > 0).length === 3);
  await isDelivered();
  assert.equal(people.filter((one) => mailsTo(one).length > 0).length, 3);
  assert.equal(worker.lines.filter((line) => line.includes('more people than are notified')).length, 1);
});

test('beyond the hourly bound e-mails wait for the digest', async () => {
  const one = await person();
  await worker.close();
  worker = await startSender({ ...baton.env, ...smtpSettings(smtp), CP_NOTIFICATIONS_HOURLY_MAX: '2' });
  for (let n = 0; n < 4; n += 1) {
    await ask({ assignedPrincipalId: one.principalId, comment: `question ${n}` });
    await isDelivered();
  }
  assert.equal(mailsTo(one).length, 2);
  const items = sql<{ n: number }>`
    select count(*) as n from notification_digest_items where principal_id = ${one.principalId}`;
  assert.equal((await baton.pool.row(items))?.n, 2);
});

test('no line of the log and no event has an address', async () => {
  await isDelivered();
  const log = worker.lines.join('');
  await journalIsStable(baton.pool);
  const { items } = await done(baton.admin.get('/events?tail=200'));
  for (const text of [log, JSON.stringify(items)])
    assert.ok(!/mailbox-\d+@people/.test(text), text.match(/.{80}mailbox-\d+@people/)?.[0]);
});
