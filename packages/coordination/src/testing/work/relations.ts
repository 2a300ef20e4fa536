import { sql } from '@baton/kernel/database/sql';
import type { TestCoordination } from '../coordination.ts';

/** Creates a number of tasks, and relates a task to the first half of them and the other half to that task. */
export async function relateToNew(baton: TestCoordination, taskId: string, count: number): Promise<void> {
  await baton.pool.run(sql`
    with made as (
      insert into tasks (id, tenant_id, public_number, type_id, title, status, category, priority, origin, created_by)
      select gen_random_uuid(), tenant_id, next_task_number(tenant_id), type_id, 'other', 'todo', 'active', 2, origin, created_by
      from tasks, generate_series(1, ${count}::integer) where id = ${taskId}
      returning *
    ), numbered as (
      select *, row_number() over () > ${count}::integer / 2 as is_from from made
    )
    insert into task_relations (id, tenant_id, from_task_id, to_task_id, type, created_by)
    select gen_random_uuid(), tenant_id, case when is_from then id else ${taskId} end,
      case when is_from then ${taskId} else id end, 'related_to', created_by
    from numbered`);
}
