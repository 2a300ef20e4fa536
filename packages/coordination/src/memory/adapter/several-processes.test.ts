import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { sql } from '@baton/kernel/database/sql';
import { keepLog } from '@baton/kernel/testing/leaks/leaks';
import { assertTookLess, isLongProof, longTest } from '@baton/testing/depth';
import { startContextAdapter } from '../../app/context-adapter/context-adapter.ts';
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
import { programEnv } from '../../testing/programs/service-processes.ts';
import { until } from '../../testing/wait-until.ts';

let baton: TestCoordination;
let memory: TestMemory;
const children: ChildProcess[] = [];
before(async () => {
  baton = await startCoordination();
  memory = await startMemoryService();
});
after(async () => {
  for (const child of children) child.kill('SIGKILL');
  await memory.close();
  await baton.close();
});

const start = (more: Record<string, string> = {}) =>
  startContextAdapter({ env: adapterEnv(baton, memory, more), isWatched: false, log: quietLog });

/** `baton context-adapter`, once it reports that it runs. */
async function startProgram(): Promise<ChildProcess> {
  const env = adapterEnv(baton, memory, { CP_CONTEXT_ADAPTER_METRICS_PORT: '0', CP_LOG_LEVEL: 'info' });
  const child = spawn(
    process.execPath,
    [
      '--disable-warning=ExperimentalWarning',
      join(import.meta.dirname, '../../app/context-adapter/context-adapter.main.ts'),
    ],
    { env: { ...env, ...programEnv() }, stdio: ['ignore', 'pipe', 'inherit'] },
  );
  children.push(child);
  let text = '';
  child.stdout?.on('data', (chunk) => (text += String(chunk)));
  child.on('close', () => keepLog(text));
  await until(() => text.includes('the context adapter is running'), 'the start');
  return child;
}

const newTenants = async (count: number) =>
  Promise.all(Array.from({ length: count }, () => newTenant(baton)));
const arrivals = (tenantId: string) =>
  memory.arrived.filter(({ namespace }) => namespace === namespaceOf(tenantId));
const isEmpty = async (tenants: readonly string[]) => {
  const rows = await Promise.all(tenants.map((tenantId) => consumerOf(baton, tenantId)));
  return rows.every((row) => !row.has_more && row.lease_id === null);
};

test('two processes share the tenants: each event is sent once, in order, and one request per tenant at a time', async () => {
  const tenants = await newTenants(12);
  const written = new Map<string, string[]>();
  for (const tenantId of tenants) written.set(tenantId, await writeDeliverable(baton, tenantId, 150));
  const processes = () => new Set(tenants.flatMap(arrivals).map(({ headers }) => headers['x-run-id'])).size;
  // Without the delay, the first process could deliver everything before the second one starts.
  memory.behave({ delayMs: 10, until: until(() => processes() === 2, 'both processes sent requests') });
  const few = { CP_CONTEXT_PARALLEL_TENANTS: '3' };
  const both = [await start(few), await start(few)];
  await until(
    () => tenants.every((tenantId) => memory.keptIds(namespaceOf(tenantId)).length === 150),
    'the delivery',
  );
  await Promise.all(both.map((adapter) => adapter.close()));
  for (const tenantId of tenants) {
    assert.deepEqual(memory.keptIds(namespaceOf(tenantId)), written.get(tenantId));
    assert.equal(arrivals(tenantId).flatMap(({ ids }) => ids).length, 150, 'an event was sent twice');
    assert.equal(memory.parallelMax(namespaceOf(tenantId)), 1);
  }
  assert.equal(processes(), 2);
});

