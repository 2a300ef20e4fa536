// Needs its own process: it starts and kills workers.
import assert from 'node:assert/strict';
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, afterEach, before, beforeEach, test } from 'node:test';
import { sql } from '@baton/kernel/database/sql';
import { keepSecret } from '@baton/kernel/testing/leaks/leaks';
import { freePort } from '@baton/kernel/testing/process/free-port';
import { longTest } from '@baton/testing/depth';
import { startCoordination, type TestCoordination } from '../../testing/coordination.ts';
import { done } from '../../testing/leases.ts';
import { emptyOutbox } from '../../testing/ledger/sinks.ts';
import {
  type Addressee,
  type LoggedWorker,
  makeAddressee,
  smtpSettings,
  startSender,
  untilNotified,
} from '../../testing/notifications/notifications.ts';
import {
  type SmtpBehaviour,
  type SmtpServer,
  startSmtpServer,
} from '../../testing/notifications/smtp-server.ts';

let baton: TestCoordination;
const folder = mkdtempSync(join(tmpdir(), 'baton-mail-'));
const closing: (() => Promise<unknown>)[] = [];
const children: ChildProcess[] = [];
const logged: LoggedWorker[] = [];
before(async () => {
  baton = await startCoordination({
    CP_OUTBOX_BACKOFF_BASE_SECONDS: '1',
    CP_OUTBOX_BACKOFF_MAX_SECONDS: '1',
    CP_OUTBOX_MAX_ATTEMPTS: '3',
    CP_OUTBOX_LOCK_TIMEOUT_SECONDS: '4',
  });
});
after(async () => {
  rmSync(folder, { recursive: true });
  await baton.close();
});
beforeEach(() => emptyOutbox(baton.pool));
afterEach(async () => {
  for (const child of children.splice(0)) child.kill('SIGKILL');
  for (const close of closing.splice(0).reverse()) await close();
  for (const { lines } of logged.splice(0))
    for (const line of lines) assert.ok(!/@people\.example/.test(line), line);
});

async function server(behaviour: SmtpBehaviour = {}): Promise<SmtpServer> {
  const made = await startSmtpServer(behaviour);
  closing.push(made.stop);
  return made;
}
async function sender(smtp: { port: number }, more: Record<string, string> = {}): Promise<LoggedWorker> {
  const worker = await startSender({
    ...baton.env,
    ...smtpSettings(smtp),
    CP_SMTP_TIMEOUT_SECONDS: '1',
    ...more,
  });
  closing.push(worker.close);
  logged.push(worker);
  return worker;
}
const person = (more: object = {}) => makeAddressee(baton, more);
const ask = (one: Addressee, comment = 'May I?') =>
  done(baton.admin.post('/approvals', { assignedPrincipalId: one.principalId, comment }), 201);
const dead = async () => (await done(baton.admin.get('/operations/outbox?status=dead'))).items;
const pending = async () => (await done(baton.admin.get('/operations/outbox?status=pending'))).items;
const mailEventsOf = (items: any[]) => items.filter(({ sink }) => sink === 'baton:mail');

test('an address that the server refuses for good makes a dead letter at once, with the status and no address', async () => {
  const [bad, good] = [await person(), await person()];
  const smtp = await server({
    recipient: (address) => (address === bad.address ? `550 5.1.1 <${address}>: unknown` : undefined),
  });
  await sender(smtp);
  const approval = await ask(bad);
  await ask(good);
  await untilNotified(async () => (await dead()).length === 1);
  await untilNotified(() => smtp.to(good.address).length === 1);
  const [letter] = await dead();
  assert.deepEqual(
    [letter.sink, letter.type, letter.attempts, letter.lastError],
    ['baton:mail', 'approval.requested', 1, 'the mail server answered 550 5.1.1 to RCPT TO'],
  );
  assert.equal(approval.status, 'pending');
  assert.equal(smtp.commands.filter((line) => line.includes(bad.address)).length, 1);
});

