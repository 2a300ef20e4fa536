import { sql } from '@baton/kernel/database/sql';

/** The principals that worked on a task: the holders of its claims, which include those of its runs. */
export function findWorkersOf(tenantId: string, taskId: string) {
  return sql<{ id: string }>`
    select distinct holder_id as id from claims where task_id = ${taskId} and tenant_id = ${tenantId}`;
}

/** The principals that requested an approval, the approvals that it replaces, or the completion that it checks. */
export function findRequestersOf(tenantId: string, approvalId: string) {
  return sql<{ id: string }>`
    with recursive asked as (
      select id, supersedes_approval_id, verification_id, requested_by_principal_id from approvals
      where id = ${approvalId} and tenant_id = ${tenantId}
      union all
      select a.id, a.supersedes_approval_id, a.verification_id, a.requested_by_principal_id
      from asked join approvals a on a.id = asked.supersedes_approval_id
    )
    select requested_by_principal_id as id from asked
    union
    select v.requester_id from asked join verifications v on v.id = asked.verification_id
    where v.requester_id is not null`;
}

/** Returns those of the given principals that hold a role in the whole tenant, in a workspace, or in an ancestor. */
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
