import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { sql } from '@baton/kernel/database/sql';
import { createLog } from '@baton/kernel/process/log';
import { keepSecret } from '@baton/kernel/testing/leaks/leaks';
import { freePort } from '@baton/kernel/testing/process/free-port';
import { assertTookLess } from '@baton/testing/depth';
import {
  type ContextAdapterProcess,
  startContextAdapter,
} from '../../app/context-adapter/context-adapter.ts';
import { startCoordination, type TestCoordination } from '../../testing/coordination.ts';
import { journalIsStable } from '../../testing/ledger/journal-writer.ts';
import {
  adapterEnv,
  consumerOf,
  namespaceOf,
  newTenant,
  quietLog,
  writeDeliverable,
} from '../../testing/memory/memory-delivery.ts';
import { startMemoryService, type TestMemory } from '../../testing/memory/memory-service.ts';
import { until } from '../../testing/wait-until.ts';

let baton: TestCoordination;
let memory: TestMemory;
before(async () => {
  baton = await startCoordination();
  memory = await startMemoryService();
});
after(async () => {
  // Adapters left over from a failed test; a passing test closes its own.
  await Promise.allSettled(started.map((adapter) => adapter.close()));
  await memory.close();
  await baton.close();
});

const started: ContextAdapterProcess[] = [];
async function start(env: Record<string, string>, log = quietLog): Promise<ContextAdapterProcess> {
  const adapter = await startContextAdapter({ env, isWatched: false, log });
  started.push(adapter);
  return adapter;
}
const settled = async (tenantId: string) => {
  const { position } = await consumerOf(baton, tenantId);
  const newest = await baton.pool.row<{ position: number }>(
    sql`select max(position) as position from events where tenant_id = ${tenantId}`,
  );
  return position === newest?.position;
};

test('with CP_CONTEXT_PROVIDER=none no events are sent, and cursors advance to the stable head', async () => {
  const tenantId = await newTenant(baton);
  await writeDeliverable(baton, tenantId, 3);
  await journalIsStable(baton.pool);
  const adapter = await start({ ...baton.env, CP_CONTEXT_BASE_URL: memory.url });
  await until(() => settled(tenantId).catch(() => false), 'the first move');
  await baton.pool.run(sql`
    update event_consumers set parked_at = now(), parked_reason = 'x', failure_count = 1, next_attempt_at = now() - interval '1 s'
    where tenant_id = ${tenantId}`);
  await writeDeliverable(baton, tenantId, 2);
  await until(() => settled(tenantId), 'the second move');
  await adapter.close();
  assert.equal(memory.arrived.length, 0);
  const { parked_at, failure_count, next_attempt_at, delivered_total } = await consumerOf(baton, tenantId);
  assert.deepEqual([parked_at, failure_count, next_attempt_at, delivered_total], [null, 0, null, 0]);
});

test('it delivers existing and new events, and creates a cursor for every tenant', async () => {
  const [first, second] = [await newTenant(baton), await newTenant(baton)];
  const ids = await writeDeliverable(baton, first, 250);
  const adapter = await start(adapterEnv(baton, memory));
  await until(() => memory.keptIds(namespaceOf(first)).length === ids.length, 'the backlog');
  const later = await writeDeliverable(baton, second, 1);
  await until(() => memory.keptIds(namespaceOf(second)).length === 1, 'the new event');
  assert.deepEqual(memory.keptIds(namespaceOf(first)), ids);
  assert.deepEqual(memory.keptIds(namespaceOf(second)), later);
  await adapter.close();
  const open = await baton.pool.row(sql`select from event_consumers where lease_id is not null`);
  assert.equal(open, undefined);
});

test('it has a health port: liveness, readiness independent of the memory service, and metrics', async () => {
  const port = await freePort();
  const env = adapterEnv(baton, memory, { CP_CONTEXT_ADAPTER_METRICS_PORT: String(port) });
  const adapter = await startContextAdapter({ env, isWatched: true, log: quietLog });
  const url = `http://127.0.0.1:${port}`;
  assert.deepEqual(await (await fetch(`${url}/health/live`)).json(), { status: 'alive' });
  const ready = await fetch(`${url}/health/ready`);
  const { status, memory: word } = (await ready.json()) as { status: string; memory: string };
  assert.deepEqual([ready.status, status, word], [200, 'ready', 'alive']);
  const text = await (await fetch(`${url}/metrics`)).text();
  for (const [name, kind] of [
    ['delivered_total', 'counter'],
    ['duplicates_total', 'counter'],
    ['failures_total', 'counter'],
    ['parked_tenants', 'gauge'],
    ['lag', 'gauge'],
    ['lag_capped', 'gauge'],
  ])
    assert.match(text, new RegExp(`# TYPE context_adapter_${name} ${kind}\ncontext_adapter_${name} \\d+\n`));
  await adapter.close();
  await assert.rejects(fetch(`${url}/health/live`));

  const away = adapterEnv(
    baton,
    { url: 'http://127.0.0.1:1' },
    { CP_CONTEXT_ADAPTER_METRICS_PORT: String(port) },
  );
  const without = await startContextAdapter({ env: away, isWatched: true, log: quietLog });
  const still = await fetch(`${url}/health/ready`);
  assert.deepEqual([still.status, ((await still.json()) as { memory: string }).memory], [200, 'unreachable']);
  await without.close();
});

