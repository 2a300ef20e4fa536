import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { sql } from '@baton/kernel/database/sql';
import { startCoordination, type TestCoordination } from '../../testing/coordination.ts';
import { done, makeTask, openSession } from '../../testing/leases.ts';
import { makeNarrowPerson } from '../../testing/organisation/workspaces.ts';
import { assertNoMorePages, pagesOfSearches, searchOf } from '../../testing/work/pages-of-searches.ts';

const hidden = 4000;

let baton: TestCoordination;
before(async () => {
  baton = await startCoordination();
});
after(() => baton.close());

test('a person finds and claims work after more urgent invisible tasks, without reading those', async () => {
  const { person, mine, other } = await makeNarrowPerson(baton);
  const first = await makeTask(baton, { workspaceId: mine.id, priority: 'high' });
  const second = await makeTask(baton, { priority: 'low' });
  const { principalId } = person;
  const search = { ...searchOf(baton, principalId), viewerId: principalId };
  const before = await pagesOfSearches(baton, search);
  const unseen = await makeTask(baton, { workspaceId: other.id, priority: 'critical' });
  await baton.pool.run(sql`
    insert into tasks (id, tenant_id, public_number, workspace_id, type_id, title, status, category, priority, origin, created_by)
    select gen_random_uuid(), tenant_id, next_task_number(tenant_id), workspace_id, type_id, 'other', status, category, priority,
      origin, created_by
    from tasks, generate_series(1, ${hidden}::integer) where id = ${unseen.id}`);
  await baton.pool.run(sql`analyze tasks, work_queue`);
  assertNoMorePages(before, await pagesOfSearches(baton, search));
  const listed = await done(person.get('/work/available'));
  assert.deepEqual(
    listed.items.map(({ id }: { id: string }) => id),
    [first.id, second.id],
  );
  const sessionId = await openSession(person);
  const { items } = await done(person.post('/work:claim-next', { sessionId, count: 5 }));
  assert.deepEqual(
    items.map(({ task }: { task: { id: string } }) => task.id),
    [first.id, second.id],
  );
});
