import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, afterEach, before, beforeEach, test } from 'node:test';
import { Webhook } from 'standardwebhooks';
import { sql } from '@baton/kernel/database/sql';
import { createLog } from '@baton/kernel/process/log';
import { startDatabaseProxy } from '@baton/kernel/testing/database/database-proxy';
import { longTest } from '@baton/testing/depth';
import { startWorker } from '../../app/worker.ts';
import { startCoordination, type TestCoordination } from '../../testing/coordination.ts';
import { journalIsStable, writeEvents } from '../../testing/ledger/journal-writer.ts';
import { emptyOutbox, makeWebhookSecret, type Receiver, startReceiver } from '../../testing/ledger/sinks.ts';
import { until as untilIn } from '../../testing/wait-until.ts';

let baton: TestCoordination;
const folder = mkdtempSync(join(tmpdir(), 'baton-delivery-'));
const secret = makeWebhookSecret();
const log = createLog({ name: 'worker', level: 'silent' });
const closing: (() => Promise<unknown>)[] = [];
/** Waits for up to a minute, because the tests start processes, and wait until the locks of killed ones expire. */
const until = (holds: () => boolean | Promise<boolean>, what?: string) => untilIn(holds, what, 60_000);

before(async () => {
  baton = await startCoordination({
    CP_OUTBOX_BACKOFF_BASE_SECONDS: '1',
    CP_OUTBOX_BACKOFF_MAX_SECONDS: '1',
  });
});
after(async () => {
  rmSync(folder, { recursive: true });
  await baton.close();
});
beforeEach(() => emptyOutbox(baton.pool));
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

async function receiver(...args: Parameters<typeof startReceiver>): Promise<Receiver> {
  const made = await startReceiver(...args);
  closing.push(made.stop);
  return made;
}

/** The settings of a worker that delivers to these sinks. */
function settingsFor(sinks: readonly object[], more: Record<string, string> = {}): Record<string, string> {
  const file = join(folder, `${performance.now()}.json`);
  writeFileSync(file, JSON.stringify({ sinks }));
  return { ...baton.env, CP_SINKS_FILE: file, HOOK_SECRET: secret, ...more };
}
const hook = (name: string, { url }: { url: string }, more: object = {}) => {
  return { name, type: 'webhook', url, secrets: [{ env: 'HOOK_SECRET' }], ...more };
};

async function start(sinks: readonly object[], more: Record<string, string> = {}) {
  const worker = await startWorker({ env: settingsFor(sinks, more), log });
  let closed: Promise<void> | undefined;
  const close = () => {
    closed ??= worker.close();
    return closed;
  };
  closing.push(close);
  return { close };
}

const write = (count: number, more: object = {}, tenantId = baton.tenantId) =>
  writeEvents(
    baton.pool,
    tenantId,
    Array.from({ length: count }, () => more),
  );
/** The number of pending events, the highest number of attempts, and the number of dead letters. */
const waiting = async () =>
  (await baton.pool.row<{ events: number; attempts: number; dead: number }>(sql`
    select coalesce(sum(cardinality(event_sequences)), 0)::int + (select count(*)::int from outbox) as events,
      coalesce(max(attempts), 0) as attempts, count(*) filter (where dead_at is not null) as dead
    from outbox_deliveries`)) as { events: number; attempts: number; dead: number };
const isEmpty = async () => (await waiting()).events === 0;
const sorted = (ids: Iterable<string>) => [...ids].toSorted();

test('a change by a client reaches a webhook, signed, with the id of its event', async () => {
  const there = await receiver();
  await start([hook('there', there)]);
  const task = await baton.admin.post('/tasks', { title: 'to be delivered' });
  await until(() => there.received.length === 1 && isEmpty());
  const [{ body, headers }] = there.received as [Receiver['received'][0]];
  const { id, data } = new Webhook(secret).verify(body, headers as Record<string, string>) as {
    id: string;
    data: object;
  };
  // Readers of the journal wait for older transactions of other tests, whereas the delivery reads the outbox.
  await journalIsStable(baton.pool);
  const { items } = (await baton.admin.get(`/events?entityId=${task.body.id}`)).body;
  assert.deepEqual([id, data], [items[0].id, items[0]]);
});

test('a sink gets the types and tenants that it subscribes to', async () => {
  const [types, tenants] = [await receiver(), await receiver()];
  await start([
    hook('types', types, { types: ['session.op', 'task.claimed'] }),
    hook('tenants', tenants, { tenants: [baton.otherTenantId] }),
  ]);
  const opened = await write(2);
  const closed = await write(1, { type: 'session.closed' });
  const there = await write(1, { type: 'session.closed' }, baton.otherTenantId);
  await until(() => types.received.length >= 2 && tenants.received.length >= 1 && isEmpty());
  assert.deepEqual(sorted(types.ids()), sorted(opened));
  assert.deepEqual(tenants.ids(), there);
  assert.ok(!types.ids().includes(closed[0] as string));
});

test('a sink that is down delays no other, uses up no attempt, and gets all events once it is up again', async () => {
  const [up, down] = [await receiver(), await receiver()];
  await down.stop();
  await start([hook('up', up), hook('down', down)], { CP_OUTBOX_MAX_ATTEMPTS: '1' });
  const ids: string[] = [];
  for (let n = 0; n < 4; n += 1) ids.push(...(await write(60)));
  await until(() => up.received.length === 240, 'the sink that is up');
  // Longer than several pauses of the unavailable sink.
  await new Promise((done) => setTimeout(done, 1500));
  ids.push(...(await write(1)));
  await until(() => up.received.length === 241);
  await until(async () => (await waiting()).events === 241);
  assert.equal((await waiting()).dead, 0);
  await down.start();
  await until(isEmpty, 'the sink that was down');
  for (const sink of [up, down]) assert.deepEqual(sorted(sink.ids()), sorted(ids));
});

