import { queryBuilder } from '@baton/kernel/database/db';
import { type ListOrder, matching, pageQuery } from '@baton/kernel/database/list';
import { sql } from '@baton/kernel/database/sql';
import type { Page } from '@baton/kernel/http/paging';
import type { JsonObject } from '@baton/values/wire';
import type { WorkspaceTypeRow } from './workspace-type.ts';

export interface WorkspaceTypeValues {
  displayName: string;
  description: string;
  fieldSchema: JsonObject;
  allowedChildTypes: readonly string[];
}

/** Returns no row when the tenant already has a type with this key. */
export function insertWorkspaceType(
  type: WorkspaceTypeValues & { id: string; tenantId: string; key: string },
) {
  return sql<WorkspaceTypeRow>`
    insert into workspace_types (id, tenant_id, key, display_name, description, field_schema, allowed_child_types)
    values (${type.id}, ${type.tenantId}, ${type.key}, ${type.displayName}, ${type.description},
      ${JSON.stringify(type.fieldSchema)}, ${type.allowedChildTypes})
    on conflict (tenant_id, key) do nothing
    returning *`;
}

export function findWorkspaceType(tenantId: string, id: string) {
  return sql<WorkspaceTypeRow>`select * from workspace_types where id = ${id} and tenant_id = ${tenantId}`;
}

export function findWorkspaceTypeByKey(tenantId: string, key: string) {
  return sql<WorkspaceTypeRow>`select * from workspace_types where key = ${key} and tenant_id = ${tenantId}`;
}

export function findSystemWorkspaceType(tenantId: string) {
  return sql<WorkspaceTypeRow>`select * from workspace_types where tenant_id = ${tenantId} and is_system`;
}

export function updateWorkspaceTypeValues(tenantId: string, id: string, values: WorkspaceTypeValues) {
  return sql<WorkspaceTypeRow>`
    update workspace_types
    set display_name = ${values.displayName}, description = ${values.description},
      field_schema = ${JSON.stringify(values.fieldSchema)}, allowed_child_types = ${values.allowedChildTypes},
      version = version + 1, updated_at = now()
    where id = ${id} and tenant_id = ${tenantId}
    returning *`;
}

export function updateWorkspaceTypeStatus(tenantId: string, id: string, status: WorkspaceTypeRow['status']) {
  return sql<WorkspaceTypeRow>`
    update workspace_types set status = ${status}, version = version + 1, updated_at = now()
    where id = ${id} and tenant_id = ${tenantId}
    returning *`;
}

export function countActiveWorkspaces(tenantId: string, typeId: string) {
  return sql<{ workspaces: number }>`
    select count(*) as workspaces from workspaces
    where type_id = ${typeId} and status = 'active' and tenant_id = ${tenantId}`;
}

const build = queryBuilder<{ workspace_types: WorkspaceTypeRow }>();

const newestFirst: ListOrder<WorkspaceTypeRow> = {
  cursor: 'workspace_types',
  columns: { created_at: 'timestamp', id: 'uuid' },
  direction: 'desc',
};

export function findWorkspaceTypes(
  tenantId: string,
  filter: { [Column in 'status' | 'package_key']: string | undefined },
  page: Page,
) {
  const query = build.selectFrom('workspace_types').selectAll().where('tenant_id', '=', tenantId);
  return pageQuery(matching(query, filter), newestFirst, page);
}