test('a dead letter that is redriven is sent to those who did not get it, and to nobody else again', async () => {
  const role = await done(baton.admin.post('/roles', { slug: `r${Date.now()}`, name: 'Deciders' }), 201);
  const people = [await person(), await person(), await person()] as const;
  for (const { principalId } of people)
    await done(baton.admin.post(`/principals/${principalId}/roles`, { roleId: role.id }), 201);
  const [, bad] = people;
  let isBad = true;
  const smtp = await server({
    recipient: (address) => (isBad && address === bad.address ? '550 5.1.1 no' : undefined),
  });
  await sender(smtp);
  await done(baton.admin.post('/approvals', { requiredRoleId: role.id, comment: 'May I?' }), 201);
  await untilNotified(async () => (await dead()).length === 1);
  assert.deepEqual(
    people.map(({ address }) => smtp.to(address).length),
    [1, 0, 1],
  );
  isBad = false;
  const [letter] = await dead();
  await done(
    baton.admin.post(`/operations/outbox/${letter.id}:redrive`, { reason: 'the mailbox exists now' }),
  );
  await untilNotified(() => smtp.to(bad.address).length === 1);
  await untilNotified(async () => (await pending()).length + (await dead()).length === 0);
  assert.deepEqual(
    people.map(({ address }) => smtp.to(address).length),
    [1, 1, 1],
  );
});

test('a refusal for now is retried, and becomes a dead letter after the last attempt', async () => {
  const [slow, never, other] = [await person(), await person(), await person()];
  let refusals = 0;
  const smtp = await server({
    recipient(address) {
      if (address === never.address) return '450 4.2.1 mailbox busy';
      if (address !== slow.address || refusals === 2) return undefined;
      refusals += 1;
      return '451 4.7.1 greylisted';
    },
  });
  await sender(smtp);
  await ask(slow);
  await ask(never);
  // Another e-mail is accepted, which shows that the server is not at fault.
  await ask(other);
  await untilNotified(() => smtp.to(slow.address).length === 1);
  await untilNotified(async () => (await dead()).length === 1);
  const [letter] = await dead();
  assert.deepEqual([letter.attempts, letter.lastError], [3, 'the mail server answered 450 4.2.1 to RCPT TO']);
  assert.equal(smtp.to(slow.address).length, 1);
});

test('a message that is refused after its content is a dead letter, too', async () => {
  const one = await person();
  const smtp = await server({ message: () => '554 5.7.1 spam according to scanner.people.example' });
  await sender(smtp);
  await ask(one);
  await untilNotified(async () => (await dead()).length === 1);
  assert.equal((await dead())[0].lastError, 'the mail server answered 554 5.7.1 to DATA');
});

test('while the server is down no attempt is counted, and everything is sent once it is back', async () => {
  const one = await person();
  const smtp = await server();
  await smtp.stop();
  const worker = await sender(smtp);
  for (let n = 0; n < 3; n += 1) await ask(one, `question ${n}`);
  await untilNotified(
    () => worker.lines.filter((line) => line.includes('could not be delivered')).length >= 4,
  );
  assert.deepEqual(await dead(), []);
  assert.ok(mailEventsOf(await pending()).every(({ attempts }: any) => attempts <= 1));
  await smtp.start();
  await untilNotified(() => smtp.to(one.address).length === 3);
  await untilNotified(async () => (await pending()).length === 0);
  assert.equal(smtp.to(one.address).length, 3);
});

for (const [tested, what, behaviour] of [
  [test, 'is silent from the beginning', { greeting: () => 'silent' }],
  [longTest, 'hangs up at once', { greeting: () => 'hang up' }],
  [longTest, 'refuses the connection', { greeting: () => '554 no service' }],
  [longTest, 'closes for now', { recipient: () => '421 4.3.2 closing' }],
  [test, 'refuses the sender', { from: () => '550 5.7.1 not you' }],
] as const)
  tested(`a server that ${what} is paused, and e-mails wait`, async () => {
    const one = await person();
    let isBad = true;
    const maybe = Object.fromEntries(
      Object.entries(behaviour).map(([name, reply]) => [name, () => (isBad ? reply() : undefined)]),
    ) as SmtpBehaviour;
    const smtp = await server(maybe);
    await sender(smtp);
    await ask(one);
    await untilNotified(() => smtp.connections >= 2, 'a second connection');
    assert.deepEqual(await dead(), []);
    isBad = false;
    await untilNotified(() => smtp.to(one.address).length === 1);
    await untilNotified(async () => (await pending()).length === 0);
    assert.equal(smtp.to(one.address).length, 1);
  });

