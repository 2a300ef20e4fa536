import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { sql } from '@baton/kernel/database/sql';
import { keepName } from '@baton/kernel/testing/leaks/leaks';
import { startCoordination, type TestCoordination } from '../../testing/coordination.ts';
import { done, makeTask } from '../../testing/leases.ts';
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
import { type SmtpServer, startSmtpServer } from '../../testing/notifications/smtp-server.ts';
import { makeNarrowPerson } from '../../testing/organisation/workspaces.ts';

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
const mention = ({ principalId }: { principalId: string }, name = 'Ada') => `@[${name}](${principalId})`;
const comment = (taskId: string, body: string, by = baton.admin) =>
  done(by.post(`/tasks/${taskId}/comments`, { body }), 201);
const mailsTo = ({ address }: { address: string }) => smtp.to(address);
async function mailTo(one: Addressee) {
  await untilNotified(() => mailsTo(one).length > 0, 'the e-mail');
  const [mail] = mailsTo(one);
  assert.ok(mail);
  return mail;
}
/** Waits until all earlier events have been delivered. */
const isDelivered = () =>
  untilNotified(async () => {
    const row = await baton.pool.row<{ n: number }>(sql`
      select (select count(*) from outbox) + (select count(*) from outbox_deliveries where dead_at is null) as n`);
    return row?.n === 0;
  }, 'the outbox');

test('a comment that mentions people is sent to each of them at once, with its text and without ids', async () => {
  const [one, other] = [await person(), await person()];
  const task = await makeTask(baton, { title: 'Ship the release' });
  await comment(task.id, `${mention(one)} and ${mention(other, 'Grace')}, is <this> fine?`);
  const { displayName } = await done(baton.admin.get(`/principals/${baton.admin.principalId}`));
  for (const each of [one, other]) {
    const mail = await mailTo(each);
    assert.equal(mail.headers.get('subject'), `Mentioned: Ship the release (${task.publicId})`);
    assert.ok(
      mail.text.includes(`${displayName} mentioned you in a comment on Ship the release (${task.publicId}).`),
    );
    assert.ok(mail.text.includes('> @Ada and @Grace, is <this> fine?'));
    assert.ok(mail.html.includes('@Ada and @Grace, is &lt;this&gt; fine?'));
    assert.ok(mail.text.includes(`${publicUrl}/tasks/${task.publicId}`));
    assert.match(mail.text, /Stop e-mail about texts that mention you: https:/);
  }
  await isDelivered();
  assert.deepEqual([mailsTo(one).length, mailsTo(other).length], [1, 1]);
});

test('an edit that adds a mention notifies only the new one', async () => {
  const [one, other] = [await person(), await person()];
  const task = await makeTask(baton, { description: `For ${mention(one)}` });
  await mailTo(one);
  const { version } = await done(baton.admin.get(`/tasks/${task.id}`));
  const description = `For ${mention(one)}, and ${mention(other)}`;
  await done(baton.admin.patch(`/tasks/${task.id}`, { description }, { 'if-match': `task-${version}` }));
  const mail = await mailTo(other);
  assert.match(mail.text, /mentioned you in the description of/);
  await isDelivered();
  assert.deepEqual([mailsTo(one).length, mailsTo(other).length], [1, 1]);
});

test("people who may not see the task, and those who don't want it, are not notified, nor is the author", async () => {
  const { person: narrow, other: hidden } = await makeNarrowPerson(baton);
  const blind = { ...narrow, address: 'blind-person-of-the-mentions@people.example' };
  keepName('e-mail address', blind.address);
  await done(putPreferences(blind, { email: blind.address }));
  const off = await person({ preferences: { kinds: { mention: { mail: 'off' } } } });
  const powerless = await person({ permissions: ['approvals.decide'] });
  const author = await person({ permissions: ['tasks.read', 'tasks.write'] });
  const one = await person();
  const task = await makeTask(baton, { workspaceId: hidden.id });
  const all = [blind, off, powerless, author, one];
  await comment(task.id, all.map((each) => mention(each)).join(' '), author);
  await mailTo(one);
  await isDelivered();
  assert.deepEqual(
    all.map((each) => mailsTo(each).length),
    [0, 0, 0, 0, 1],
  );
});

test('a mention that was removed before the worker came to it is not sent', async () => {
  const [one, other] = [await person(), await person()];
  await worker.close();
  const task = await makeTask(baton);
  const first = await comment(task.id, `${mention(one)} ${mention(other)}`);
  const path = `/tasks/${task.id}/comments/${first.id}`;
  await done(baton.admin.patch(path, { body: `only ${mention(other)}` }, { 'if-match': 'comment-1' }));
  worker = await startSender({ ...baton.env, ...smtpSettings(smtp) });
  const mail = await mailTo(other);
  assert.ok(mail.text.includes('> only @Ada'));
  await isDelivered();
  assert.equal(mailsTo(one).length, 0);
});

test('a digest contains the mentions that remain', async () => {
  const one = await person({ preferences: { kinds: { mention: { mail: 'digest' } } } });
  const task = await makeTask(baton, { title: 'Described', description: mention(one) });
  const kept = await makeTask(baton, { title: 'Commented' });
  await comment(kept.id, `Look, ${mention(one)}`);
  const isWaiting = async (count: number) => {
    const of = sql<{ n: number }>`
      select count(*)::integer as n from notification_digest_items where principal_id = ${one.principalId}`;
    return (await baton.pool.row(of))?.n === count;
  };
  await untilNotified(() => isWaiting(2), 'the items');
  const { version } = await done(baton.admin.get(`/tasks/${task.id}`));
  await done(
    baton.admin.patch(`/tasks/${task.id}`, { description: 'Nobody' }, { 'if-match': `task-${version}` }),
  );
  await baton.pool.run(sql`
    update notification_digests set due_at = now() - interval '1 ms' where principal_id = ${one.principalId}`);
  const mail = await mailTo(one);
  assert.ok(mail.text.includes('> Look, @Ada'));
  assert.ok(!mail.text.includes('Described'));
});
