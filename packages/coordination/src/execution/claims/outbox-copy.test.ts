import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { sql } from '@baton/kernel/database/sql';
import { readCoordinationSettings } from '../../app/settings.ts';
import { startCoordination, type TestCoordination } from '../../testing/coordination.ts';
import { makeRun, makeTask, makeWorker } from '../../testing/leases.ts';

let baton: TestCoordination;
before(async () => {
  baton = await startCoordination({ CP_OUTBOX_ENABLED: 'false' });
});
after(() => baton.close());

test('with CP_OUTBOX_ENABLED=false statements that write events write no outbox rows', async () => {
  const worker = await makeWorker(baton);
  await makeRun(baton, worker);
  await makeTask(baton);
  const next = await worker.actor.post('/work:claim-next', { sessionId: worker.sessionId });
  assert.equal(next.body.items.length, 1);
  const rows = await baton.pool.row<{ events: string[]; outbox: number }>(sql`
    select (select array_agg(distinct type order by type) from events) as events,
      (select count(*) from outbox where tenant_id = ${baton.tenantId}) as outbox`);
  assert.deepEqual(
    ['run.started', 'session.opened', 'task.claimed', 'task.created'].filter(
      (type) => !rows?.events.includes(type),
    ),
    [],
  );
  assert.equal(rows?.outbox, 0);
});

test('sinks without the copy are refused at the start', () => {
  assert.throws(
    () => readCoordinationSettings({ CP_SINKS_FILE: '/sinks.json', CP_OUTBOX_ENABLED: 'false' }),
    new Error(
      'CP_SINKS_FILE requires CP_OUTBOX_ENABLED: without the outbox, nothing is delivered to a sink.',
    ),
  );
});
