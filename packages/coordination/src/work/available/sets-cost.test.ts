import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { sql } from '@baton/kernel/database/sql';
import { startCoordination, type TestCoordination } from '../../testing/coordination.ts';
import { done, makeTask, makeWorker, type Worker } from '../../testing/leases.ts';
import { pagesReadBy } from '../../testing/work/pages-read.ts';

const unused = 9000;

let baton: TestCoordination;
let worker: Worker;
before(async () => {
  baton = await startCoordination();
  worker = await makeWorker(baton);
});
after(() => baton.close());

test("sets of requirements without queued tasks don't slow down a search", async () => {
  const { principalId } = worker.actor;
  const capability = await done(baton.admin.post('/capabilities', { name: 'welding' }), 201);
  await done(
    baton.admin.post(`/principals/${principalId}/capabilities`, { capabilityId: capability.id }),
    201,
  );
  await makeTask(baton, { requirements: { capabilities: ['welding'] } });
  // Simulates the state after one task was changed to many different requirements.
  await baton.pool.run(sql`
    with made as (
      insert into requirement_sets (id, tenant_id, workspace_id, digest, items)
      select gen_random_uuid(), ${baton.tenantId}, null, md5(n::text) || md5(n::text), 2
      from generate_series(1, ${unused}::integer) n
      returning id
    )
    insert into requirement_items (set_id, tenant_id, position, kind, subject_id, any_version_of)
    select id, ${baton.tenantId}, p, 'capability', case p when 1 then ${capability.id}::uuid else gen_random_uuid() end, null
    from made, generate_series(1, 2) p`);
  await baton.pool.run(sql`analyze requirement_sets, requirement_items`);
  const search = sql<{ id: string }>`select fulfilled_sets(${baton.tenantId}, ${principalId}) as id`;
  assert.equal((await baton.pool.rows(search)).length, 2);
  const pages = await pagesReadBy(baton.pool, search);
  assert.ok(pages < 100, `read ${pages} pages`);
});