test('the running turns of a process killed by -9 go to another process, and nothing is lost', async () => {
  const tenants = await newTenants(3);
  const written = new Map<string, string[]>();
  for (const tenantId of tenants) written.set(tenantId, await writeDeliverable(baton, tenantId, 400));
  memory.behave({ delayMs: 100 });
  const first = await startProgram();
  await until(() => tenants.every((tenantId) => arrivals(tenantId).length >= 2), 'a few batches');
  const [exit] = [once(first, 'close')];
  first.kill('SIGKILL');
  await exit;
  const killedAt = performance.now();
  const isWhole = () => tenants.every((tenantId) => memory.keptIds(namespaceOf(tenantId)).length === 400);
  assert.equal(isWhole(), false, 'it was killed in the middle');
  const held = await Promise.all(tenants.map((tenantId) => consumerOf(baton, tenantId)));
  assert.ok(
    held.some(({ lease_id: lease }) => lease !== null),
    'it had running turns',
  );
  const second = await startProgram();
  // A lease lasts 10 s. Only the long run waits for its expiry.
  if (!isLongProof)
    await baton.pool.run(sql`
      update event_consumers set leased_until = now() - interval '1 ms' where tenant_id = any (${tenants}::uuid[])`);
  await until(isWhole, 'the rest');
  assertTookLess(killedAt, 40_000, 'the rest');
  await until(() => isEmpty(tenants), 'the end');
  for (const tenantId of tenants) {
    assert.deepEqual(memory.keptIds(namespaceOf(tenantId)), written.get(tenantId));
    assert.equal(memory.parallelMax(namespaceOf(tenantId)), 1);
    const sent = arrivals(tenantId).flatMap(({ ids }) => ids).length;
    assert.ok(sent <= 500, `${sent - 400} events were sent twice: more than one batch`);
  }
  const ended = once(second, 'close');
  second.kill('SIGTERM');
  assert.deepEqual(await ended, [0, null]);
});

test('a rebuild takes precedence over a running delivery: everything is sent again from its cursor', async () => {
  const tenantId = baton.tenantId;
  const ids = await writeDeliverable(baton, tenantId, 60);
  memory.behave({});
  const adapter = await start();
  await until(() => memory.keptIds(namespaceOf(tenantId)).includes(ids[59] as string), 'the delivery');
  memory.behave({ delayMs: 500 }, namespaceOf(tenantId));
  const seen = arrivals(tenantId).length;
  await writeDeliverable(baton, tenantId, 1);
  await until(() => arrivals(tenantId).length > seen, 'the request');
  const { status, body } = await baton.admin.post(`/operations/context-adapter/${tenantId}:rebuild`);
  assert.equal(status, 200);
  assert.equal(body.cursor, body.journal.archiveFloorCursor);
  memory.behave({}, namespaceOf(tenantId));
  const again = () =>
    arrivals(tenantId)
      .slice(seen + 1)
      .flatMap((batch) => batch.ids);
  await until(() => ids.every((id) => again().includes(id)), 'the second delivery');
  await adapter.close();
  assert.equal(memory.parallelMax(namespaceOf(tenantId)), 1);
});

longTest('one poisoned and one slow tenant of 50 do not delay the others', async () => {
  const tenants = await newTenants(50);
  memory.behave({});
  const adapter = await start();
  /** Writes one event to each tenant. @returns ms until the events of all `asked` tenants were delivered */
  const round = async (asked: readonly string[]): Promise<number> => {
    const seen = memory.arrived.length;
    const ids = new Map<string, string>();
    for (const tenantId of tenants)
      ids.set(tenantId, (await writeDeliverable(baton, tenantId, 1))[0] as string);
    await journalIsStable(baton.pool);
    const wroteAt = performance.now();
    const isThere = (tenantId: string) =>
      memory.arrived
        .slice(seen)
        .some(
          ({ namespace, ids: sent }) =>
            namespace === namespaceOf(tenantId) && sent.includes(ids.get(tenantId) as string),
        );
    await until(() => asked.every(isThere), 'the delivery');
    return performance.now() - wroteAt;
  };
  await round(tenants);
  const [poisoned = '', slow = '', ...others] = tenants;
  const calm = Math.max(await round(others), await round(others));
  const [culprit] = await writeDeliverable(baton, poisoned, 1);
  memory.behave({ refused: new Set([culprit as string]) }, namespaceOf(poisoned));
  memory.behave({ delayMs: 14_000 }, namespaceOf(slow));
  const disturbed = Math.max(await round(others), await round(others), await round(others));
  const row = await consumerOf(baton, poisoned);
  assert.equal(row.parked_event_id, culprit);
  console.log(
    `last of 48 tenants: ${Math.round(calm)} ms; with a poisoned and a slow one: ${Math.round(disturbed)} ms`,
  );
  assert.ok(disturbed < Math.max(3 * calm, 4500), `${disturbed} ms instead of ${calm} ms`);
  memory.behave({}, namespaceOf(slow));
  await adapter.close();
});
