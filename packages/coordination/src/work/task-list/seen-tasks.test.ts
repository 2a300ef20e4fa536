import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { sql } from '@baton/kernel/database/sql';
import { findSeenRows } from '../../service/sight/seen-list.ts';
import { type Actor, startCoordination, type TestCoordination } from '../../testing/coordination.ts';
import { makeNarrowPerson } from '../../testing/organisation/workspaces.ts';
import { listOfTasks, type TaskOrder } from './task-list.sql.ts';

let baton: TestCoordination;
let person: Actor;
before(async () => {
  baton = await startCoordination();
  const made = await makeNarrowPerson(baton);
  person = made.person;
  await baton.pool.run(sql`
    insert into tasks (id, tenant_id, public_number, workspace_id, type_id, title, status, category, priority, origin,
      created_by, created_at, start_date)
    select gen_random_uuid(), ${baton.tenantId}::uuid, next_task_number(${baton.tenantId}),
      (array[${made.mine.id}::uuid, ${made.other.id}::uuid, null])[1 + mod(n * n / 7, 3)],
      (select id from task_types where tenant_id = ${baton.tenantId} and key = 'task'), 'x', 'todo', 'active', mod(n, 4), '{}',
      ${person.principalId}::uuid, now() - mod(n, 50) * interval '1 second',
      case when mod(n, 5) = 0 then '2026-01-01'::timestamptz + mod(n, 7) * interval '1 day' end
    from generate_series(1, 400) n`);
});
after(() => baton.close());

test("one search, repeated ones and the viewer's list give the same pages", async () => {
  const page = { limit: 3, cursor: undefined };
  const idsOf = (rows: readonly { id: string }[]) => rows.map(({ id }) => id);
  for (const order of ['createdAt', 'startDate', 'dueDate'] satisfies TaskOrder[])
    for (const filter of [
      {},
      { priority: 1 },
      { priority: 3, categories: ['active'] },
      { priority: 9 },
    ] as const) {
      const list = listOfTasks(baton.tenantId, { terms: [], ...filter }, order);
      const read = (steps: { rowsMax: number; growth: number }) =>
        findSeenRows(baton.pool, person.principalId, list, page, steps);
      const expected = idsOf(await read({ rowsMax: 1000, growth: 2 }));
      assert.deepEqual(idsOf(await read({ rowsMax: 1, growth: 1.5 })), expected, 'repeated');
      assert.deepEqual(idsOf(await read({ rowsMax: 1, growth: 1000 })), expected, 'seen');
      const seen = await baton.pool.rows(list.seen(person.principalId, page).statement);
      assert.deepEqual(idsOf(seen), expected, 'seen alone');
    }
});
