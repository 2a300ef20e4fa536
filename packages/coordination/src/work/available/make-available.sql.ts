import { sql } from '@baton/kernel/database/sql';
import type { TaskRow } from '../tasks/task.ts';

/** Ends the pause of a locked task and resets its failure count. */
export function updateTaskToAvailable(tenantId: string, taskId: string) {
  return sql<TaskRow>`
    with forgotten as (
      delete from exhausted_tasks where task_id = ${taskId} and tenant_id = ${tenantId}
    )
    update tasks t set failed_attempts = 0, retry_at = null, version = t.version + 1, updated_at = now()
    from task_types tt
    where t.id = ${taskId} and t.tenant_id = ${tenantId} and tt.id = t.type_id
    returning t.*, tt.key as type_key, tt.version as type_version,
      (select project_id from workspaces where id = t.workspace_id) as project_id`;
}
