import assert from 'node:assert/strict';
import type { AddressInfo } from 'node:net';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { sql } from '@baton/kernel/database/sql';
import { createListener, openPort } from '@baton/kernel/listener/listener';
import { createLog } from '@baton/kernel/process/log';
import { freePort } from '@baton/kernel/testing/process/free-port';
import { assertTookLess, byDepth } from '@baton/testing/depth';
import { openIdentity } from '../../app/app.ts';
import { readIdentitySettings } from '../../app/settings.ts';
import { adminHeader, startIdentity, type TestIdentity } from '../../testing/identity.ts';
import { made, makePrincipal, makeTenant } from '../../testing/objects.ts';
import { until } from '../../testing/waiting.ts';

/** How long a poll and its statement may take on a busy machine. */
const promptMs = 5000;

let identity: TestIdentity;
let elsewhere: TestIdentity;
before(async () => {
  // There are fewer connections than waiting readers.
  identity = await startIdentity({ IAM_DATABASE_CONNECTIONS_MAX: '2' });
  elsewhere = await identity.another();
});
after(() => identity.close());

async function headOfJournal(): Promise<number> {
  const row = await identity.pool.row<{ head: number }>(
    sql`select coalesce(max(sequence), 0) as head from events`,
  );
  return row?.head ?? 0;
}

/** A reader that is up to date, and the duration of its read. */
async function waitFor(reader: TestIdentity, query: string) {
  const path = `/events?after=${await headOfJournal()}&${query}`;
  const began = performance.now();
  const { body } = await reader.get(path);
  const types: string[] = body.items.map(({ type }: { type: string }) => type);
  return { body, types, began, tookMs: performance.now() - began };
}

const endsSeconds = 3;
/** Waits until every reader of the process has found no event and is waiting. */
const settleMs = 400;

test('without `wait` an empty page is answered at once; with events there is no waiting', async () => {
  const empty = await waitFor(identity, '');
  assertTookLess(empty.began, promptMs);
  assert.deepEqual(empty.body, { items: [], next_after: null });
  await makeTenant(identity);
  const began = performance.now();
  const { body } = await identity.get('/events?wait=30&limit=1');
  assert.equal(body.items.length, 1);
  assertTookLess(began, promptMs);
});

test('an event of another process ends the wait, and is in the answer', async () => {
  const tenantId = await makeTenant(identity);
  const reading = waitFor(identity, 'wait=30');
  await sleep(settleMs);
  const principalId = await makePrincipal(elsewhere, tenantId);
  const { types, body, began } = await reading;
  assertTookLess(began, settleMs + promptMs);
  assert.deepEqual(types, ['principal.created']);
  assert.deepEqual([body.items[0].aggregate_id, body.next_after], [principalId, null]);
});

test('an event that the filter leaves out does not end the wait; without one the page is empty', async () => {
  const [tenantId, otherId] = [await makeTenant(identity), await makeTenant(identity)];
  const [tenant, type, both] = [`tenantId=${tenantId}`, 'type=tenant.created', `tenantId=${tenantId}&type=x`];
  let isAnswered = false;
  const readings = [
    waitFor(identity, `wait=30&${tenant}`).finally(() => {
      isAnswered = true;
    }),
    // That these readers wait until the timeout is proven by the assertion about their duration below.
    waitFor(identity, `wait=${endsSeconds}&${type}`),
    waitFor(identity, `wait=${endsSeconds}&${both}`),
  ];
  await sleep(settleMs);
  await makePrincipal(elsewhere, otherId);
  await sleep(2 * settleMs);
  assert.equal(isAnswered, false);
  await makePrincipal(elsewhere, tenantId);
  const [ofTenant, ofType, ofBoth] = await Promise.all(readings);
  assert.deepEqual(ofTenant?.types, ['principal.created']);
  for (const unanswered of [ofType, ofBoth]) {
    assert.deepEqual(unanswered?.body, { items: [], next_after: null });
    assert.ok((unanswered?.tookMs ?? 0) >= 1000 * endsSeconds);
  }
});

test('wait has 0 to 30 seconds', async () => {
  for (const wait of ['-1', '31', '1.5', 'x', ''])
    assert.equal((await identity.get(`/events?wait=${wait}`)).status, 422, wait);
});

