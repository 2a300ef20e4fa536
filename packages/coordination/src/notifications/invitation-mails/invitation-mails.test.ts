import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { sql } from '@baton/kernel/database/sql';
import { newId } from '@baton/values/ids';
import { startCoordination, type TestCoordination } from '../../testing/coordination.ts';
import { done } from '../../testing/leases.ts';
import { journalIsStable } from '../../testing/ledger/journal-writer.ts';
import {
  type LoggedWorker,
  mailAddress,
  publicUrl,
  smtpSettings,
  startSender,
  untilNotified,
} from '../../testing/notifications/notifications.ts';
import { type SmtpServer, startSmtpServer } from '../../testing/notifications/smtp-server.ts';
import { invitationToken } from './invitation-mails.fixtures.ts';

let baton: TestCoordination;
let smtp: SmtpServer;
before(async () => {
  smtp = await startSmtpServer();
  baton = await startCoordination({ ...smtpSettings(smtp) });
});
after(async () => {
  await smtp.stop();
  await baton.close();
});

const path = '/notifications/invitation-mails';

async function invited(email: string | null = mailAddress(), kind = 'human') {
  const { id } = await done(baton.admin.post('/principals', { kind, displayName: 'Maria <b>Lopez' }), 201);
  if (email !== null)
    await done(
      baton.admin.patch(`/principals/${id}`, { profile: { email } }, { 'if-match': '"principal-1"' }),
    );
  return { id: id as string, email: email ?? '' };
}
const rowsOf = (principalId: string) =>
  baton.pool.rows<{ id: string; sealed: Buffer }>(
    sql`select id, sealed from invitation_mails where principal_id = ${principalId}`,
  );
const isDelivered = () =>
  untilNotified(async () => {
    const row = await baton.pool.row<{ n: number }>(sql`
      select (select count(*) from outbox) + (select count(*) from outbox_deliveries where dead_at is null) as n`);
    return row?.n === 0;
  }, 'the outbox');

async function withSender(act: (worker: LoggedWorker) => Promise<void>): Promise<void> {
  const worker = await startSender({ ...baton.env, ...smtpSettings(smtp) });
  try {
    await act(worker);
  } finally {
    await worker.close();
  }
}

test('the link is sent once to the address of the profile, and is stored sealed until then', async () => {
  const { id, email } = await invited();
  const token = invitationToken();
  const { status, body } = await baton.admin.post(path, { principalId: id, token });
  assert.equal(status, 202, JSON.stringify(body));
  assert.deepEqual([body.principalId, body.email], [id, email]);
  const lifeMs = Date.parse(body.expiresAt) - Date.now();
  assert.ok(lifeMs > 86_000_000 && lifeMs <= 86_460_000, body.expiresAt);
  const [row] = await rowsOf(id);
  assert.equal(row?.id, body.id);
  assert.equal(row?.sealed.includes(token.slice(21)), false);
  await journalIsStable(baton.pool);
  const events = await done(baton.admin.get('/events?types=notification.invitation_mail_requested&tail=1'));
  assert.deepEqual(events.items[0].payload, { principalId: id });
  await withSender(async (worker) => {
    await untilNotified(() => smtp.to(email).length > 0, 'the e-mail');
    await isDelivered();
    const [mail, ...more] = smtp.to(email);
    assert.equal(more.length, 0);
    const link = `${publicUrl}/invite#${token}`;
    assert.ok(mail?.text.includes(link), mail?.text);
    assert.ok(mail?.html.includes(`href="${link}"`), mail?.html);
    assert.match(mail?.headers.get('subject') ?? '', / invites you to /);
    assert.equal(mail?.headers.get('auto-submitted'), 'auto-generated');
    assert.equal(worker.lines.join('').includes(token.slice(21)), false);
  });
  assert.deepEqual(await rowsOf(id), []);
});

test('a newer link replaces one that was not sent yet; an expired one is not sent and is deleted', async () => {
  const [one, late] = [await invited(), await invited()];
  const newest = invitationToken();
  await done(baton.admin.post(path, { principalId: one.id, token: invitationToken() }), 202);
  await done(baton.admin.post(path, { principalId: one.id, token: newest }), 202);
  assert.equal((await rowsOf(one.id)).length, 1);
  await done(baton.admin.post(path, { principalId: late.id, token: invitationToken() }), 202);
  await baton.pool.run(sql`
    update invitation_mails set expires_at = now() - interval '1 second' where principal_id = ${late.id}`);
  await withSender(async () => {
    await untilNotified(() => smtp.to(one.email).length > 0, 'the e-mail');
    await isDelivered();
    await untilNotified(async () => (await rowsOf(late.id)).length === 0, 'the deletion of the expired link');
  });
  assert.equal(smtp.to(one.email).length, 1);
  assert.ok(smtp.to(one.email)[0]?.text.includes(newest));
  assert.equal(smtp.to(late.email).length, 0);
});

