import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { sql } from '@baton/kernel/database/sql';
import { startCoordination, type TestCoordination } from '../../testing/coordination.ts';
import { claimTask, done, endClaimLease, makeTask, makeWorker } from '../../testing/leases.ts';
import { makeWorkerTools } from '../../testing/sweepers.ts';
import { tidyWorkQueue } from './queue-tidier.ts';

let baton: TestCoordination;
let worker: ReturnType<typeof makeWorkerTools>;
before(async () => {
  baton = await startCoordination();
  worker = makeWorkerTools(baton);
});
after(async () => {
  await worker.close();
  await baton.close();
});

const queued = async () =>
  (await baton.pool.rows<{ task_id: string }>(sql`select task_id from work_queue`)).map(
    ({ task_id: id }) => id,
  );

test('removes tasks with live claims, in the first round of any age, and keeps free, dead and locked ones', async () => {
  const agent = await makeWorker(baton);
  const [free, held, dead, locked] = [
    ...[await makeTask(baton), await makeTask(baton), await makeTask(baton), await makeTask(baton)],
  ];
  const claim = await claimTask(agent, held.id);
  for (const { id } of [dead, locked]) await claimTask(agent, id);
  await endClaimLease(baton, dead.id);
  await baton.pool.run(sql`update claims set acquired_at = now() - interval '1 hour'`);
  const job = tidyWorkQueue(worker.tools);
  const ids = (...tasks: { id: string }[]) => tasks.map(({ id }) => id).sort();
  await baton.pool.transaction(async (tx) => {
    await tx.run(sql`select from tasks where id = ${locked.id} for update`);
    assert.equal(await job.run(), 4, 'walks the whole queue');
  });
  assert.deepEqual((await queued()).sort(), ids(free, dead, locked));
  assert.equal(await job.run(), 0, 'older rows were already checked');
  await done(agent.actor.post(`/claims/${claim.id}:release`, {}));
  assert.deepEqual((await queued()).sort(), ids(free, held, dead, locked));
  await claimTask(agent, free.id);
  assert.equal(await job.run(), 1);
  assert.deepEqual((await queued()).sort(), ids(held, dead, locked));
});
