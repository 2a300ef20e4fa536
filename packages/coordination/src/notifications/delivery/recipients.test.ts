import assert from 'node:assert/strict';
import { after, afterEach, before, beforeEach, test } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { sql } from '@baton/kernel/database/sql';
import { startCoordination, type TestCoordination } from '../../testing/coordination.ts';
import { done } from '../../testing/leases.ts';
import { emptyOutbox } from '../../testing/ledger/sinks.ts';
import {
  type Addressee,
  mailAddress,
  makeAddressee,
  putPreferences,
  smtpSettings,
  startSender,
  untilNotified,
} from '../../testing/notifications/notifications.ts';
import {
  type SmtpBehaviour,
  type SmtpServer,
  startSmtpServer,
} from '../../testing/notifications/smtp-server.ts';

/** docs/reference/notifications.md#recipients-who-cant-be-reached: one recipient neither delays nor fails others. */

let baton: TestCoordination;
const closing: (() => Promise<unknown>)[] = [];
before(async () => {
  baton = await startCoordination({
    CP_OUTBOX_BACKOFF_BASE_SECONDS: '1',
    CP_OUTBOX_BACKOFF_MAX_SECONDS: '1',
    CP_OUTBOX_MAX_ATTEMPTS: '3',
    CP_OUTBOX_LOCK_TIMEOUT_SECONDS: '4',
  });
});
after(() => baton.close());
beforeEach(() => emptyOutbox(baton.pool));
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

async function server(behaviour: SmtpBehaviour = {}): Promise<SmtpServer> {
  const made = await startSmtpServer(behaviour);
  closing.push(made.stop);
  return made;
}
async function sender(smtp: { port: number }, more: Record<string, string> = {}): Promise<void> {
  const worker = await startSender({
    ...baton.env,
    ...smtpSettings(smtp),
    CP_SMTP_TIMEOUT_SECONDS: '1',
    ...more,
  });
  closing.push(worker.close);
}
const person = () => makeAddressee(baton);
const ask = (one: Addressee, comment = 'May I?') =>
  done(baton.admin.post('/approvals', { assignedPrincipalId: one.principalId, comment }), 201);
const listOf = async (status: string): Promise<any[]> =>
  (await done(baton.admin.get(`/operations/outbox?status=${status}`))).items;
const attemptsTo = (smtp: SmtpServer, { address }: Addressee) =>
  smtp.commands.filter((line) => line.startsWith('RCPT') && line.includes(address)).length;
const itemsOf = async ({ principalId }: Addressee) =>
  (
    await baton.pool.rows(
      sql`select 1 as n from notification_digest_items where principal_id = ${principalId}`,
    )
  ).length;

/** Waits until all earlier events have been delivered or have become dead letters. */
const isDelivered = () =>
  untilNotified(async () => {
    const row = await baton.pool.row<{ n: number }>(sql`
      select (select count(*) from outbox) + (select count(*) from outbox_deliveries where dead_at is null) as n`);
    return row?.n === 0;
  }, 'the outbox');

let roles = 0;
/** Requests a decision of all these people. */
async function askAll(people: readonly Addressee[]) {
  roles += 1;
  const role = await done(
    baton.admin.post('/roles', { slug: `deciders-${process.pid}-${roles}`, name: 'Deciders' }),
    201,
  );
  for (const { principalId } of people)
    await done(baton.admin.post(`/principals/${principalId}/roles`, { roleId: role.id }), 201);
  return done(baton.admin.post('/approvals', { requiredRoleId: role.id, comment: 'May we?' }), 201);
}

