import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, test } from 'node:test';
import { sql } from '@baton/kernel/database/sql';
import { openPort } from '@baton/kernel/listener/listener';
import { freePort } from '@baton/kernel/testing/process/free-port';
import { assertTookLess, isLongProof } from '@baton/testing/depth';
import { startCoordination, type TestCoordination } from '../../testing/coordination.ts';
import { journalIsStable, writeEvents } from '../../testing/ledger/journal-writer.ts';
import {
  consumerOf,
  namespaceOf,
  newTenant,
  startDelivery,
  writeDeliverable,
} from '../../testing/memory/memory-delivery.ts';
import { startMemoryService, type TestMemory } from '../../testing/memory/memory-service.ts';
import { until } from '../../testing/wait-until.ts';
import { leaseDueTurns } from './adapter-turns.sql.ts';

let baton: TestCoordination;
let memory: TestMemory;
before(async () => {
  baton = await startCoordination();
  memory = await startMemoryService();
});
after(async () => {
  await memory.close();
  await baton.close();
});

/** The position of an event. */
const placeOf = async (id: string) =>
  baton.pool.row<{ position: number; sequence: number }>(
    sql`select position, sequence from events where id = ${id}`,
  );
const retryNow = (tenantId: string) =>
  baton.pool.run(
    sql`update event_consumers set next_attempt_at = now() - interval '1 second' where tenant_id = ${tenantId}`,
  );
/** The seconds until a tenant's next turn. */
const waitOf = async (tenantId: string) => {
  const row = await baton.pool.row<{ wait: number }>(sql`
    select extract(epoch from next_attempt_at - updated_at)::float8 as wait from event_consumers
    where tenant_id = ${tenantId}`);
  return Math.round(row?.wait ?? 0);
};
const batchesOf = (tenantId: string) =>
  memory.arrived.filter(({ namespace }) => namespace === namespaceOf(tenantId)).map(({ ids }) => ids);

test('events are delivered in order, at most 100 per turn, and the cursor passes events that are not sent', async () => {
  const tenantId = await newTenant(baton);
  const ids = await writeDeliverable(baton, tenantId, 120);
  const delivery = startDelivery(baton, memory);
  const report = (await delivery.turns()).get(tenantId);
  assert.deepEqual(report, { hasMore: true, next: undefined, failure: undefined });
  assert.equal((batchesOf(tenantId)[0]?.length ?? 0) <= 100, true);
  while ((await delivery.turns()).get(tenantId)?.hasMore);
  assert.deepEqual(memory.keptIds(namespaceOf(tenantId)), ids);
  const newest = await baton.pool.row<{ position: number; sequence: number }>(
    sql`select position, sequence from events where tenant_id = ${tenantId} order by position desc, sequence desc limit 1`,
  );
  const { position, sequence, lease_id, delivered_total, duplicates_total, last_delivery_at } =
    await consumerOf(baton, tenantId);
  assert.deepEqual({ position, sequence }, newest);
  assert.deepEqual([lease_id, delivered_total, duplicates_total], [null, 120, 0]);
  assert.notEqual(last_delivery_at, null);
  assert.equal((await delivery.turns()).has(tenantId), false);
});

test('an event of an open transaction holds back itself and all later events', async () => {
  const tenantId = await newTenant(baton);
  const delivery = startDelivery(baton, memory);
  await delivery.turns();
  let late: string[] = [];
  await baton.pool.transaction(async (tx) => {
    await writeEvents(tx, tenantId, [{ type: 'capability.created', payload: { name: 'open' } }]);
    late = await writeDeliverable(baton, tenantId, 1);
    const settings = { tenantsMax: 100, failingMax: 0, leaseSeconds: 1 };
    const due = await baton.pool.rows(leaseDueTurns({ consumer: 'context-adapter', ...settings }));
    assert.ok(!due.some(({ tenant_id: id }) => id === tenantId));
  });
  await delivery.turns();
  assert.equal(memory.keptIds(namespaceOf(tenantId)).length, 2);
  assert.equal(memory.keptIds(namespaceOf(tenantId))[1], late[0]);
});

