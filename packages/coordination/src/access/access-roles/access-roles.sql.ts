import { sql } from '@baton/kernel/database/sql';
import type { AccessRoleRow } from './access-role.ts';

export type NewAccessRole = Pick<AccessRoleRow, 'id' | 'key' | 'name' | 'description' | 'permissions'> & {
  tenantId: string;
};

/** Serializes the creation of roles in a tenant, whose number is bounded. */
export function takeAccessRolesLock(tenantId: string) {
  return sql`select pg_advisory_xact_lock(hashtextextended(${`access-roles/${tenantId}`}, 0))`;
}

export function countAccessRoles(tenantId: string) {
  return sql<{
    roles: number;
  }>`select count(*)::int as roles from access_roles where tenant_id = ${tenantId}`;
}

/** Returns no row when the tenant has a role with this key. */
export function insertAccessRole(role: NewAccessRole) {
  return sql<AccessRoleRow>`
    insert into access_roles (id, tenant_id, key, name, description, permissions)
    values (${role.id}, ${role.tenantId}, ${role.key}, ${role.name}, ${role.description}, ${role.permissions})
    on conflict (tenant_id, key) do nothing
    returning *`;
}

/** The tenant's own roles by key; their number is bounded. */
export function findAccessRoles(tenantId: string) {
  return sql<AccessRoleRow>`select * from access_roles where tenant_id = ${tenantId} order by key`;
}

/** @param ref a key or an id; a key is too short to be an id */
export function findAccessRole(tenantId: string, ref: string) {
  return sql<AccessRoleRow>`
    select * from access_roles where tenant_id = ${tenantId} and (key = ${ref} or id::text = ${ref})`;
}

/** Waits for commands that are currently granting the role. */
export function lockAccessRole(tenantId: string, ref: string) {
  return sql<AccessRoleRow>`
    select * from access_roles where tenant_id = ${tenantId} and (key = ${ref} or id::text = ${ref})
    for update`;
}

export type AccessRoleValues = Pick<AccessRoleRow, 'name' | 'description' | 'permissions'>;

export function updateAccessRole(tenantId: string, id: string, values: AccessRoleValues) {
  return sql<AccessRoleRow>`
    update access_roles
    set name = ${values.name}, description = ${values.description}, permissions = ${values.permissions},
      version = version + 1, updated_at = now()
    where id = ${id} and tenant_id = ${tenantId}
    returning *`;
}

export function deleteAccessRole(tenantId: string, id: string) {
  return sql`delete from access_roles where id = ${id} and tenant_id = ${tenantId}`;
}