test('a mailbox that is slow to refuse does not keep the e-mails of the same event from others', async () => {
  const people = [await person(), await person(), await person()] as const;
  const [slow, ...others] = people;
  const smtp = await server({
    async recipient(address) {
      if (address !== slow.address) return undefined;
      await wait(900);
      return '451 4.7.1 greylisted';
    },
  });
  await sender(smtp);
  await askAll(people);
  await untilNotified(() => others.every(({ address }) => smtp.to(address).length === 1), 'the others');
  await untilNotified(async () => (await listOf('dead')).length === 1, 'the dead letter');
  assert.ok(attemptsTo(smtp, slow) <= 3, `${attemptsTo(smtp, slow)} attempts`);
  assert.ok(others.every(({ address }) => smtp.to(address).length === 1));
});

test('a mailbox for which the server closes the connection fails alone', async () => {
  const people = [await person(), await person()] as const;
  const [closed, other] = people;
  const third = await person();
  const smtp = await server({
    recipient: (address) => (address === closed.address ? '421 4.7.0 too many messages for it' : undefined),
  });
  await sender(smtp);
  await askAll(people);
  await ask(third);
  await untilNotified(() => [other, third].every(({ address }) => smtp.to(address).length === 1));
  await untilNotified(async () => (await listOf('dead')).length === 1, 'the dead letter');
  const [letter] = await listOf('dead');
  assert.equal(attemptsTo(smtp, closed), 3);
  assert.match(letter.lastError, /^the mail server answered 421 4\.7\.0/);
});

test('a server that closes the connection for everybody is paused, and no attempt is lost', async () => {
  const people = await Promise.all(Array.from({ length: 8 }, person));
  let isClosed = true;
  const smtp = await server({ recipient: () => (isClosed ? '421 4.3.2 closing' : undefined) });
  await sender(smtp, { CP_OUTBOX_MAX_ATTEMPTS: '20' });
  for (const one of people) await ask(one);
  await untilNotified(() => people.filter((one) => attemptsTo(smtp, one) > 0).length >= 5);
  isClosed = false;
  await untilNotified(() => people.every(({ address }) => smtp.to(address).length === 1));
  assert.deepEqual(await listOf('dead'), []);
});

test('while a mailbox fails, further e-mails to it wait without attempts, and others are sent', async () => {
  const [failing, other] = [await person(), await person()];
  let isBusy = true;
  const smtp = await server({
    recipient: (address) => (isBusy && address === failing.address ? '450 4.2.1 mailbox busy' : undefined),
  });
  await sender(smtp, { CP_OUTBOX_BACKOFF_BASE_SECONDS: '300', CP_OUTBOX_BACKOFF_MAX_SECONDS: '300' });
  for (let n = 0; n < 20; n += 1) await ask(failing, `question ${n}`);
  await untilNotified(() => attemptsTo(smtp, failing) > 0, 'the first attempt');
  await ask(other);
  await untilNotified(() => smtp.to(other.address).length === 1);
  await untilNotified(async () => (await listOf('pending')).length === 20, 'the others wait');
  // As many as one tenant has connections, which may have begun together.
  assert.ok(attemptsTo(smtp, failing) <= 2, `${attemptsTo(smtp, failing)} attempts`);
  isBusy = false;
  await baton.pool.run(sql`update notification_pauses set paused_until = now() - interval '1 ms'`);
  await baton.pool.run(sql`update outbox_deliveries set available_at = now() - interval '1 ms'`);
  await untilNotified(() => smtp.to(failing.address).length === 20, 'everything');
  assert.deepEqual(await listOf('dead'), []);
  const pauses = sql`select 1 as n from notification_pauses where recipient_id = ${failing.principalId}`;
  assert.deepEqual(await baton.pool.rows(pauses), []);
});

test('after a refusal for good, further e-mails to the address wait for the digest; a new address is used at once', async () => {
  const one = await person();
  const smtp = await server({
    recipient: (address) => (address === one.address ? '550 5.1.1 unknown' : undefined),
  });
  await sender(smtp);
  await ask(one);
  await untilNotified(async () => (await listOf('dead')).length === 1);
  for (let n = 0; n < 3; n += 1) await ask(one, `question ${n}`);
  await untilNotified(async () => (await itemsOf(one)) === 3, 'the items of the digest');
  assert.deepEqual([(await listOf('dead')).length, attemptsTo(smtp, one)], [1, 1]);
  const address = mailAddress();
  await done(putPreferences(one, { email: address }));
  await ask(one, 'at the new address');
  await untilNotified(() => smtp.to(address).length === 1);
});