test('the least recently served tenant is next, regardless of volume', async () => {
  const [first, second, third] = [await newTenant(baton), await newTenant(baton), await newTenant(baton)];
  const delivery = startDelivery(baton, memory);
  await delivery.turns();
  for (const tenantId of [third, second, first]) await writeDeliverable(baton, tenantId, 3);
  await journalIsStable(baton.pool);
  await baton.pool.run(sql`update event_consumers set served_at = now()`);
  for (const [tenantId, seconds] of [
    [second, 30],
    [first, 20],
    [third, 10],
  ] as const)
    await baton.pool.run(sql`
      update event_consumers set served_at = now() - make_interval(secs => ${seconds}) where tenant_id = ${tenantId}`);
  const served: (string | undefined)[] = [];
  for (let n = 0; n < 3; n += 1) {
    const due = await baton.pool.rows(
      leaseDueTurns({ consumer: 'context-adapter', tenantsMax: 1, failingMax: 1, leaseSeconds: 60 }),
    );
    served.push(due[0]?.tenant_id);
  }
  assert.deepEqual(served, [second, first, third]);
  await baton.pool.run(sql`update event_consumers set lease_id = null, leased_until = null`);
  await delivery.turns();
});

test('the memory service gets the namespace of the tenant, the run id and the fixed credential', async () => {
  const tenantId = await newTenant(baton);
  await writeDeliverable(baton, tenantId, 1);
  await startDelivery(baton, memory, { CP_CONTEXT_API_KEY: 'memory-key-of-the-tests-123456' }).turns();
  const batch = memory.arrived.find(({ namespace }) => namespace === `tenant:${tenantId}`);
  assert.equal(batch?.headers.authorization, 'Bearer memory-key-of-the-tests-123456');
  assert.equal(batch?.headers['x-run-id'], 'run_test');
  const other = await newTenant(baton);
  await writeDeliverable(baton, other, 1);
  await startDelivery(baton, memory, { CP_CONTEXT_NAMESPACE_PREFIX: 'staging:' }).turns();
  assert.equal(memory.keptIds(`staging:${other}`).length, 1);
});

test('duplicates count as confirmed, and are counted', async () => {
  const tenantId = await newTenant(baton);
  await writeDeliverable(baton, tenantId, 5);
  const delivery = startDelivery(baton, memory);
  await delivery.turns();
  await baton.pool.run(
    sql`update event_consumers set position = 0, sequence = 0, has_more = true where tenant_id = ${tenantId}`,
  );
  await delivery.turns();
  const { delivered_total, duplicates_total } = await consumerOf(baton, tenantId);
  assert.deepEqual([delivered_total, duplicates_total], [10, 5]);
  assert.equal(memory.keptIds(namespaceOf(tenantId)).length, 5);
});

for (const [how, behaviour] of [
  ['a 207 that refuses one event', (ids: Set<string>) => ({ refused: ids })],
  ['400 to the whole batch', (ids: Set<string>) => ({ refusedWhole: { ids, status: 400 } })],
  ['422 to the whole batch', (ids: Set<string>) => ({ refusedWhole: { ids, status: 422 } })],
  ['413 to the whole batch', (ids: Set<string>) => ({ refusedWhole: { ids, status: 413 } })],
] as const)
  for (const index of isLongProof || how.startsWith('a 207') ? [0, 17, 49] : [17])
    test(`after ${how}, number ${index} of 50, all earlier events are delivered and the cursor is just before it`, async () => {
      const tenantId = await newTenant(baton);
      const ids = await writeDeliverable(baton, tenantId, 50);
      const culprit = ids[index] as string;
      memory.behave(behaviour(new Set([culprit])), namespaceOf(tenantId));
      const report = (await startDelivery(baton, memory).turns()).get(tenantId);
      assert.equal(report?.failure?.eventId, culprit);
      const kept = memory.keptIds(namespaceOf(tenantId));
      assert.deepEqual(kept.slice(0, index), ids.slice(0, index));
      assert.ok(!kept.includes(culprit));
      const row = await consumerOf(baton, tenantId);
      assert.equal(row.parked_event_id, culprit);
      assert.equal(row.failure_count, 1);
      assert.equal(row.delivered_total, index);
      assert.equal(row.duplicates_total, 0);
      assert.match(row.parked_reason ?? '', /refuses this event/);
      assert.equal(row.lease_id, null);
      // The event before the culprit either isn't one that is sent, or is the tenant's creation.
      const before = await baton.pool.row(sql`
        select position, sequence from events where tenant_id = ${tenantId}
          and (position, sequence) < (select position, sequence from events where id = ${culprit})
        order by position desc, sequence desc limit 1`);
      assert.deepEqual(
        { position: row.position, sequence: row.sequence },
        before ?? { position: 0, sequence: 0 },
      );

      const batches = batchesOf(tenantId);
      assert.deepEqual(batches.at(-1), [culprit]);
      assert.ok(batches.length <= 13, `${batches.length} requests`);
      const slices = batches.map((batch) => batch.join());
      assert.equal(new Set(slices).size, slices.length, 'a slice was sent twice');
    });

