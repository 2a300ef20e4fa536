import { sql } from '@baton/kernel/database/sql';
import type { TaskRow } from '../tasks/task.ts';

export function findRunningRun(tenantId: string, claimId: string) {
  return sql<{ id: string }>`
    select id from runs where claim_id = ${claimId} and tenant_id = ${tenantId} and status = 'running'`;
}

export function updateTaskToCompleted(tenantId: string, taskId: string, status: string, category: string) {
  return sql<TaskRow>`
    update tasks t
    set status = ${status}, category = ${category}, version = t.version + 1, updated_at = now(), completed_at = now()
    from task_types tt
    where t.id = ${taskId} and t.tenant_id = ${tenantId} and tt.id = t.type_id
    returning t.*, tt.key as type_key, tt.version as type_version,
      (select project_id from workspaces where id = t.workspace_id) as project_id`;
}

/** Increments the version of a task whose verification attempt has just been opened. */
export function updateTaskToVerified(tenantId: string, taskId: string) {
  return sql<TaskRow>`
    update tasks t set version = t.version + 1, updated_at = now()
    from task_types tt
    where t.id = ${taskId} and t.tenant_id = ${tenantId} and tt.id = t.type_id
    returning t.*, tt.key as type_key, tt.version as type_version,
      (select project_id from workspaces where id = t.workspace_id) as project_id`;
}