test('a wrong password sends nothing, and shows neither user nor password', async () => {
  const one = await person();
  const pass = 'a-long-password-of-the-tests-4711';
  keepSecret('password', pass);
  const smtp = await server({ login: { user: 'baton', pass } });
  const file = join(folder, 'password');
  const login = { CP_SMTP_USER: 'baton', CP_SMTP_PASSWORD_FILE: file };
  writeFileSync(file, 'a-wrong-password-of-the-tests-0815');
  const worker = await sender(smtp, login);
  await ask(one);
  await untilNotified(() => worker.lines.some((line) => line.includes('answered 535 5.7.8 to AUTH PLAIN')));
  assert.equal(smtp.received.length, 0);
  await worker.close();
  writeFileSync(file, ` ${pass}\n`);
  await sender(smtp, login);
  await untilNotified(() => smtp.to(one.address).length === 1);
});

test('nothing is sent in clear where TLS is required', async () => {
  const one = await person();
  for (const tls of ['starttls', 'implicit']) {
    const smtp = await server();
    const worker = await sender(smtp, { CP_SMTP_TLS: tls });
    await ask(one);
    await untilNotified(() => worker.lines.some((line) => line.includes('the mail server')));
    assert.ok(smtp.commands.every((line) => !/^(MAIL|AUTH)/.test(line)));
    assert.equal(smtp.received.length, 0);
    await worker.close();
  }
});

const openssl = spawnSync('openssl', ['version']).error === undefined ? false : 'openssl is not installed';