test('the metrics of coordination have the same figures, over all tenants and processes', async () => {
  const figures = async () => {
    const process = await baton.another();
    const text = await (await fetch(`${process.url}/metrics`)).text();
    await process.close();
    return (name: string) => Number(new RegExp(`^context_adapter_${name} (\\d+)$`, 'm').exec(text)?.[1]);
  };
  await baton.pool.run(sql`delete from event_consumers`);
  const none = await figures();
  for (const name of [
    'delivered_total',
    'duplicates_total',
    'failures_total',
    'parked_tenants',
    'lag',
    'lag_capped',
  ])
    assert.equal(none(name), 0, name);
  const tenants = [await newTenant(baton), await newTenant(baton)];
  for (const [n, tenantId] of tenants.entries())
    await baton.pool.run(sql`
      insert into event_consumers (tenant_id, consumer, delivered_total, duplicates_total, failures_total, parked_at,
        parked_reason)
      select ${tenantId}, 'context-adapter', 10, 4, 2, case when ${n}::int = 1 then now() end,
        case when ${n}::int = 1 then 'x' end`);
  await journalIsStable(baton.pool);
  const some = await figures();
  const names = ['delivered_total', 'duplicates_total', 'failures_total', 'parked_tenants', 'lag_capped'];
  assert.deepEqual(names.map(some), [20, 8, 4, 1, 0]);
  const lag = some('lag');
  await writeDeliverable(baton, tenants[0] as string, 5);
  await journalIsStable(baton.pool);
  assert.equal((await figures())('lag'), lag + 10);
  await writeDeliverable(baton, tenants[0] as string, 500);
  await journalIsStable(baton.pool);
  const full = await figures();
  assert.deepEqual([full('lag'), full('lag_capped')], [1000, 1]);
  await baton.pool.run(sql`delete from event_consumers`);
});

test('a stop lets the running turn finish, and aborts one that takes longer', async () => {
  const [quick, slow] = [await newTenant(baton), await newTenant(baton)];
  await writeDeliverable(baton, quick, 2);
  await writeDeliverable(baton, slow, 2);
  memory.behave({ delayMs: 500 }, namespaceOf(quick));
  memory.behave({ delayMs: 60_000 }, namespaceOf(slow));
  const adapter = await start(adapterEnv(baton, memory));
  const hasAsked = (tenantId: string) =>
    memory.arrived.some(({ namespace }) => namespace === namespaceOf(tenantId));
  await until(() => hasAsked(quick) && hasAsked(slow), 'both requests');
  const began = performance.now();
  await adapter.close();
  assertTookLess(began, 9000);
  assert.equal((await consumerOf(baton, quick)).delivered_total, 2);
  const row = await consumerOf(baton, slow);
  assert.deepEqual([row.delivered_total, row.parked_at, row.lease_id], [0, null, null]);
  memory.behave({}, namespaceOf(slow));
});

test('a cycle starts CP_CONTEXT_MAX_TENANTS_PER_CYCLE turns, CP_CONTEXT_PARALLEL_TENANTS of them at a time', async () => {
  const tenants = await Promise.all(Array.from({ length: 5 }, () => newTenant(baton)));
  const { promise: seen, resolve: goOn } = Promise.withResolvers<void>();
  for (const tenantId of tenants) {
    await writeDeliverable(baton, tenantId, 1);
    memory.behave({ until: seen }, namespaceOf(tenantId));
  }
  await journalIsStable(baton.pool);
  const more = { CP_CONTEXT_MAX_TENANTS_PER_CYCLE: '2', CP_CONTEXT_PARALLEL_TENANTS: '3' };
  const adapter = await start(adapterEnv(baton, memory, more));
  const leased = () =>
    baton.pool.rows<{ n: number }>(sql`
      select count(*) as n from event_consumers where lease_id is not null and tenant_id = any (${tenants}::uuid[])
      group by xmin::text order by n desc`);
  // A statement that leases several tenants leaves its transaction id on all of them.
  await until(async () => (await leased()).reduce((sum, { n }) => sum + n, 0) === 3, 'three at once');
  assert.deepEqual(
    (await leased()).map(({ n }) => n),
    [2, 1],
  );
  goOn();
  await until(() => tenants.every((tenantId) => memory.keptIds(namespaceOf(tenantId)).length === 1), 'all');
  await adapter.close();
});