/** Starts a separate process. @returns it, and a function that reads the number of waiting readers in it */
async function startCounted() {
  const metricsPort = await freePort();
  const counted = await identity.another({ IAM_METRICS_PORT: metricsPort });
  const waiting = async () => {
    const text = await (await fetch(`http://127.0.0.1:${metricsPort}/metrics`)).text();
    return Number(/^iam_journal_readers_waiting (\d+)$/m.exec(text)?.[1]);
  };
  return { counted, waiting };
}

test('200 waiting readers use one of two connections, and a writer is served meanwhile', async () => {
  const { counted, waiting } = await startCounted();
  const transactions = async () => {
    const row = await identity.pool.row<{ count: number }>(sql`
      select xact_commit as count from pg_stat_database where datname = current_database()`);
    return row?.count ?? 0;
  };
  const tenantId = await makeTenant(identity);
  const path = `/events?after=${await headOfJournal()}&wait=30&tenantId=${tenantId}`;
  const readings: ReturnType<typeof counted.get>[] = [];
  // In `npm test`, sends 20 at a time: when 200 were sent at once on a busy machine, some received 503 before their
  // first read.
  while (readings.length < 200) {
    for (let n = 0; n < byDepth(20, 200); n += 1) readings.push(counted.get(path));
    await until(async () => (await waiting()) === readings.length, 'all of them wait');
  }
  // Waits because the database's statistics for a connection lag by up to a second.
  await sleep(1100);
  await until(async () => {
    const before = await transactions();
    await sleep(2000);
    return (await transactions()) - before < 60;
  }, 'fewer than 60 statements in 2 s');

  const began = performance.now();
  await makePrincipal(counted, tenantId);
  assertTookLess(began, promptMs);
  for (const { body } of await Promise.all(readings)) assert.equal(body.items.length, 1);
  assertTookLess(began, 2 * promptMs);
});

test('a stop of the service answers waiting readers with an empty page', async () => {
  const log = createLog({ name: 'identity', level: 'error', destination: { write: () => undefined } });
  const service = await openIdentity(readIdentitySettings(identity.env), log);
  const server = createListener(service);
  await openPort(server, '127.0.0.1', 0);
  const { port } = server.address() as AddressInfo;
  const url = `http://127.0.0.1:${port}/api/v1/events?type=x&wait=30`;
  let received = 0;
  server.on('request', () => {
    received += 1;
  });
  const readings = Array.from({ length: 5 }, () => fetch(url, { headers: adminHeader }));
  // All requests must have arrived, because one that arrives after the stop is refused.
  await until(() => received === readings.length, 'the service has received all of them');
  await sleep(settleMs);
  const began = performance.now();
  await service.close();
  for (const answer of await Promise.all(readings))
    assert.deepEqual([answer.status, await answer.json()], [200, { items: [], next_after: null }]);
  assertTookLess(began, promptMs);
  await new Promise((done) => server.close(done));
});

test('a reader whose client has left is forgotten', async () => {
  const { counted: other, waiting } = await startCounted();
  const leaving = new AbortController();
  const url = `${other.url}/api/v1/events?type=x&wait=30`;
  const requests = Array.from({ length: 3 }, () =>
    fetch(url, { headers: adminHeader, signal: leaving.signal }).catch((error: Error) => error.name),
  );
  await until(async () => (await waiting()) === 3, '3 readers wait');
  leaving.abort();
  assert.deepEqual(await Promise.all(requests), ['AbortError', 'AbortError', 'AbortError']);
  await until(async () => (await waiting()) === 0, 'no reader waits');
  assert.ok(!other.logged.some((line) => line.includes('"level":"error"')));
});

test('a waiting reader is answered an error when the journal cannot be read', async () => {
  const reading = identity.get('/events?type=x&wait=30');
  await sleep(settleMs);
  await identity.pool.run({ text: 'alter function journal_settled() rename to hidden', values: [] });
  try {
    assert.equal((await reading).status, 500);
  } finally {
    await identity.pool.run({ text: 'alter function hidden() rename to journal_settled', values: [] });
  }
  assert.equal((await made(identity.get('/events?type=x&wait=1'))).next_after, null);
});