test('an event that a receiver refuses becomes a dead letter alone, even if the receiver returns 503 for it', async () => {
  const poison = new Map<string, number>();
  const there = await receiver(({ body }) => ({ status: poison.get(JSON.parse(body).id) ?? 204 }));
  const ids = await write(100);
  poison.set(ids[3] as string, 500).set(ids[50] as string, 503);
  await start([hook('there', there)], { CP_OUTBOX_MAX_ATTEMPTS: '2' });
  const later: string[] = [];
  await until(async () => {
    // A single 503 may be the fault of the sink itself; it counts against the event once others succeed.
    later.push(...(await write(1)));
    await new Promise((done) => setTimeout(done, 50));
    return (await waiting()).dead === 2;
  }, 'two dead letters');
  const wanted = [...ids, ...later].filter((id) => !poison.has(id));
  await until(() => wanted.every((id) => there.ids().includes(id)));
  const dead = await baton.pool.rows<{ id: string; last_error: string }>(sql`
    select e.id, d.last_error from outbox_deliveries d join events e on e.sequence = d.lead
    where d.dead_at is not null order by e.sequence`);
  assert.deepEqual(dead, [
    { id: ids[3], last_error: 'answered 500' },
    { id: ids[50], last_error: 'answered 503' },
  ]);
});

test('no more deliveries are in progress than the sink allows', async () => {
  const server = await receiver(() => undefined);
  await start([hook('slow', server, { concurrency: 3, timeoutSeconds: 2 })], { CP_OUTBOX_MAX_ATTEMPTS: '1' });
  await write(6);
  const startedAt = performance.now();
  await until(async () => (await waiting()).dead === 6);
  // Six events that never get a response, three at a time, each abandoned after 2 s: with a timeout of 1 s, a request
  // didn't always arrive on a busy machine.
  assert.ok(performance.now() - startedAt > 3000);
  assert.equal(server.received.length, 6);
});

test('a worker that is closed releases deliveries in progress, so that another need not wait for their lock', async () => {
  const silent = await receiver(() => undefined);
  const first = await start([hook('there', silent)]);
  const ids = await write(5);
  await until(() => silent.received.length === 5);
  await first.close();
  const answering = await receiver();
  await start([hook('there', answering)]);
  await until(() => answering.received.length === 5 && isEmpty());
  assert.deepEqual(sorted(answering.ids()), sorted(ids));
});

test('undelivered events of a removed sink are discarded if the file lists it so', async () => {
  const down = await receiver();
  await down.stop();
  const worker = await start([hook('gone', down)]);
  await write(70);
  await until(async () => (await baton.pool.row(sql`select 1 from outbox limit 1`)) === undefined);
  await worker.close();
  assert.equal((await waiting()).events, 70);
  await start([{ name: 'gone', type: 'discard' }]);
  await until(isEmpty);
});

/** A worker in a separate process. */
function spawnWorker(env: Record<string, string>) {
  const child = spawn(process.execPath, [join(import.meta.dirname, '../../app/worker.main.ts')], {
    env: { ...env, CP_LOG_LEVEL: 'info' },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const ended = new Promise((done) => child.once('exit', done));
  closing.push(() => Promise.resolve(child.kill('SIGKILL')).then(() => ended));
  let said = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    said = (said + text).slice(-10_000);
  });
  return { child, ended, isRunning: () => said.includes('the worker is running') };
}

longTest(
  'workers that are killed under load lose no event, and repeat only deliveries in progress',
  async () => {
    const there = await receiver();
    // Longer than the delay of a worker on a busy machine: a live worker that loses its lock also causes repeats.
    const lock = { CP_OUTBOX_LOCK_TIMEOUT_SECONDS: '5' };
    const env = settingsFor([hook('there', there)], lock);
    // Start both in parallel, because their starts take most of the time.
    const workers = [spawnWorker(env), spawnWorker(env)];
    const ids: string[] = [];
    let isWriting = true;
    const writing = (async () => {
      while (isWriting) {
        ids.push(...(await write(20)));
        // Write no faster than a busy machine can deliver.
        await new Promise((done) => setTimeout(done, 200));
      }
    })();
    await until(() => workers.every(({ isRunning }) => isRunning()), 'both workers');
    for (const { child, ended } of workers) {
      const before = there.received.length;
      await until(() => there.received.length > before + 60);
      child.kill('SIGKILL');
      await ended;
    }
    isWriting = false;
    await writing;
    await start([hook('there', there)], lock);
    await until(isEmpty, 'the rest');
    assert.deepEqual(sorted(new Set(there.ids())), sorted(ids));
    const repeats = there.ids().length - ids.length;
    assert.ok(repeats <= 2 * 2 * 64, `${repeats} repeats`);
  },
);

test('no event is lost while the database is unavailable, and deliveries made meanwhile are recorded afterwards', async () => {
  const proxy = await startDatabaseProxy(baton.databaseUrl);
  closing.push(() => proxy.cut());
  const there = await receiver();
  await start([hook('there', there)], { CP_DATABASE_URL: proxy.url, CP_OUTBOX_LOCK_TIMEOUT_SECONDS: '2' });
  const ids: string[] = [];
  for (let cuts = 0; cuts < 2; cuts += 1) {
    ids.push(...(await write(100)));
    await until(() => there.received.length > ids.length - 100);
    await proxy.cut();
    await new Promise((done) => setTimeout(done, 100));
    await proxy.mend();
  }
  await until(isEmpty, 'the rest');
  assert.deepEqual(sorted(new Set(there.ids())), sorted(ids));
});
