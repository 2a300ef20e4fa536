import { queryBuilder } from '@baton/kernel/database/db';
import { condition, type ListOrder, matching, pageQuery } from '@baton/kernel/database/list';
import { sql } from '@baton/kernel/database/sql';
import type { Page } from '@baton/kernel/http/paging';
import { type SeenList, seenByPlace } from '../../service/sight/places.ts';
import type { RoleHolderRow, RoleRow } from './role.ts';

export interface NewRole {
  id: string;
  tenantId: string;
  workspaceId: string | null;
  slug: string;
  name: string;
  description: string;
}

/** Returns no row when the tenant or the workspace already has a role with this slug. */
export function insertRole(role: NewRole) {
  return sql<RoleRow>`
    insert into roles (id, tenant_id, workspace_id, slug, name, description)
    values (${role.id}, ${role.tenantId}, ${role.workspaceId}, ${role.slug}, ${role.name}, ${role.description})
    on conflict (tenant_id, workspace_id, slug) do nothing
    returning *`;
}

export function findRole(tenantId: string, id: string) {
  return sql<RoleRow>`select * from roles where id = ${id} and tenant_id = ${tenantId}`;
}

export function lockRole(tenantId: string, id: string) {
  return sql<RoleRow>`select * from roles where id = ${id} and tenant_id = ${tenantId} for no key update`;
}

export type RoleValues = Pick<RoleRow, 'name' | 'description' | 'slug'>;

export function updateRoleValues(tenantId: string, id: string, values: RoleValues) {
  return sql<RoleRow>`
    update roles
    set name = ${values.name}, description = ${values.description}, slug = ${values.slug}, version = version + 1,
      updated_at = now()
    where id = ${id} and tenant_id = ${tenantId}
    returning *`;
}

const build = queryBuilder<{ roles: RoleRow }>();

const newestFirst: ListOrder<RoleRow> = {
  cursor: 'roles',
  columns: { created_at: 'timestamp', id: 'uuid' },
  direction: 'desc',
};

export function listOfRoles(
  tenantId: string,
  filter: { [Column in 'workspace_id' | 'package_key']: string | undefined },
): SeenList<RoleRow> {
  const foundIn = (source: 'roles') =>
    matching(build.selectFrom(source).selectAll().where('tenant_id', '=', tenantId), filter);
  return seenByPlace(tenantId, 'roles', foundIn, newestFirst);
}

const holders = queryBuilder<{ principals: RoleHolderRow & { tenant_id: string } }>();

const newestHoldersFirst: ListOrder<RoleHolderRow> = {
  cursor: 'role_holders',
  columns: { created_at: 'timestamp', id: 'uuid' },
  direction: 'desc',
};

/**
 * The principals that have a role, either anywhere or where it applies to a workspace: in the workspace, an ancestor or
 * the whole tenant.
 * @param workspaceIds the workspace with its ancestors; undefined for anywhere
 */
export function findRoleHolders(
  tenantId: string,
  roleId: string,
  workspaceIds: readonly string[] | undefined,
  page: Page,
) {
  const within =
    workspaceIds === undefined
      ? condition`true`
      : condition`(workspace_id is null or workspace_id = any (${workspaceIds}::uuid[]))`;
  const query = holders
    .selectFrom('principals')
    .select(['id', 'kind', 'display_name', 'status', 'created_at'])
    .where('tenant_id', '=', tenantId)
    .where(
      condition`id in (select principal_id from role_assignments where role_id = ${roleId} and ${within})`,
    );
  return pageQuery(query, newestHoldersFirst, page);
}
