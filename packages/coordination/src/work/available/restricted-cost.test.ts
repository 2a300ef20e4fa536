import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { sql } from '@baton/kernel/database/sql';
import { startCoordination, type TestCoordination } from '../../testing/coordination.ts';
import { done, makeTask, makeWorker, type Worker } from '../../testing/leases.ts';
import { assertNoMorePages, pagesOfSearches, searchOf } from '../../testing/work/pages-of-searches.ts';

const waiting = 4000;

let baton: TestCoordination;
let worker: Worker;
before(async () => {
  baton = await startCoordination();
  worker = await makeWorker(baton);
});
after(() => baton.close());

test("tasks that wait for an input don't slow down a search for work", async () => {
  await done(
    baton.admin.post('/artifact-types', { key: 'plan', displayName: 'plan', mediaTypes: ['*/*'] }),
    201,
  );
  const inputs = [{ key: 'plan', type: 'plan', from: 'parent', required: true }];
  await done(
    baton.admin.post('/task-types', { key: 'needy', displayName: 'needy', artifactSchema: { inputs } }),
    201,
  );
  const ready = await makeTask(baton);
  const parent = await makeTask(baton, { priority: 'low' });
  const search = searchOf(baton, worker.actor.principalId);
  const before = await pagesOfSearches(baton, search);
  const needy = await makeTask(baton, { typeKey: 'needy', priority: 'critical', parentTask: parent.id });
  await baton.pool.run(sql`
    insert into tasks (id, tenant_id, public_number, type_id, title, status, category, priority, origin, created_by, is_restricted)
    select gen_random_uuid(), tenant_id, next_task_number(tenant_id), type_id, 'other', status, category, priority, origin,
      created_by, is_restricted
    from tasks, generate_series(1, ${waiting}::integer) where id = ${needy.id}`);
  await baton.pool.run(sql`analyze tasks, work_queue`);
  assertNoMorePages(before, await pagesOfSearches(baton, search));
  const first = async () => (await done(worker.actor.get('/work/available?limit=1'))).items[0].id;
  assert.equal(await first(), ready.id);
  await done(baton.admin.post('/artifacts', { type: 'plan', name: 'plan', task: parent.id }), 201);
  assert.equal(await first(), needy.id);
});
