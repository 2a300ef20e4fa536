import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { sql } from '@baton/kernel/database/sql';
import { startCoordination, type TestCoordination } from '../../testing/coordination.ts';
import { done, makeTask } from '../../testing/leases.ts';
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
import { type SmtpServer, startSmtpServer } from '../../testing/notifications/smtp-server.ts';

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

const person = () => makeAddressee(baton);
const mailsTo = ({ address }: Addressee) => smtp.to(address);
const itemsOf = async ({ principalId }: Addressee) =>
  (
    await baton.pool.row<{ n: number }>(
      sql`select count(*) as n from notification_digest_items where principal_id = ${principalId}`,
    )
  )?.n ?? 0;
const give = (one: Addressee, title: string) => makeTask(baton, { title, assigneeId: one.principalId });
async function collect(one: Addressee, ...titles: string[]) {
  const before = await itemsOf(one);
  const tasks = [];
  for (const title of titles) tasks.push(await give(one, title));
  await untilNotified(async () => (await itemsOf(one)) === before + titles.length, 'the items');
  return tasks;
}
const makeDue = ({ principalId }: Addressee) =>
  baton.pool.run(
    sql`update notification_digests set due_at = now() - interval '1 ms' where principal_id = ${principalId}`,
  );
const hasSchedule = async ({ principalId }: Addressee) =>
  (await baton.pool.row(sql`select 1 as n from notification_digests where principal_id = ${principalId}`)) !==
  undefined;

test('a digest has what was collected since the first notification, once', async () => {
  const one = await person();
  const other = await person();
  const tasks = await collect(one, 'First thing', 'Second <b>thing</b>');
  await collect(other, 'Of somebody else');
  const due = await baton.pool.row<{ seconds: number }>(sql`
    select extract(epoch from due_at - now())::float8 as seconds from notification_digests
    where principal_id = ${one.principalId}`);
  assert.ok((due?.seconds ?? 0) > 86_000 && (due?.seconds ?? 0) <= 86_400);
  assert.equal(mailsTo(one).length, 0);
  await makeDue(one);
  await untilNotified(() => mailsTo(one).length === 1, 'the digest');
  const [mail] = mailsTo(one);
  assert.equal(mail?.headers.get('subject'), '2 notifications wait for you');
  for (const { publicId } of tasks) assert.ok(mail?.text.includes(`${publicUrl}/tasks/${publicId}`));
  assert.ok(mail?.html.includes('Second &lt;b&gt;thing&lt;/b&gt;') && !mail.raw.includes('somebody else'));
  assert.match(mail?.text ?? '', /Stop e-mail about tasks assigned to you: https:/);
  await untilNotified(async () => !(await hasSchedule(one)));
  await journalIsStable(baton.pool);
  const { items } = await done(
    baton.admin.get(`/events?entityId=${one.principalId}&types=notification.digest_due`),
  );
  assert.deepEqual(
    items.map(({ payload }: any) => payload),
    [{ principalId: one.principalId, items: 2 }],
  );
  assert.deepEqual([await itemsOf(one), await itemsOf(other), mailsTo(other).length], [0, 1, 0]);
  // The next notification begins another digest.
  await collect(one, 'Third thing');
  await makeDue(one);
  await untilNotified(() => mailsTo(one).length === 2);
  assert.match(mailsTo(one)[1]?.headers.get('subject') ?? '', /^Task assigned: Third thing/);
  assert.notEqual(mailsTo(one)[0]?.headers.get('message-id'), mailsTo(one)[1]?.headers.get('message-id'));
});

test('what no longer waits is left out, and a digest of nothing is not sent', async () => {
  const one = await person();
  const [gone, stays] = await collect(one, 'reassigned', 'remains');
  const reassign = (task: any) =>
    done(
      baton.admin.patch(`/tasks/${task.id}`, { assigneeId: null }, { 'if-match': `"task-${task.version}"` }),
    );
  await reassign(gone);
  await makeDue(one);
  await untilNotified(() => mailsTo(one).length === 1);
  assert.ok(mailsTo(one)[0]?.text.includes('remains') && !mailsTo(one)[0]?.text.includes('reassigned'));
  await reassign(stays);
  const [last] = await collect(one, 'also reassigned');
  await reassign(last);
  await makeDue(one);
  await untilNotified(async () => !(await hasSchedule(one)), 'the end of the digest');
  assert.equal(mailsTo(one).length, 1);
});

test('a kind that was turned off meanwhile is left out', async () => {
  const one = await person();
  await collect(one, 'collected');
  const kinds = { 'task.assigned': { mail: 'off' } };
  await done(putPreferences(one, { email: one.address, kinds }));
  await makeDue(one);
  await untilNotified(async () => !(await hasSchedule(one)));
  assert.deepEqual([mailsTo(one).length, await itemsOf(one)], [0, 0]);
});

