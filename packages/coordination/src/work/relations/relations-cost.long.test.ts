import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { sql } from '@baton/kernel/database/sql';
import { startCoordination, type TestCoordination } from '../../testing/coordination.ts';
import { done, makeTask } from '../../testing/leases.ts';

const relationsMax = 1000;

let baton: TestCoordination;
before(async () => {
  baton = await startCoordination();
  await done(
    baton.admin.post('/artifact-types', { key: 'plan', displayName: 'plan', mediaTypes: ['*/*'] }),
    201,
  );
  const inputs = [{ key: 'plan', type: 'plan', from: 'depends_on', required: true }];
  await done(
    baton.admin.post('/task-types', { key: 'needy', displayName: 'needy', artifactSchema: { inputs } }),
    201,
  );
});
after(() => baton.close());

/** A task for which the maximum number of other tasks wait, for its completion and for an artifact. */
async function makeAwaited(): Promise<string> {
  const [{ id }, needy] = [await makeTask(baton), await makeTask(baton, { typeKey: 'needy' })];
  await baton.pool.run(sql`
    with made as (
      insert into tasks (id, tenant_id, public_number, type_id, title, status, category, priority, origin, created_by, is_restricted)
      select gen_random_uuid(), tenant_id, next_task_number(tenant_id), type_id, 'other', status, category, 2, origin,
        created_by, is_restricted
      from tasks, generate_series(1, ${relationsMax}::integer) where id = ${needy.id}
      returning *
    )
    insert into task_relations (id, tenant_id, from_task_id, to_task_id, type, created_by)
    select gen_random_uuid(), tenant_id, id, ${id}, 'depends_on', created_by from made`);
  return id;
}

test('with 1,000 tasks that wait for one and for its artifact, its completion and the artifact take less than 2 s', async () => {
  const id = await makeAwaited();
  const ms = async (act: () => Promise<unknown>) => {
    const start = performance.now();
    await act();
    return performance.now() - start;
  };
  const artifact = () => done(baton.admin.post('/artifacts', { type: 'plan', name: 'plan', task: id }), 201);
  const times = [
    await ms(artifact),
    await ms(artifact),
    await ms(() => done(baton.admin.post(`/tasks/${id}:complete`, {}, { 'if-match': 'task-1' }))),
  ];
  assert.ok(Math.max(...times) < 2000, `${times} ms`);
  const queued = await baton.pool.row(sql`
    select count(*)::integer as n from work_queue q join task_relations r on r.from_task_id = q.task_id
    where r.to_task_id = ${id}`);
  assert.deepEqual(queued, { n: relationsMax });
});
