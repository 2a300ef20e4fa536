import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { sql } from '@baton/kernel/database/sql';
import { startDatabaseProxy } from '@baton/kernel/testing/database/database-proxy';
import { isLongProof } from '@baton/testing/depth';
import { startContextAdapter } from '../../app/context-adapter/context-adapter.ts';
import { startCoordination, type TestCoordination } from '../../testing/coordination.ts';
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
  await memory.close();
  await baton.close();
});

const events = 100;

test('a process that lost a lease, or cannot renew it, stops sending in time', async () => {
  const proxy = await startDatabaseProxy(baton.databaseUrl);
  const [taken, unsure] = [await newTenant(baton), await newTenant(baton)];
  for (const tenantId of [taken, unsure]) await writeDeliverable(baton, tenantId, events);
  memory.behave({ delayMs: 200 });
  const env = adapterEnv(baton, memory, { CP_DATABASE_URL: proxy.url, CP_CONTEXT_BATCH_SIZE: '1' });
  const adapter = await startContextAdapter({ env, isWatched: false, log: quietLog });
  const sent = (tenantId: string) =>
    memory.arrived.filter(({ namespace }) => namespace === namespaceOf(tenantId)).length;
  await until(() => sent(taken) > 0 && sent(unsure) > 0, 'the first requests');

  await baton.pool.run(sql`
    update event_consumers set lease_id = gen_random_uuid(), leased_until = now() + interval '1 hour'
    where tenant_id = ${taken}`);
  // The adapter notices the loss at its next renewal, after at most 3 s; until then it sends every 200 ms.
  await sleep(4000);
  const hasStopped = async () => {
    const before = sent(taken);
    await sleep(600);
    return sent(taken) === before;
  };
  if (isLongProof) assert.ok(await hasStopped(), 'it sends nothing after the lease was lost');
  else await until(hasStopped, 'the last request of the lost lease');
  assert.ok(sent(taken) < events, 'it stopped before the last event');

  // The other lease takes up to 10 s to expire, so only the long run waits for that.
  if (isLongProof) {
    const stillSent = sent(unsure);
    await proxy.cut();
    await sleep(1000);
    assert.ok(sent(unsure) > stillSent, 'it continues at first without the database');
    const { leased_until: endsAt } = await consumerOf(baton, unsure);
    await sleep(Date.parse(endsAt ?? '') - Date.now());
    const atTheEnd = sent(unsure);
    await sleep(600);
    assert.equal(sent(unsure), atTheEnd, 'it sends nothing after the lease has expired');
  }
  memory.behave({});
  await adapter.close();
  if (!isLongProof) await proxy.cut();
  const { position, lease_id: lease } = await consumerOf(baton, taken);
  assert.equal(position, 0);
  assert.notEqual(lease, null);
});