test('a digest counts only what still waits, also beyond what it shows', async () => {
  const one = await person();
  const tasks = await collect(one, ...Array.from({ length: 54 }, (_, n) => `task ${n}`));
  await baton.pool.run(sql`
    update tasks set assignee_id = null where id = any (${tasks.slice(0, 52).map(({ id }) => id)}::uuid[])`);
  await makeDue(one);
  await untilNotified(() => mailsTo(one).length === 1, 'the digest');
  const [mail] = mailsTo(one);
  assert.equal(mail?.headers.get('subject'), '2 notifications wait for you');
  // The worker may process two events in any order.
  for (const title of ['task 52', 'task 53']) assert.ok(mail?.text.includes(title), mail?.text);
  assert.ok(!/ more|task 51/.test(mail?.text ?? ''), mail?.text);
  await untilNotified(async () => !(await hasSchedule(one)));
  // If nothing waits any more, nothing is sent, whatever was counted.
  const rest = await collect(one, ...Array.from({ length: 51 }, (_, n) => `later ${n}`));
  await baton.pool.run(sql`
    update tasks set assignee_id = null where id = any (${rest.map(({ id }) => id)}::uuid[])`);
  await baton.pool.run(sql`
    update notification_digests set left_out = 7 where principal_id = ${one.principalId}`);
  await makeDue(one);
  await untilNotified(async () => !(await hasSchedule(one)), 'the end of the digest');
  assert.equal(mailsTo(one).length, 1);
});

test('a digest has 50 notifications in full, counts the others, and stores the newest 500', async () => {
  const one = await person();
  const tasks = await collect(one, ...Array.from({ length: 51 }, (_, n) => `task ${n}`));
  await baton.pool.run(sql`
    insert into notification_digest_items (principal_id, tenant_id, event_id, kind, entity_id)
    select principal_id, tenant_id, gen_random_uuid(), kind, gen_random_uuid() from notification_digest_items,
      generate_series(1, 449) where id = (select max(id) from notification_digest_items where principal_id = ${one.principalId})`);
  assert.equal(await itemsOf(one), 500);
  const oldest = await baton.pool.row<{ entity_id: string }>(sql`
    select entity_id from notification_digest_items where principal_id = ${one.principalId} order by id limit 1`);
  const { publicId: replaced } = tasks.find(({ id }) => id === oldest?.entity_id);
  await give(one, 'beyond');
  const leftOut = sql<{
    n: number;
  }>`select left_out as n from notification_digests where principal_id = ${one.principalId}`;
  await untilNotified(async () => (await baton.pool.row(leftOut))?.n === 1, 'the count');
  assert.equal(await itemsOf(one), 500);
  await makeDue(one);
  await untilNotified(() => mailsTo(one).length === 1, 'the digest');
  const [mail] = mailsTo(one);
  assert.equal(mail?.headers.get('subject'), '51 notifications wait for you');
  assert.equal(mail?.text.match(/Open the task:/g)?.length, 50);
  assert.ok(mail?.text.includes(`And 1 more: ${publicUrl}/inbox`) && mail.raw.length < 100_000);
  assert.match(mail?.text ?? '', /1 older notification is not in this digest; your inbox shows what waits/);
  assert.ok(!mail?.text.includes(`${publicUrl}/tasks/${replaced}\n`), replaced);
  await untilNotified(async () => !(await hasSchedule(one)));
});

test('the maximum of stored items is exact with several workers', async () => {
  const people = [await person(), await person()] as const;
  for (const one of people) {
    await collect(one, 'the first');
    await baton.pool.run(sql`
      insert into notification_digest_items (principal_id, tenant_id, event_id, kind, entity_id)
      select ${one.principalId}, ${baton.tenantId}, gen_random_uuid(), 'task.assigned', gen_random_uuid()
      from generate_series(1, 495)`);
  }
  await worker.close();
  for (let n = 0; n < 20; n += 1) for (const one of people) await give(one, `task ${n}`);
  const env = { ...baton.env, ...smtpSettings(smtp), CP_SMTP_CONNECTIONS_MAX: '8' };
  const workers = await Promise.all([startSender(env), startSender(env), startSender(env)]);
  const counts = sql<{ items: number; left_out: number }>`
    select count(i.id)::int as items, d.left_out from notification_digests d
    join notification_digest_items i on i.principal_id = d.principal_id
    where d.principal_id = any (${people.map(({ principalId }) => principalId)}::uuid[]) group by d.principal_id`;
  const all = { items: 500, left_out: 16 };
  await untilNotified(async () => {
    const rows = await baton.pool.rows(counts);
    return rows.every(({ items, left_out }) => items + left_out === all.items + all.left_out);
  }, 'all items');
  assert.deepEqual(await baton.pool.rows(counts), [all, all]);
  for (const each of workers) await each.close();
  worker = await startSender({ ...baton.env, ...smtpSettings(smtp) });
});

test('a digest that the server refuses for now is sent later, and its items remain until then', async () => {
  const one = await person();
  let isDown = true;
  await worker.close();
  const failing = await startSmtpServer({ recipient: () => (isDown ? '451 4.3.0 later' : undefined) });
  worker = await startSender({ ...baton.env, ...smtpSettings(failing), CP_OUTBOX_BACKOFF_BASE_SECONDS: '1' });
  await collect(one, 'patient');
  await makeDue(one);
  await untilNotified(
    () => failing.commands.filter((line) => line.startsWith('RCPT')).length >= 2,
    'two attempts',
  );
  assert.deepEqual([await itemsOf(one), failing.received.length], [1, 0]);
  isDown = false;
  await untilNotified(() => failing.to(one.address).length === 1);
  await untilNotified(async () => !(await hasSchedule(one)));
  assert.equal(failing.received.length, 1);
  await failing.stop();
});
