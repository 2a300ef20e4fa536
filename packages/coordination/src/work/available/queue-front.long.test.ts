import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { sql } from '@baton/kernel/database/sql';
import { startCoordination, type TestCoordination } from '../../testing/coordination.ts';
import { done, makeTask, makeWorker, type Worker } from '../../testing/leases.ts';

const handedOut = 120_000;

let baton: TestCoordination;
let worker: Worker;
before(async () => {
  baton = await startCoordination();
  worker = await makeWorker(baton);
});
after(() => baton.close());

const next = async (count = 1): Promise<any[]> =>
  (await done(worker.actor.post('/work:claim-next', { sessionId: worker.sessionId, count }))).items;

/** A server process reports its read statistics once a second. */
async function pagesRead(): Promise<number> {
  await new Promise((passed) => setTimeout(passed, 1100));
  await next();
  await new Promise((passed) => setTimeout(passed, 100));
  const row = await baton.pool.row<{ pages: number }>(sql`
    select coalesce(sum(idx_blks_read + idx_blks_hit), 0)::float8 as pages from pg_statio_user_tables where relname = 'work_queue'`);
  return row?.pages ?? 0;
}

test('during an idle transaction, dead queue rows are read occasionally, not by each call', async () => {
  for (let made = 0; made < 60; made += 1) await makeTask(baton, { title: 'waiting' });
  await baton.pool.transaction(async (idle) => {
    await idle.run(sql`set local idle_in_transaction_session_timeout = 0`);
    await idle.row(sql`select pg_current_xact_id()`);
    await baton.pool.run(sql`
      insert into work_queue (task_id, tenant_id, set_id, priority, created_at, turn_at)
      select gen_random_uuid(), ${baton.tenantId}, '00000000-0000-0000-0000-000000000000', 0, now() - interval '1 day', now()
      from generate_series(1, ${handedOut}::integer)`);
    await baton.pool.run(sql`delete from work_queue where priority = 0`);
    await next();
    const calls = 30;
    const before = await pagesRead();
    for (let call = 0; call < calls; call += 1) assert.equal((await next()).length, 1);
    const perCall = ((await pagesRead()) - before) / calls;
    assert.ok(perCall < 300, `a call read ${perCall} pages of the queue's indexes`);
    const urgent = await makeTask(baton, { title: 'urgent', priority: 'critical' });
    const [first] = await next(100);
    assert.equal(first.task.id, urgent.id, 'a call for more tasks than available searches from the front');
  });
});
