import { sql } from '@baton/kernel/database/sql';

/** Whether a principal had a run of a task. */
export function hasRunOf(tenantId: string, taskId: string, principalId: string) {
  return sql<{ had: boolean }>`
    select exists (
      select from runs where task_id = ${taskId} and tenant_id = ${tenantId} and principal_id = ${principalId}
    ) as had`;
}
