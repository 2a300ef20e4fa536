import { sql } from '@baton/kernel/sql';

/** Whoever worked on a task: the holders of its claims, under which its runs were. */
export function findWorkersOf(tenantId: string, taskId: string) {
  return sql<{ id: string }>`
    select distinct holder_id as id from claims where task_id = ${taskId} and tenant_id = ${tenantId}`;
}

/** Those of the principals that hold a role in the whole tenant, in a workspace, or above it. */
export function findHoldersAmong(
  tenantId: string,
  roleId: string,
  workspaceId: string | null,
  principalIds: readonly string[],
) {
  return sql<{ id: string }>`
    select distinct principal_id as id from role_assignments
    where role_id = ${roleId} and tenant_id = ${tenantId} and principal_id = any (${principalIds}::uuid[])
      and (workspace_id is null or workspace_id = any (
        (select path from workspaces where id = ${workspaceId}::uuid and tenant_id = ${tenantId})::uuid[]))`;
}