test('tenants whose last turn failed take up at most half of the slots', async () => {
  const failing = await Promise.all(Array.from({ length: 6 }, () => newTenant(baton)));
  const well = await newTenant(baton);
  for (const tenantId of failing) await writeDeliverable(baton, tenantId, 1);
  await journalIsStable(baton.pool);
  await baton.pool.run(sql`
    insert into event_consumers (tenant_id, consumer, parked_at, parked_reason, failure_count, next_attempt_at)
    select id, 'context-adapter', now(), 'x', 1, now() - interval '1 s' from unnest(${failing}::uuid[]) id`);
  const { promise: isOver, resolve: end } = Promise.withResolvers<void>();
  for (const tenantId of failing) memory.behave({ until: isOver }, namespaceOf(tenantId));
  const more = { CP_CONTEXT_PARALLEL_TENANTS: '4', CP_CONTEXT_INGEST_TIMEOUT_SECONDS: '600' };
  const adapter = await start(adapterEnv(baton, memory, more));
  const asked = () =>
    failing.filter((id) => memory.arrived.some(({ namespace }) => namespace === namespaceOf(id))).length;
  await until(() => asked() === 2, 'two of them');
  const ids = await writeDeliverable(baton, well, 1);
  await until(() => memory.keptIds(namespaceOf(well)).length === ids.length, 'the healthy tenant');
  assert.equal(asked(), 2);
  end();
  await adapter.close();
});

/**
 * Whether each of the adapter's statements ended at least 500 ms ago: a turn that ends is followed at once by a search
 * for more.
 */
async function isPaused(): Promise<boolean> {
  const row = await baton.pool.row<{ paused: boolean }>(sql`
    select coalesce(bool_and(state = 'idle' and state_change < clock_timestamp() - interval '500 ms'), false) as paused
    from pg_stat_activity where datname = current_database() and application_name = 'baton-context-adapter'`);
  return row?.paused === true;
}

test('without work it polls again after CP_CONTEXT_POLL_INTERVAL_SECONDS', async () => {
  const tenantId = await newTenant(baton);
  await writeDeliverable(baton, tenantId, 1);
  await journalIsStable(baton.pool);
  const adapter = await start(adapterEnv(baton, memory, { CP_CONTEXT_POLL_INTERVAL_SECONDS: '60' }));
  await until(() => settled(tenantId).catch(() => false), 'the first cycle');
  await until(isPaused, 'the pause after the search for more');
  await writeDeliverable(baton, tenantId, 1);
  await sleep(1700);
  assert.equal(memory.keptIds(namespaceOf(tenantId)).length, 1);
  const began = performance.now();
  await adapter.close();
  assertTookLess(began, 3000, 'a stop in the pause');
});

test('settings that would fail later prevent the start with a one-sentence error', async () => {
  const secret = 'client-secret-of-the-tests-0987';
  keepSecret('client secret', secret);
  for (const [settings, sentence] of [
    [{ CP_CONTEXT_BASE_URL: 'ftp://memory' }, /^CP_CONTEXT_BASE_URL must be an http or https address/],
    [
      { CP_CONTEXT_BASE_URL: `http://me:${secret}@memory` },
      /^CP_CONTEXT_BASE_URL must be an http or https address/,
    ],
    [{ CP_CONTEXT_AUTH: 'api_key' }, /^CP_CONTEXT_AUTH api_key requires CP_CONTEXT_API_KEY/],
    [{ CP_CONTEXT_AUTH: 'iam' }, /^CP_CONTEXT_AUTH iam needs CP_IAM_CLIENT_ID and CP_IAM_CLIENT_SECRET/],
    [
      { CP_IAM_CLIENT_ID: 'iam_sa_1' },
      /^CP_CONTEXT_AUTH iam needs CP_IAM_CLIENT_ID and CP_IAM_CLIENT_SECRET/,
    ],
    [
      { CP_IAM_CLIENT_ID: 'iam_sa_1', CP_IAM_CLIENT_SECRET: secret, CP_IAM_BASE_URL: 'identity:8010' },
      /^CP_IAM_BASE_URL must be an http or https address/,
    ],
    [{ CP_CONTEXT_BATCH_SIZE: '501' }, /^CP_CONTEXT_BATCH_SIZE must be an integer from 1 to 500/],
  ] as const)
    await assert.rejects(start(adapterEnv(baton, memory, settings)), (error: Error) => {
      assert.match(error.message, sentence);
      assert.ok(!error.message.includes(secret));
      return true;
    });
});

test('an unavailable database is retried, and logged without secrets', async () => {
  const lines: string[] = [];
  const log = createLog({
    name: 'context-adapter',
    level: 'error',
    destination: { write: (line) => void lines.push(line) },
  });
  const env = { ...adapterEnv(baton, memory), CP_DATABASE_URL: 'postgresql://cp:cp@127.0.0.1:1/cp' };
  const adapter = await start(env, log);
  await until(() => lines.length >= 2, 'two cycles');
  await adapter.close();
  assert.match(lines[0] ?? '', /a cycle of the context adapter failed/);
});