test('a certificate of an unknown authority is refused, and accepted with CP_SMTP_CA_FILE', {
  skip: openssl,
}, async () => {
  const one = await person();
  const [key, cert] = [join(folder, 'key.pem'), join(folder, 'cert.pem')];
  spawnSync('openssl', [
    ...['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '2'],
    ...['-subj', '/CN=localhost', '-addext', 'subjectAltName=IP:127.0.0.1', '-keyout', key, '-out', cert],
  ]);
  const smtp = await server({ tls: { key: readFileSync(key), cert: readFileSync(cert) } });
  const stranger = await sender(smtp, { CP_SMTP_TLS: 'implicit' });
  await ask(one);
  await untilNotified(() =>
    stranger.lines.some((line) => line.includes('the mail server could not be reached')),
  );
  assert.deepEqual([smtp.received.length, smtp.commands.length], [0, 0]);
  await stranger.close();
  await sender(smtp, { CP_SMTP_TLS: 'implicit', CP_SMTP_CA_FILE: cert });
  await untilNotified(() => smtp.to(one.address).length === 1);
});

test('a server that never confirms a message gets it twice at most; then it is a dead letter', async () => {
  const [one, other] = [await person(), await person()];
  const smtp = await server({ message: ({ to }) => (to === one.address ? 'silent' : undefined) });
  await sender(smtp);
  await ask(one);
  await ask(other);
  await untilNotified(async () => (await dead()).length === 1, 'the dead letter');
  assert.equal(
    (await dead())[0].lastError,
    'the results of two attempts are unknown: the message may have been sent',
  );
  assert.deepEqual([smtp.to(one.address).length, smtp.to(other.address).length], [2, 1]);
  const ids = new Set(smtp.to(one.address).map(({ headers }) => headers.get('message-id')));
  assert.equal(ids.size, 1);
});

/** A worker in a process of its own, which can be killed. */
function spawnSender(smtp: { port: number }): ChildProcess {
  const child = spawn(process.execPath, [join(import.meta.dirname, '../../app/worker.main.ts')], {
    env: { ...process.env, ...baton.env, ...smtpSettings(smtp), CP_LOG_LEVEL: 'warn' },
    stdio: 'ignore',
  });
  children.push(child);
  return child;
}

test('a worker that is killed between sending and recording sends one duplicate, with the same Message-ID', async () => {
  const one = await person();
  let victim: ChildProcess | undefined;
  const smtp = await server({
    message() {
      victim?.kill('SIGKILL');
      return victim === undefined ? undefined : 'silent';
    },
  });
  victim = spawnSender(smtp);
  await ask(one);
  await untilNotified(() => victim?.signalCode === 'SIGKILL', 'the kill');
  victim = undefined;
  await sender(smtp);
  await untilNotified(() => smtp.to(one.address).length === 2, 'the second attempt');
  await untilNotified(async () => (await pending()).length === 0);
  const [first, second] = smtp.to(one.address);
  assert.equal(first?.headers.get('message-id'), second?.headers.get('message-id'));
  assert.deepEqual([smtp.to(one.address).length, (await dead()).length], [2, 0]);
});

longTest('a worker that is killed each time sends two, and the rest is a dead letter', async () => {
  const one = await person();
  let victim: ChildProcess | undefined;
  const smtp = await server({
    message() {
      victim?.kill('SIGKILL');
      return 'silent';
    },
  });
  await ask(one);
  for (let kills = 0; kills < 2; kills += 1) {
    victim = spawnSender(smtp);
    await untilNotified(() => victim?.signalCode === 'SIGKILL', 'the kill');
  }
  await sender(smtp);
  await untilNotified(async () => (await dead()).length === 1, 'the dead letter');
  assert.equal(smtp.to(one.address).length, 2);
});

test('a slow server delays neither the API nor the other events, within the bound of connections', async () => {
  const people = await Promise.all(Array.from({ length: 4 }, () => person()));
  const smtp = await server({
    message: async () => {
      await new Promise((resume) => setTimeout(resume, 200));
      return undefined;
    },
  });
  await sender(smtp, { CP_SMTP_CONNECTIONS_MAX: '2' });
  for (const one of people) for (let n = 0; n < 3; n += 1) await ask(one, `question ${n}`);
  await untilNotified(() => smtp.received.length === 12);
  await untilNotified(async () => (await pending()).length === 0);
  assert.equal(smtp.received.length, 12);
  assert.ok(smtp.connectionsMax <= 2, `${smtp.connectionsMax} connections`);
});

longTest('a closed worker returns what it had not begun, and the next one sends it', async () => {
  const one = await person();
  const smtp = await server();
  const worker = await sender(smtp);
  for (let n = 0; n < 20; n += 1) await ask(one, `question ${n}`);
  await worker.close();
  await sender(smtp);
  await untilNotified(() => smtp.to(one.address).length >= 20);
  await untilNotified(async () => (await pending()).length === 0);
  assert.equal(new Set(smtp.to(one.address).map(({ headers }) => headers.get('message-id'))).size, 20);
});

test('the record of what was sent is deleted after its time', async () => {
  const one = await person();
  const smtp = await server();
  await sender(smtp);
  await ask(one);
  const records = async () =>
    (
      await baton.pool.row<{ n: number }>(
        sql`select count(*) as n from notification_deliveries where recipient_id = ${one.principalId}`,
      )
    )?.n;
  await untilNotified(async () => (await records()) === 1 && smtp.received.length === 1);
  await baton.pool.run(sql`update notification_deliveries set created_at = now() - interval '31 days'`);
  await sender(smtp);
  await untilNotified(async () => (await records()) === 0);
});

test('without a server the events of before are discarded: nothing is sent late', async () => {
  const one = await person();
  const port = Number(await freePort());
  const worker = await sender({ port });
  await ask(one);
  await untilNotified(() =>
    worker.lines.some((line) => line.includes('the mail server could not be reached')),
  );
  await worker.close();
  const without = await startSender({ ...baton.env });
  closing.push(without.close);
  await untilNotified(async () => (await pending()).length === 0);
  await without.close();
  const smtp = await server();
  await sender(smtp);
  await ask(one, 'the newest');
  await untilNotified(() => smtp.received.length === 1);
  assert.match(smtp.received[0]?.headers.get('subject') ?? '', /the newest/);
});
