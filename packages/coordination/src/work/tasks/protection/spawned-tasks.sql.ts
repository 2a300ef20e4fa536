import { sql } from '@baton/kernel/database/sql';
import type { TaskCheck } from '../../../definitions/acceptance/acceptance.ts';

interface SpawnedTaskRow {
  id: string;
  type_id: string;
  acceptance: TaskCheck[];
}

/** Open tasks whose first spawning task is this one, so that the conditions of their checks read it. */
export function findSpawnedTasks(tenantId: string, taskId: string, tasksMax: number) {
  return sql<SpawnedTaskRow>`
    select t.id, t.type_id, t.acceptance
    from task_relations r join tasks t on t.id = r.from_task_id
    where r.to_task_id = ${taskId} and r.type = 'spawned_by' and r.tenant_id = ${tenantId}
      and t.category not in ('terminal_success', 'terminal_cancelled')
      and r.id = (
        select first.id from task_relations first
        where first.from_task_id = t.id and first.type = 'spawned_by' and first.tenant_id = ${tenantId}
        order by first.created_at, first.id limit 1)
    order by t.id limit ${tasksMax}`;
}
