import { sql } from '@baton/kernel/database/sql';
import type { IamBindingRow } from './iam-binding.ts';

/** Serializes changes that remove `admin` from bindings of a tenant. */
export function takeAdministratorsLock(tenantId: string) {
  return sql`select pg_advisory_xact_lock(hashtextextended(${`administrators/${tenantId}`}, 0))`;
}

/** An active person who can sign in as an administrator. */
export function findAdministrator(tenantId: string) {
  return sql<{ id: string }>`
    select p.id from iam_bindings b join principals p on p.id = b.principal_id
    where b.tenant_id = ${tenantId} and b.status = 'active' and b.permissions && '{approvals.decide,admin}'
      and 'admin' = any (b.permissions) and p.status = 'active' and b.last_used_at is not null
    limit 1`;
}

/** How many live bindings name a role, by the kind of their principals. */
export function countBindingsOfRole(tenantId: string, key: string) {
  return sql<{ kind: 'human' | 'agent' | 'service'; bindings: number }>`
    select p.kind, count(*)::int as bindings
    from iam_bindings b join principals p on p.id = b.principal_id
    where b.tenant_id = ${tenantId} and b.access_role = ${key} and b.status <> 'revoked'
    group by p.kind`;
}

/** Revoked bindings no longer name a deleted role: its key may be used again. */
export function clearAccessRole(tenantId: string, key: string) {
  return sql`update iam_bindings set access_role = null where tenant_id = ${tenantId} and access_role = ${key}`;
}

/** The permissions of a role for people, and for agents and services. */
export interface PermissionsOfRole {
  key: string;
  people: readonly string[];
  others: readonly string[];
}

/**
 * Changes the live bindings that name a role, locked in order of their ids; returns those that had other permissions.
 */
export function updateBindingsOfRole(tenantId: string, { key, people, others }: PermissionsOfRole) {
  return sql<IamBindingRow>`
    with live as materialized (
      select b.id, case p.kind when 'human' then ${people}::text[] else ${others}::text[] end as permissions
      from iam_bindings b join principals p on p.id = b.principal_id
      where b.tenant_id = ${tenantId} and b.access_role = ${key} and b.status <> 'revoked'
      order by b.id
      for update of b
    ), changed as (
      update iam_bindings b set permissions = live.permissions, updated_at = now()
      from live where b.id = live.id and b.permissions <> live.permissions
      returning b.*
    )
    select * from changed order by created_at, id`;
}

/** Tenants with bindings that don't have the permissions of the role that they name. */
export function findTenantsBehind(roles: readonly PermissionsOfRole[], limit: number) {
  return sql<{ tenant_id: string }>`
    select distinct b.tenant_id
    from jsonb_to_recordset(${JSON.stringify(roles)}::jsonb) as r (key text, people text[], others text[])
    join iam_bindings b on b.access_role = r.key and b.status <> 'revoked'
    join principals p on p.id = b.principal_id
    where b.permissions <> case p.kind when 'human' then r.people else r.others end
    limit ${limit}`;
}