test('a tenant on hold continues when the event is accepted, and its failure count restarts', async () => {
  const tenantId = await newTenant(baton);
  const ids = await writeDeliverable(baton, tenantId, 10);
  memory.behave({ refused: new Set([ids[3] as string]) }, namespaceOf(tenantId));
  const delivery = startDelivery(baton, memory);
  await delivery.turns();
  assert.equal((await delivery.turns()).has(tenantId), false, 'it waits');
  await retryNow(tenantId);
  await delivery.turns();
  assert.equal((await consumerOf(baton, tenantId)).failure_count, 2);
  memory.behave({}, namespaceOf(tenantId));
  await retryNow(tenantId);
  await delivery.turns();
  assert.deepEqual(memory.keptIds(namespaceOf(tenantId)).toSorted(), ids.toSorted());
  const { parked_at, parked_reason, parked_event_id, failure_count, next_attempt_at, failures_total } =
    await consumerOf(baton, tenantId);
  assert.deepEqual(
    [parked_at, parked_reason, parked_event_id, failure_count, next_attempt_at, failures_total],
    [null, null, null, 0, null, 2],
  );
});

const whole = (n: number) => Array.from({ length: n }, (_, index) => ({ observation_id: `o${index}` }));
for (const [what, behaviour] of [
  ['500', { answer: { status: 500 } }],
  ['503', { answer: { status: 503 } }],
  ['401', { answer: { status: 401 } }],
  ['403', { answer: { status: 403 } }],
  ['429', { answer: { status: 429 } }],
  ['a redirect', { answer: { status: 302, headers: { location: 'http://127.0.0.1:1/' } } }],
  ['a connection that is closed', { hangsUp: true }],
  ['a 207 that is not JSON', { answer: { status: 207, body: 'fine' } }],
  ['a 207 without results', { answer: { status: 207, body: '{"accepted":10}' } }],
  [
    'a 207 with too few results',
    {
      answer: {
        status: 207,
        body: JSON.stringify({ results: whole(9), accepted: 10, duplicates: 0, failed: 0 }),
      },
    },
  ],
  [
    'a 207 whose counts contradict its results',
    {
      answer: {
        status: 207,
        body: JSON.stringify({ results: whole(10), accepted: 9, duplicates: 0, failed: 1 }),
      },
    },
  ],
  [
    'a 200 with an empty result',
    {
      answer: {
        status: 200,
        body: JSON.stringify({ results: [...whole(9), {}], accepted: 10, duplicates: 0, failed: 0 }),
      },
    },
  ],
] as const)
  test(`after ${what} the whole batch is retried later`, async () => {
    const tenantId = await newTenant(baton);
    const ids = await writeDeliverable(baton, tenantId, 10);
    memory.behave(behaviour, namespaceOf(tenantId));
    const delivery = startDelivery(baton, memory);
    await delivery.turns();
    const row = await consumerOf(baton, tenantId);
    assert.equal(batchesOf(tenantId).length, 1);
    assert.deepEqual([row.position, row.parked_event_id, row.failure_count], [0, ids[0], 1]);
    assert.ok((row.parked_reason ?? '').length > 0);
    memory.behave({}, namespaceOf(tenantId));
    await retryNow(tenantId);
    await delivery.turns();
    assert.deepEqual(memory.keptIds(namespaceOf(tenantId)), ids);
  });

test('a response longer than 4 MiB is not read to its end', async () => {
  const tenantId = await newTenant(baton);
  await writeDeliverable(baton, tenantId, 1);
  memory.behave({ answer: { status: 207, body: `"${'x'.repeat(5_000_000)}"` } }, namespaceOf(tenantId));
  await startDelivery(baton, memory).turns();
  assert.match((await consumerOf(baton, tenantId)).parked_reason ?? '', /longer than 4194304 bytes/);
});

test('an unreachable or silent memory service puts the tenant on hold within the timeout', async () => {
  const tenantId = await newTenant(baton);
  await writeDeliverable(baton, tenantId, 1);
  await startDelivery(baton, { ...memory, url: `http://127.0.0.1:${await freePort()}` }).turns();
  assert.match(
    (await consumerOf(baton, tenantId)).parked_reason ?? '',
    /unreachable: the connection failed: ECONNREFUSED/,
  );
  memory.behave({ delayMs: 60_000 }, namespaceOf(tenantId));
  await retryNow(tenantId);
  const began = performance.now();
  await startDelivery(baton, memory, { CP_CONTEXT_INGEST_TIMEOUT_SECONDS: '1' }).turns();
  assertTookLess(began, 5000);
  assert.match((await consumerOf(baton, tenantId)).parked_reason ?? '', /no response within 1000 ms/);
});

