import { sql } from '@baton/kernel/database/sql';

export interface Founding {
  tenantId: string;
  tenantSlug: string;
  tenantName: string;
  adminPrincipalId: string;
  adminDisplayName: string;
  corePrincipalId: string;
  taskTypeId: string;
  workspaceTypeId: string;
  lifecycle: object;
  claimFrom: readonly string[];
  execution: object;
}

/** Creates a tenant with its initial objects, in one statement. */
export function insertTenant(founding: Founding) {
  return sql`
    with tenant as (
      insert into tenants (id, slug, name, core_principal_id)
      values (${founding.tenantId}, ${founding.tenantSlug}, ${founding.tenantName}, ${founding.corePrincipalId})
    ), floor as (
      insert into journal_floors (tenant_id) values (${founding.tenantId})
    ), admin as (
      insert into principals (id, tenant_id, kind, display_name)
      values (${founding.adminPrincipalId}, ${founding.tenantId}, 'human', ${founding.adminDisplayName}),
        (${founding.corePrincipalId}, ${founding.tenantId}, 'service', 'Baton')
    ), workspace_type as (
      insert into workspace_types (id, tenant_id, key, display_name, is_system)
      values (${founding.workspaceTypeId}, ${founding.tenantId}, 'generic', 'Generic', true)
    )
    insert into task_types (id, tenant_id, key, version, display_name, lifecycle_schema, claim_status, claim_category,
      claim_from, release_status, release_category, execution, holds_start, created_by)
    values (${founding.taskTypeId}, ${founding.tenantId}, 'task', 1, 'Task', ${JSON.stringify(founding.lifecycle)},
      'in_progress', 'active', ${founding.claimFrom}, 'todo', 'active', ${JSON.stringify(founding.execution)}, true,
      ${founding.adminPrincipalId})`;
}

/** The sequence for the tenant's task numbers. */
export function createTaskNumbers(tenantId: string) {
  return sql`select create_task_numbers(${tenantId})`;
}
