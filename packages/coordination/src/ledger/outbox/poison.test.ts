import { after, before, test } from 'node:test';
import { createLog } from '@baton/kernel/log';
import { sql } from '@baton/kernel/sql';
import { startWorker } from '../../app/worker.ts';
import { startCoordination, type TestCoordination } from '../../testing/coordination.ts';
import { writeEvents } from '../../testing/journal-writer.ts';
import { testSink } from '../../testing/sinks.ts';
import { until } from '../../testing/waiting.ts';

let baton: TestCoordination;
before(async () => {
  baton = await startCoordination({ CP_OUTBOX_BATCH_SIZE: '3', CP_OUTBOX_BACKOFF_BASE_SECONDS: '1' });
});
after(() => baton.close());

test('a tenant whose events the receiver refuses does not stop the delivery of the others', async () => {
  await baton.pool.run(sql`delete from outbox`);
  await writeEvents(
    baton.pool,
    baton.tenantId,
    Array.from({ length: 600 }, () => ({})),
  );
  const [wanted] = await writeEvents(baton.pool, baton.otherTenantId, [{}]);
  const delivered: string[] = [];
  const sink = testSink(async ({ id, tenantId }) => {
    if (tenantId === baton.tenantId) throw new Error('answered 400');
    delivered.push(id);
  });
  const worker = await startWorker({
    env: baton.env,
    log: createLog({ name: 'worker', level: 'silent' }),
    sinks: [sink],
  });
  try {
    // After 100 failures in a row a sink rests for 1 s, 2 s, 4 s and so on; 500 events of the first tenant still wait.
    await until(() => delivered.includes(wanted as string), 'the event of the other tenant');
  } finally {
    await worker.close();
  }
});