test('a sealed link that was moved to another person is not sent', async () => {
  const [from, to] = [await invited(), await invited()];
  await done(baton.admin.post(path, { principalId: from.id, token: invitationToken() }), 202);
  await baton.pool.run(
    sql`update invitation_mails set principal_id = ${to.id} where principal_id = ${from.id}`,
  );
  await withSender(isDelivered);
  assert.deepEqual([smtp.to(from.email).length, smtp.to(to.email).length], [0, 0]);
});

test('refuses who can not be sent a link, in this order', async () => {
  const token = invitationToken();
  const refusal = async (principalId: string, actor = baton.admin) => {
    const { status, body } = await actor.post(path, { principalId, token });
    return [status, body.error.code, body.error.details?.reason];
  };
  const disabled = await invited();
  await done(baton.admin.post(`/principals/${disabled.id}:disable`));
  assert.deepEqual(await refusal(newId()), [404, 'not_found', undefined]);
  assert.deepEqual(await refusal((await invited()).id, baton.otherAdmin), [404, 'not_found', undefined]);
  assert.deepEqual(await refusal((await invited(null, 'agent')).id), [
    422,
    'principal_not_active',
    undefined,
  ]);
  assert.deepEqual(await refusal(disabled.id), [422, 'principal_not_active', undefined]);
  assert.deepEqual(await refusal((await invited(null)).id), [422, 'invalid_email_address', 'malformed']);
  const blind = await baton.actor({ kind: 'human', permissions: ['principals.read'] });
  assert.equal((await blind.post(path, { principalId: disabled.id, token })).status, 403);
  for (const wrong of ['iam_pat_0123456789ab_x', `${token} `, 'https://elsewhere.example'])
    assert.equal((await baton.admin.post(path, { principalId: disabled.id, token: wrong })).status, 400);
});

test('without a mail server nothing is stored', async () => {
  const { id } = await invited();
  const other = await baton.another({ CP_SMTP_HOST: '' });
  const response = await fetch(`${other.url}/api/v1${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${baton.admin.token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ principalId: id, token: invitationToken() }),
  });
  const { error } = (await response.json()) as { error: { code: string } };
  assert.deepEqual([response.status, error.code], [409, 'mail_not_enabled']);
  assert.deepEqual(await rowsOf(id), []);
});

test('a person is sent at most 5 links in a day, and a tenant sends at most 500', async () => {
  const [often, other] = [await invited(), await invited()];
  const send = (of: { id: string }, actor = baton.admin) =>
    actor.post(path, { principalId: of.id, token: invitationToken() });
  await withSender(async () => {
    for (let times = 1; times <= 5; times += 1) {
      await done(send(often), 202);
      await untilNotified(() => smtp.to(often.email).length === times, 'the e-mail');
      await isDelivered();
    }
  });
  const { status, body } = await send(often);
  assert.deepEqual(
    [status, body.error.code, body.error.details],
    [409, 'too_many_invitation_mails', { max: 5, principalId: often.id }],
  );
  await baton.pool.run(sql`delete from invitation_mails`);
  const made = (n: number, age: string) =>
    baton.pool.run(sql`
      insert into notification_deliveries (event_id, recipient_id, channel, tenant_id, kind, unknown_attempts, sent_at, created_at)
      select gen_random_uuid(), gen_random_uuid(), 'mail', ${baton.tenantId}, 'invitation', 0,
        now() - ${age}::interval, now() - ${age}::interval
      from generate_series(1, ${n}::int)`);
  const before = await baton.pool.row<{ n: number }>(sql`
    select count(*)::int as n from notification_deliveries where kind = 'invitation' and tenant_id = ${baton.tenantId}`);
  await made(1000, '25 hours');
  await made(499 - (before?.n ?? 0), '1 hour');
  await done(send(other), 202);
  await made(1, '1 hour');
  assert.deepEqual((await send(other)).body.error.details, { max: 500 });
  await baton.pool.run(sql`
    delete from notification_deliveries where sent_at < now() - interval '59 minutes'`);
});

test('at most 500 people of a tenant wait for their link', async () => {
  await baton.pool.run(sql`
    with made as (
      insert into principals (id, tenant_id, kind, display_name, status)
      select gen_random_uuid(), ${baton.tenantId}, 'human', 'x', 'active' from generate_series(1, 500)
      returning id
    )
    insert into invitation_mails (id, tenant_id, principal_id, invited_by, key_id, sealed, expires_at)
    select gen_random_uuid(), ${baton.tenantId}, id, 'x', 'x', 'x', now() + interval '1 hour' from made`);
  const { id } = await invited();
  const { status, body } = await baton.admin.post(path, { principalId: id, token: invitationToken() });
  assert.deepEqual([status, body.error.code], [409, 'too_many_invitation_mails']);
});