test('the delay is 1 s, doubles up to 60 s, and is never shorter than the requested one', async () => {
  const tenantId = await newTenant(baton);
  await writeDeliverable(baton, tenantId, 1);
  memory.behave({ answer: { status: 503 } }, namespaceOf(tenantId));
  const delivery = startDelivery(baton, memory);
  const waits: number[] = [];
  const turn = async () => {
    await delivery.turns();
    waits.push(await waitOf(tenantId));
    await retryNow(tenantId);
  };
  for (let n = 0; n < 8; n += 1) await turn();
  assert.deepEqual(waits, [1, 2, 4, 8, 16, 32, 60, 60]);
  const since = (await consumerOf(baton, tenantId)).parked_at;
  const impatient = startDelivery(baton, memory, {
    CP_CONTEXT_RETRY_BACKOFF_BASE_SECONDS: '2',
    CP_CONTEXT_RETRY_BACKOFF_MAX_SECONDS: '7',
  });
  await impatient.turns();
  assert.equal(await waitOf(tenantId), 7);
  await retryNow(tenantId);
  waits.length = 0;
  await baton.pool.run(sql`update event_consumers set failure_count = 0 where tenant_id = ${tenantId}`);
  for (const seconds of ['30', '86400', 'soon']) {
    memory.behave({ answer: { status: 429, headers: { 'retry-after': seconds } } }, namespaceOf(tenantId));
    await turn();
  }
  assert.deepEqual(waits, [30, 60, 4]);
  assert.equal((await consumerOf(baton, tenantId)).parked_at, since, 'on hold since the first failure');
});

test('a rebuild takes precedence over a running delivery: the late turn does not move the cursor', async () => {
  const tenantId = await newTenant(baton);
  const ids = await writeDeliverable(baton, tenantId, 4);
  const delivery = startDelivery(baton, memory, { CP_CONTEXT_TENANT_BATCH_SIZE: '5' });
  await delivery.turns();
  const written = Promise.withResolvers<void>();
  memory.behave({ until: written.promise }, namespaceOf(tenantId));
  const seen = batchesOf(tenantId).length;
  const late = delivery.turns();
  await until(() => batchesOf(tenantId).length > seen, 'the request');
  await baton.pool.run(
    sql`update event_consumers set position = 0, sequence = 0, has_more = true where tenant_id = ${tenantId}`,
  );
  written.resolve();
  await late;
  const row = await consumerOf(baton, tenantId);
  assert.deepEqual([row.position, row.sequence, row.lease_id], [0, 0, null]);
  memory.behave({}, namespaceOf(tenantId));
  while ((await delivery.turns()).get(tenantId)?.hasMore);
  assert.deepEqual(memory.keptIds(namespaceOf(tenantId)), ids);
  assert.deepEqual(batchesOf(tenantId).slice(-2).flat(), ids, 'all events were sent again');
});

test('a turn that lost its lease to another process writes nothing', async () => {
  const tenantId = await newTenant(baton);
  await writeDeliverable(baton, tenantId, 2);
  const written = Promise.withResolvers<void>();
  memory.behave({ until: written.promise }, namespaceOf(tenantId));
  const late = startDelivery(baton, memory).turns();
  await until(() => batchesOf(tenantId).length > 0, 'the request');
  await baton.pool.run(sql`
    update event_consumers set lease_id = gen_random_uuid(), leased_until = now() + interval '1 minute'
    where tenant_id = ${tenantId}`);
  written.resolve();
  await late;
  const row = await consumerOf(baton, tenantId);
  assert.equal(row.position, 0);
  assert.notEqual(row.lease_id, null);
});

test('requests hold at most CP_CONTEXT_BATCH_SIZE events and about 1 MB', async () => {
  const tenantId = await newTenant(baton);
  const ids = await writeDeliverable(baton, tenantId, 7);
  await startDelivery(baton, memory, { CP_CONTEXT_BATCH_SIZE: '3' }).turns();
  assert.deepEqual(batchesOf(tenantId), [ids.slice(0, 3), ids.slice(3, 6), ids.slice(6)]);

  const wordy = await newTenant(baton);
  const content = 'x'.repeat(60_000);
  await writeEvents(
    baton.pool,
    wordy,
    Array.from({ length: 40 }, () => ({
      type: 'observation.recorded',
      payload: { kind: 'log', content, observedAt: '2026-01-01T00:00:00.000Z' },
    })),
  );
  await startDelivery(baton, memory).turns();
  const sizes = batchesOf(wordy).map((batch) => batch.length);
  assert.deepEqual(sizes, [16, 16, 8]);
});

