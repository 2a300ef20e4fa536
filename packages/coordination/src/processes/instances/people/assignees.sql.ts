import { sql } from '@baton/kernel/database/sql';

/** The active principals that hold a role in a workspace, in one of its ancestors, or in the whole tenant. */
export function findHolders(tenantId: string, roleId: string, workspaceId: string | null, rowsMax: number) {
  return sql<{ id: string }>`
    select distinct p.id from role_assignments a join principals p on p.id = a.principal_id
    where a.tenant_id = ${tenantId} and a.role_id = ${roleId} and p.status = 'active'
      and (a.workspace_id is null or a.workspace_id = any (
        (select path from workspaces where id = ${workspaceId}::uuid and tenant_id = ${tenantId})::uuid[]))
    order by p.id limit ${rowsMax}`;
}

export function findActive(tenantId: string, id: string) {
  return sql<{ id: string }>`
    select id from principals where id = ${id} and tenant_id = ${tenantId} and status = 'active'`;
}