test('a digest to an address that was refused waits, and is sent when the pause ends', async () => {
  const one = await person();
  let isUnknown = true;
  const smtp = await server({
    recipient: (address) => (isUnknown && address === one.address ? '550 5.1.1 unknown' : undefined),
  });
  await sender(smtp);
  await ask(one);
  await untilNotified(async () => (await listOf('dead')).length === 1);
  await ask(one, 'for the digest');
  await untilNotified(async () => (await itemsOf(one)) === 1);
  await baton.pool.run(sql`
    update notification_digests set due_at = now() - interval '1 ms' where principal_id = ${one.principalId}`);
  await untilNotified(async () =>
    (await listOf('pending')).some(({ type }) => type === 'notification.digest_due'),
  );
  await untilNotified(async () =>
    (await listOf('pending')).some(
      ({ lastError }) => lastError === 'earlier messages to the recipient failed',
    ),
  );
  assert.equal(attemptsTo(smtp, one), 1);
  isUnknown = false;
  await baton.pool.run(sql`update notification_pauses set paused_until = now() - interval '1 ms'`);
  await baton.pool.run(
    sql`update outbox_deliveries set available_at = now() - interval '1 ms' where dead_at is null`,
  );
  await untilNotified(() => smtp.to(one.address).length === 1, 'the digest');
  assert.match(smtp.to(one.address)[0]?.text ?? '', /for the digest/);
});

test('a decision that is made while the e-mails of its event are sent is not sent to the others', async () => {
  const people = [await person(), await person(), await person()] as const;
  const [first] = people;
  let approval: { id: string } | undefined;
  let made: Promise<unknown> | undefined;
  const smtp = await server({
    async message() {
      made ??= done(first.post(`/approvals/${approval?.id}:approve`));
      await made;
      return undefined;
    },
  });
  approval = await askAll(people);
  await sender(smtp);
  await untilNotified(() => smtp.received.length > 0, 'the first e-mail');
  await isDelivered();
  assert.equal(smtp.received.length, 1);
});

test('the hourly maximum is exact with several workers, and what is beyond it waits for the digest', async () => {
  const one = await person();
  const smtp = await server({
    async message() {
      await wait(50);
      return undefined;
    },
  });
  for (let n = 0; n < 24; n += 1) await ask(one, `question ${n}`);
  const more = {
    CP_NOTIFICATIONS_HOURLY_MAX: '3',
    CP_SMTP_CONNECTIONS_MAX: '8',
    // A message that is late may have been sent, and counts.
    CP_SMTP_TIMEOUT_SECONDS: '10',
    CP_OUTBOX_LOCK_TIMEOUT_SECONDS: '40',
  };
  await Promise.all([sender(smtp, more), sender(smtp, more), sender(smtp, more)]);
  await isDelivered();
  assert.deepEqual([smtp.to(one.address).length, await itemsOf(one)], [3, 21]);
});

test('people who share an address share its hourly maximum', async () => {
  const [one, other] = [await person(), await person()];
  await done(putPreferences(other, { email: one.address.toUpperCase() }));
  const smtp = await server();
  for (let n = 0; n < 4; n += 1) for (const each of [one, other]) await ask(each, `question ${n}`);
  const late = { CP_SMTP_TIMEOUT_SECONDS: '10', CP_OUTBOX_LOCK_TIMEOUT_SECONDS: '40' };
  await sender(smtp, { CP_NOTIFICATIONS_HOURLY_MAX: '3', ...late });
  await isDelivered();
  assert.equal(smtp.received.length, 3);
  assert.equal((await itemsOf(one)) + (await itemsOf(other)), 5);
});