test('a token of Baton’s own service account is requested once, and again after a 401', async () => {
  const issued: string[] = [];
  const asked: unknown[] = [];
  const identity = createServer(async (req, res) => {
    issued.push(`service-account-token-of-the-tests-${issued.length}`);
    let text = '';
    for await (const chunk of req.setEncoding('utf8')) text += String(chunk);
    asked.push(JSON.parse(text));
    const body = { accessToken: issued.at(-1), tokenType: 'Bearer', expiresIn: 300 };
    res.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body));
  });
  await openPort(identity, '127.0.0.1', 0);
  const { port } = identity.address() as AddressInfo;
  const tenantId = await newTenant(baton);
  await writeDeliverable(baton, tenantId, 3);
  const delivery = startDelivery(baton, memory, {
    CP_IAM_BASE_URL: `http://127.0.0.1:${port}`,
    CP_IAM_CLIENT_ID: 'iam_sa_of_the_tests',
    CP_IAM_CLIENT_SECRET: 'client-secret-of-the-tests-4712',
    CP_CONTEXT_BATCH_SIZE: '2',
  });
  const sent = () =>
    memory.arrived
      .filter(({ namespace }) => namespace === namespaceOf(tenantId))
      .map(({ headers }) => headers.authorization);
  await delivery.turns();
  assert.deepEqual(sent(), [`Bearer ${issued[0]}`, `Bearer ${issued[0]}`]);
  memory.behave({ answer: { status: 401 } }, namespaceOf(tenantId));
  await writeDeliverable(baton, tenantId, 1);
  await delivery.turns();
  assert.equal(issued.length, 1, 'nothing is sent twice in one turn');
  memory.behave({}, namespaceOf(tenantId));
  await retryNow(tenantId);
  await delivery.turns();
  assert.equal(sent().at(-1), `Bearer ${issued[1]}`);
  assert.deepEqual(asked[0], {
    clientId: 'iam_sa_of_the_tests',
    clientSecret: 'client-secret-of-the-tests-4712',
    audience: 'memory-service',
    scopes: ['memory:read', 'memory:write', 'memory:tenants', 'memory:service'],
  });

  await new Promise((done) => identity.close(done));
  const away = startDelivery(baton, memory, {
    CP_IAM_BASE_URL: `http://127.0.0.1:${port}`,
    CP_IAM_CLIENT_ID: 'iam_sa_of_the_tests',
    CP_IAM_CLIENT_SECRET: 'client-secret-of-the-tests-4712',
  });
  await writeDeliverable(baton, tenantId, 1);
  await away.turns();
  const reason = (await consumerOf(baton, tenantId)).parked_reason ?? '';
  assert.match(reason, /^no token of identity: /);
  assert.ok(!reason.includes('4712'));
});

test('an aborted turn keeps its confirmed events and sends nothing more', async () => {
  const tenantId = await newTenant(baton);
  const ids = await writeDeliverable(baton, tenantId, 6);
  const stop = new AbortController();
  memory.behave({ delayMs: 100 }, namespaceOf(tenantId));
  const turn = startDelivery(baton, memory, { CP_CONTEXT_BATCH_SIZE: '2' }).turns(stop.signal);
  await until(() => batchesOf(tenantId).length === 2, 'the second request');
  stop.abort();
  await turn;
  assert.equal(batchesOf(tenantId).length, 2);
  const row = await consumerOf(baton, tenantId);
  assert.deepEqual([row.delivered_total, row.parked_at, row.lease_id, row.has_more], [2, null, null, true]);
  assert.deepEqual(
    await placeOf(ids[1] as string).then((place) => (place?.sequence ?? 0) < row.sequence),
    true,
  );
});

test('a secret in a response of the memory service is not stored', async () => {
  const tenantId = await newTenant(baton);
  const ids = await writeDeliverable(baton, tenantId, 1);
  const error = `Bearer cp_${'a1'.repeat(6)}_${'b2'.repeat(16)} is \0 wrong`;
  const body = JSON.stringify({ results: [{ error }], accepted: 0, duplicates: 0, failed: 1 });
  memory.behave({ answer: { status: 207, body } }, namespaceOf(tenantId));
  await startDelivery(baton, memory).turns();
  const row = await consumerOf(baton, tenantId);
  assert.equal(row.parked_event_id, ids[0]);
  assert.doesNotMatch(row.parked_reason ?? '', /b2b2b2/);
  await journalIsStable(baton.pool);
});
