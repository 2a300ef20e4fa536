import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { sql } from '@baton/kernel/database/sql';
import { startCoordination, type TestCoordination } from '../../testing/coordination.ts';
import { done, makeTask, makeWorker, type Worker } from '../../testing/leases.ts';
import { makeWorkspace } from '../../testing/organisation/workspaces.ts';
import {
  assertNoMorePages,
  type PagesOfSearches,
  pagesOfSearches,
  searchOf,
} from '../../testing/work/pages-of-searches.ts';
import { findNextTasks, findWork, sliceOfPage } from './available.sql.ts';
import { findWorkWithin } from './work-within.sql.ts';

const hidden = 10_000;

let baton: TestCoordination;
let worker: Worker;
before(async () => {
  baton = await startCoordination();
  worker = await makeWorker(baton);
});
after(() => baton.close());

test("10,000 more urgent tasks that are assigned to others, or start later, don't slow down a search for work", async () => {
  const { id: workspaceId } = await makeWorkspace(baton);
  const ready = await makeTask(baton, { priority: 'low', workspaceId });
  const others = [await baton.actor(), await baton.actor()];
  const before = await pagesOf(workspaceId);
  const made = await makeTask(baton, { priority: 'critical', workspaceId });
  await baton.pool.run(sql`
    insert into tasks (id, tenant_id, public_number, workspace_id, type_id, title, status, category, priority, origin, created_by,
      assignee_id, start_date)
    select gen_random_uuid(), tenant_id, next_task_number(tenant_id), workspace_id, type_id, 'x', status, category, priority,
      origin, created_by,
      case n % 3 when 0 then ${others[0]?.principalId}::uuid when 1 then ${others[1]?.principalId}::uuid end,
      case n % 3 when 2 then now() + interval '1 day' end
    from tasks, generate_series(1, ${hidden}::integer) n where id = ${made.id}`);
  await done(baton.admin.patch(`/tasks/${made.id}`, { status: 'cancelled' }, { 'if-match': 'task-1' }));
  await baton.pool.run(sql`analyze tasks, work_queue`);
  assertNoMorePages(before, await pagesOf(workspaceId));
  const { items } = await done(
    worker.actor.post('/work:claim-next', { sessionId: worker.sessionId, count: 5 }),
  );
  assert.deepEqual(
    items.map(({ task }: any) => task.id),
    [ready.id],
  );
});

/** Also counts the pages of searches in a workspace, and of those for the caller's own tasks. */
function pagesOf(workspaceId: string): Promise<PagesOfSearches> {
  const search = searchOf(baton, worker.actor.principalId);
  const own = { ...search, assigneeId: search.principalId };
  const workspace = { within: [workspaceId], itself: workspaceId, projectId: null };
  const slice = sliceOfPage({ limit: 1, cursor: undefined });
  const reach = { workspacesMax: 256, rowsOfPlace: 2, rowsPassed: 1024 };
  return pagesOfSearches(baton, search, {
    'own available': findWork(own, slice),
    'own available in a workspace': findWork({ ...own, workspace }, slice),
    'available in a workspace': findWorkWithin({ ...search, workspace }, slice, reach),
    'own next': findNextTasks(own, 1),
  });
}
