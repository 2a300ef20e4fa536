import assert from 'node:assert/strict';
import { once } from 'node:events';
import { after, before, test } from 'node:test';
import { createPool, type Pool } from '@baton/kernel/database/db';
import { sql } from '@baton/kernel/database/sql';
import { createLog } from '@baton/kernel/process/log';
import { isLongProof } from '@baton/testing/depth';
import { newId } from '@baton/values/ids';
import { startCoordination, type TestCoordination } from '../../testing/coordination.ts';
import { journalIsStable } from '../../testing/ledger/journal-writer.ts';
import { openStream } from '../../testing/stream/stream-client.ts';
import { until } from '../../testing/wait-until.ts';
import { type Listener, Notifier } from './notifier.ts';

let baton: TestCoordination;
let pool: Pool;
const log = createLog({ name: 'test', level: 'silent' });
const sleep = (ms: number) => new Promise((done) => setTimeout(done, ms));

before(async () => {
  // Longer than any test waits, so an event that is received must have been announced.
  baton = await startCoordination({ CP_WS_POLL_INTERVAL_SECONDS: '600' });
  pool = createPool({
    url: baton.databaseUrl,
    connectionsMax: 2,
    applicationName: 'notifier test',
    statementTimeoutMs: 5000,
    lockTimeoutMs: 5000,
    idleInTransactionTimeoutMs: 5000,
    onError: () => undefined,
  });
});
after(async () => {
  await pool.close();
  await baton.close();
});

async function change(): Promise<string> {
  const made = await baton.admin.post('/tasks', { title: 'heard elsewhere' });
  assert.equal(made.status, 201);
  return made.body.id;
}

function listening() {
  const heard: string[] = [];
  const listener: Listener = {
    journalGrew: (tenantId) => heard.push(tenantId),
    bindingChanged: (issuer, id) => heard.push(`${issuer} ${id}`),
    missed: () => heard.push('missed'),
  };
  return { heard, listener };
}

test('an event written through one process reaches a stream of another in well under a second', async () => {
  const other = await baton.another();
  await journalIsStable(baton.pool);
  const start = (await baton.admin.get('/events?tail=1')).body.nextCursor;
  const stream = openStream(other.url, { token: baton.admin.token, query: `?after=${start}` });
  await once(stream.ws, 'open');
  await sleep(100);
  const latenciesMs: number[] = [];
  for (let n = 1; n <= 20; n += 1) {
    const startedAt = performance.now();
    await change();
    await stream.received(n);
    latenciesMs.push(performance.now() - startedAt);
  }
  latenciesMs.sort((left, right) => left - right);
  // The median is used, because other test files may delay a single event by a second.
  if (isLongProof) assert.ok((latenciesMs[10] as number) < 300, `median ${latenciesMs[10]} ms`);
  await stream.close();
  await other.close();
});

test('a process whose connection for notifications is killed opens another and loses no event', async () => {
  const other = await baton.another();
  await journalIsStable(baton.pool);
  const start = (await baton.admin.get('/events?tail=1')).body.nextCursor;
  const stream = openStream(other.url, { token: baton.admin.token, query: `?after=${start}` });
  await once(stream.ws, 'open');
  await change();
  await stream.received(1);
  await until(async () => {
    const open = await baton.pool.rows(sql`
      select from pg_stat_activity
      where datname = current_database() and application_name = 'baton-coordination (listening)'`);
    return open.length >= 2;
  }, 'the connections of both processes');
  const killed = await baton.pool.rows(sql`
    select pg_terminate_backend(pid) from pg_stat_activity
    where datname = current_database() and application_name = 'baton-coordination (listening)'`);
  assert.ok(killed.length >= 2, 'those of both processes');
  for (let n = 0; n < 5; n += 1) await change();
  await stream.received(6);
  await stream.close();
  await other.close();
});

test('many announcements are combined into at most one NOTIFY in 10 ms, and a process ignores its own', async () => {
  const { heard, listener } = listening();
  const [writer, reader] = [
    new Notifier({ pool, log, listener }),
    new Notifier({ pool, log, listener: listening().listener }),
  ];
  const other = listening();
  const third = new Notifier({ pool, log, listener: other.listener });
  await until(() => other.heard.includes('missed') && heard.includes('missed'));
  const tenants = [newId(), newId(), newId()];
  const startedAt = performance.now();
  let announced = 0;
  while (performance.now() - startedAt < 300 || announced <= 1000) {
    writer.announceJournal(tenants[announced % 3] as string);
    announced += 1;
    if (announced % 50 === 0) await sleep(1);
  }
  await until(() => tenants.every((id) => other.heard.includes(id)));
  await sleep(50);
  const ms = performance.now() - startedAt;
  assert.ok(other.heard.length <= 3 * (ms / 10) + 1, `${other.heard.length} for ${announced} in ${ms} ms`);
  // The service of earlier tests, whose connection was terminated, may still announce its own tenant, or everything.
  assert.deepEqual(
    heard.filter((word) => word !== baton.tenantId && word !== 'missed'),
    [],
  );
  await Promise.all([writer.close(), reader.close(), third.close()]);
});

test('more tenants than fit into a payload wake every reader; an issuer may contain any character', async () => {
  const { heard, listener } = listening();
  const [writer, reader] = [new Notifier({ pool, log }), new Notifier({ pool, log, listener })];
  await until(() => heard.includes('missed'));
  heard.length = 0;
  const id = newId();
  writer.announceBinding('https://issuer.example/a b,*', id);
  await until(() => heard.length > 0);
  assert.deepEqual(heard, [`https://issuer.example/a b,* ${id}`]);
  for (let n = 0; n < 500; n += 1) writer.announceJournal(newId());
  await until(() => heard.includes('missed'));
  await Promise.all([writer.close(), reader.close()]);
});

test('changes announced while the connection is lost are sent when it is open again', async () => {
  const { heard, listener } = listening();
  const [writer, reader] = [new Notifier({ pool, log }), new Notifier({ pool, log, listener })];
  await until(() => heard.includes('missed'));
  const first = newId();
  writer.announceJournal(first);
  await until(() => heard.includes(first));
  await baton.pool.rows(sql`
    select pg_terminate_backend(pid) from pg_stat_activity
    where datname = current_database() and application_name = 'notifier test (listening)'`);
  const second = newId();
  writer.announceJournal(second);
  await until(() => heard.includes(second) || heard.filter((word) => word === 'missed').length > 1);
  await Promise.all([writer.close(), reader.close()]);
});

test('a notifier that never reached its database closes at once', async () => {
  const away = createPool({
    url: 'postgresql://nobody@127.0.0.1:1/none',
    connectionsMax: 1,
    applicationName: 'test',
    statementTimeoutMs: 1000,
    lockTimeoutMs: 1000,
    idleInTransactionTimeoutMs: 1000,
    onError: () => undefined,
  });
  const notifier = new Notifier({ pool: away, log });
  notifier.announceJournal(newId());
  await sleep(250);
  await notifier.close();
  await away.close();
});
