import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { after, before, beforeEach, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { sql } from '../database/sql.ts';
import { readBody } from '../http/http-message.ts';
import { ClientGone } from '../http/refusal.ts';
import { type DoorService, doorCredential, startDoors } from '../testing/door/door-service.ts';
import { createListener, openPort } from './listener.ts';

let doors: DoorService;
before(async () => {
  doors = await startDoors();
});
after(() => doors.close());
beforeEach(() => {
  doors.hooks.beforeOpen = async () => undefined;
  doors.logLines.length = 0;
});

const codeOf = (body: unknown) => (body as { code?: string })?.code;
const errorsLogged = () => doors.logLines.filter((line) => line.includes('"level":"error"'));
const { authorization } = doorCredential();

/** Opens a connection, writes `text`, and returns it so that the test can close it. */
function open(text: string) {
  const { port } = doors.server.address() as { port: number };
  const socket = connect(port, '127.0.0.1');
  socket.on('error', () => undefined);
  socket.write(text);
  return socket;
}

const requestHead = (path: string, ...lines: string[]) =>
  `${[`POST ${path} HTTP/1.1`, 'host: doors', `authorization: ${authorization}`, ...lines].join('\r\n')}\r\n\r\n`;

test('a client that leaves while it sends its body causes no error in the log and no 5xx', async () => {
  for (const framing of ['content-length: 100', 'transfer-encoding: chunked']) {
    const socket = open(`${requestHead('/api/doors', framing)}5\r\n{"lab`);
    await sleep(50);
    socket.destroy();
  }
  await sleep(100);
  assert.deepEqual(errorsLogged(), []);
  const text = await doors.metrics.metrics();
  assert.doesNotMatch(text, /status="5/);
});

test('the body of a client that left before it was read is given up at once', async () => {
  const outcome = Promise.withResolvers<unknown>();
  const server = createListener({
    async handler(req) {
      await new Promise((done) => req.once('close', done));
      outcome.resolve(Promise.resolve(readBody(req, 100)).catch((error: unknown) => error));
    },
  });
  await openPort(server, '127.0.0.1', 0);
  const socket = connect((server.address() as { port: number }).port, '127.0.0.1');
  socket.write('POST / HTTP/1.1\r\nhost: doors\r\ncontent-length: 10\r\n\r\nhalf');
  await sleep(50);
  socket.destroy();
  assert.ok((await outcome.promise) instanceof ClientGone);
  await new Promise((done) => server.close(done));
});

async function openTransactions(): Promise<number> {
  const row = await doors.pool.row<{ open: number }>(sql`
    select count(*) as open from pg_stat_activity
    where datname = current_database() and state like 'idle in transaction%'`);
  return row?.open ?? 0;
}

test('clients that leave before their answer leave nothing behind: no connection, no transaction', async () => {
  const { id } = await doors.makeDoor();
  doors.hooks.beforeOpen = ({ db }) => db.run(sql`select pg_sleep(0.05)`).then(() => undefined);
  for (let count = 0; count < 30; count += 1) {
    const socket = open(requestHead(`/api/doors/${id}:open`, 'content-length: 0'));
    setTimeout(() => socket.destroy(), count);
  }
  // More requests than the pool has connections: they succeed only if every connection was returned.
  await sleep(300);
  doors.hooks.beforeOpen = async () => undefined;
  const answers = await Promise.all(
    Array.from({ length: 20 }, () => doors.call('POST', `/api/doors/${id}:open`)),
  );
  assert.ok(answers.every(({ status }) => status === 200));
  // The last request of a disconnected client may still be between two statements of its transaction.
  for (let attempt = 1; (await openTransactions()) > 0; attempt += 1) {
    assert.ok(attempt < 1200, 'a transaction stays open');
    await sleep(50);
  }
  assert.equal(
    (await new Promise<number>((done) => doors.server.getConnections((_, count) => done(count)))) < 25,
    true,
  );
});

test('nothing of a request reaches the log: no header, no query, no body, not even of one that fails', async () => {
  const { id } = await doors.makeDoor();
  const canary = 'canary-4f8a1c';
  const headers = { 'x-secret': canary, cookie: canary, 'idempotency-key': canary, 'user-agent': canary };
  const credential = { authorization: `Bearer ${canary}` };
  doors.hooks.beforeOpen = async ({ db }) => {
    await db.run(sql`select ${canary}::uuid`);
  };
  const statuses = [];
  for (const send of [
    () => doors.call('POST', `/api/doors/${id}:open`, { by: canary }, headers),
    () => doors.call('POST', '/api/doors', { label: canary, zebra: canary }, headers),
    () => doors.call('POST', '/api/doors', `{"${canary}`, headers),
    () => doors.call('GET', `/api/doors?label=${canary}&cursor=${canary}`, undefined, headers),
    () => doors.call('GET', '/api/doors', undefined, credential),
  ])
    statuses.push((await send()).status);
  assert.deepEqual(statuses, [500, 400, 400, 422, 401]);
  assert.ok(errorsLogged().length > 0);
  assert.doesNotMatch(doors.logLines.join(''), /canary/);
});

test('a failure is logged with its cause, but without the rows that the database repeats in its details', async () => {
  const { id } = await doors.makeDoor();
  doors.hooks.beforeOpen = async ({ db }) => {
    await db
      .run(sql`insert into doors (id, tenant_id, label) select id, tenant_id, 'canary' from doors limit 1`)
      .catch((cause) => {
        throw new Error('could not copy', { cause });
      });
  };
  await doors.call('POST', `/api/doors/${id}:open`);
  const [line = ''] = errorsLogged();
  const { err } = JSON.parse(line) as { err: { message: string; cause: Record<string, unknown> } };
  assert.equal(err.message, 'could not copy');
  assert.equal(err.cause['constraint'], 'doors_pkey');
  assert.ok(!line.includes(id));
});

test('requests are counted by method and status, and nothing else', async () => {
  await doors.send({ method: 'PURGE', path: '/nowhere' });
  const text = await doors.metrics.metrics();
  assert.match(text, /http_requests_total\{method="OTHER",status="404"\} \d/);
  assert.match(text, /http_requests_total\{method="POST",status="200"\} \d/);
  for (const [, labels] of text.matchAll(/http_requests_total\{([^}]*)\}/g))
    assert.match(labels ?? '', /^method="[A-Z]+",status="\d{3}"$/);
});

test('a shutdown finishes what is under way, and answers what comes later with our own 503', async () => {
  const closing = await startDoors();
  try {
    const { id } = await closing.makeDoor();
    const [entered, released] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    closing.hooks.beforeOpen = async () => {
      entered.resolve();
      await released.promise;
    };
    const underWay = closing.call('POST', `/api/doors/${id}:open`);
    await entered.promise;
    const closed = closing.closeApp();
    const late = await closing.call('POST', `/api/doors/${id}:open`);
    assert.deepEqual([late.status, codeOf(late.body)], [503, 'unavailable']);
    assert.equal(typeof late.headers['x-request-id'], 'string');
    released.resolve();
    assert.equal((await underWay).status, 200);
    await closed;
  } finally {
    await closing.close();
  }
});
