import type { RowOf } from '@baton/kernel/database/row';
import { sql } from '@baton/kernel/database/sql';
import type { CreatedPage } from '../../service/pages.ts';
import type { Tables } from '../../service/schema.ts';
import type { PrincipalRow } from './principal.ts';

/** Inserts the principal with its membership; returns no row for an unknown tenant. */
export function insertPrincipal(principal: {
  id: string;
  tenantId: string;
  kind: PrincipalRow['kind'];
  displayName: string;
}) {
  return sql<PrincipalRow>`
    with tenant as (
      select id from tenants where id = ${principal.tenantId}
    ), made as (
      insert into principals (id, kind, display_name)
      select ${principal.id}, ${principal.kind}, ${principal.displayName} from tenant
      returning id, kind, display_name, status, created_at
    ), joined as (
      insert into memberships (tenant_id, principal_id) select tenant.id, made.id from tenant, made
    )
    select * from made`;
}

export function findPrincipal(tenantId: string, principalId: string) {
  return sql<PrincipalRow>`
    select p.id, p.kind, p.display_name, p.status, p.created_at
    from memberships m join principals p on p.id = m.principal_id
    where m.tenant_id = ${tenantId} and m.principal_id = ${principalId} and m.status = 'active'`;
}

/**
 * Acquires a principal's lock in shared mode: waits for a disable in progress, and makes a later disable wait. Requests
 * that create credentials don't wait for each other. The status is read after the wait.
 */
export function enterPrincipal(tenantId: string, principalId: string) {
  return sql<PrincipalRow>`
    select p.id, p.kind, p.display_name, enter_principal(p.id) as status, p.created_at
    from memberships m join principals p on p.id = m.principal_id
    where m.tenant_id = ${tenantId} and m.principal_id = ${principalId} and m.status = 'active'`;
}

/** Locks a principal before its own row is changed: such changes wait for each other on that row. */
export function lockPrincipal(tenantId: string, principalId: string) {
  return sql<PrincipalRow>`
    with entered as materialized (
      select m.principal_id, enter_principal(m.principal_id) from memberships m
      where m.tenant_id = ${tenantId} and m.principal_id = ${principalId} and m.status = 'active'
    )
    select p.id, p.kind, p.display_name, p.status, p.created_at
    from entered e join principals p on p.id = e.principal_id
    for no key update of p`;
}

/**
 * Acquires a principal's lock exclusively: waits for concurrent inserts for the principal, for about a second at most;
 * later inserts see the change. The row itself is locked by a later statement.
 */
export function takePrincipalLock(principalId: string) {
  return sql`select take_principal_lock(${principalId})`;
}

/** Like the previous lock, but only for a member of the tenant. */
export function takeMemberLock(tenantId: string, principalId: string) {
  return sql`
    select take_principal_lock(principal_id) from memberships
    where tenant_id = ${tenantId} and principal_id = ${principalId} and status = 'active'`;
}

export function updateDisabled(principalId: string, byAdmin: boolean) {
  return sql`
    update principals set status = 'disabled', disabled_by_admin = disabled_by_admin or ${byAdmin}
    where id = ${principalId}`;
}

export function updatePaused(principalId: string) {
  return sql`update principals set status = 'paused' where id = ${principalId}`;
}

export type LockedPerson = Pick<PrincipalRow, 'status'> &
  Pick<RowOf<Tables['principals']>, 'disabled_by_admin'>;

/** Locks a principal whatever its memberships, because a directory manages the person in all tenants. */
export function lockPrincipalAnywhere(principalId: string) {
  return sql<LockedPerson>`
    with entered as materialized (select enter_principal(${principalId}))
    select p.status, p.disabled_by_admin from entered, principals p where p.id = ${principalId}
    for no key update of p`;
}

/**
 * Enables a paused or disabled principal. Uses the time of the statement: the transaction may have begun before the
 * disable that it waited for; with its time, sessions created in between would be valid again.
 */
export function updateEnabled(principalId: string) {
  return sql<{ at: string }>`
    update principals set status = 'active', disabled_by_admin = false
    where id = ${principalId} and status <> 'active'
    returning clock_timestamp()::timestamptz(3) as at`;
}

export function updateDisplayName(principalId: string, displayName: string) {
  return sql`update principals set display_name = ${displayName} where id = ${principalId}`;
}

/** The principal's users in active directory sources, in all tenants: a principal has one status for all of them. */
export function findDirectoryUsers(principalId: string) {
  return sql<{ is_wanted_active: boolean }>`
    select u.active or u.suspended as is_wanted_active
    from scim_users u join provisioning_sources s on s.id = u.provisioning_source_id
    where u.principal_id = ${principalId} and s.status = 'active'`;
}

/**
 * Marks a principal's SCIM users as inactive. Call it with the principal locked: every writer of a user locks the
 * principal first, so no other transaction can have locked these rows.
 */
export function updateUsersSuspended(principalId: string) {
  return sql`
    update scim_users set active = false, suspended = true, version = version + 1, modified_at = now()
    where principal_id = ${principalId} and active`;
}

export function updateUsersResumed(principalId: string) {
  return sql`
    update scim_users set active = true, suspended = false, version = version + 1, modified_at = now()
    where principal_id = ${principalId} and suspended`;
}

export interface PrincipalFilter extends CreatedPage {
  tenantId: string;
  kind?: PrincipalRow['kind'] | undefined;
  status?: PrincipalRow['status'] | undefined;
}

/** Ordered by the time at which the principals joined. */
export function findPrincipals({ tenantId, kind, status, after, limit }: PrincipalFilter) {
  return sql<PrincipalRow & { joined_at: string }>`
    select p.id, p.kind, p.display_name, p.status, p.created_at, m.created_at as joined_at
    from memberships m join principals p on p.id = m.principal_id
    where m.tenant_id = ${tenantId} and m.status = 'active'
      and (m.created_at, m.principal_id) > (${after[0]}::timestamptz, ${after[1]}::uuid)
      and (${kind ?? null}::text is null or p.kind = ${kind ?? null}::text)
      and (${status ?? null}::text is null or p.status = ${status ?? null}::text)
    order by m.created_at, m.principal_id
    limit ${limit + 1}`;
}

/** Finds these principals. This is a separate statement, so that PostgreSQL begins with the ids. */
export function findPrincipalsById(
  { tenantId, kind, status, after, limit }: PrincipalFilter,
  ids: readonly string[],
) {
  return sql<PrincipalRow & { joined_at: string }>`
    select p.id, p.kind, p.display_name, p.status, p.created_at, m.created_at as joined_at
    from memberships m join principals p on p.id = m.principal_id
    where m.tenant_id = ${tenantId} and m.principal_id = any (${ids}::uuid[]) and m.status = 'active'
      and (m.created_at, m.principal_id) > (${after[0]}::timestamptz, ${after[1]}::uuid)
      and (${kind ?? null}::text is null or p.kind = ${kind ?? null}::text)
      and (${status ?? null}::text is null or p.status = ${status ?? null}::text)
    order by m.created_at, m.principal_id
    limit ${limit + 1}`;
}

/**
 * Principals whose name has words with these prefixes, or whose user name in a directory of the tenant does. A separate
 * statement: the candidates come from two indexes, and an optional condition would prevent PostgreSQL from using them.
 */
export function findPrincipalsByName(
  { tenantId, kind, status, after, limit }: PrincipalFilter,
  search: string,
) {
  const userName = `${search.replaceAll(/[\\%_]/g, '\\$&')}%`;
  return sql<PrincipalRow & { joined_at: string }>`
    with found as materialized (
      select id from principals where array_to_tsvector(name_words(display_name)) @@ name_query(${search})
      union
      select u.principal_id from provisioning_sources s join scim_users u on u.provisioning_source_id = s.id
      where s.tenant_id = ${tenantId} and lower(u.user_name) collate "C" like lower(${userName})
    )
    select p.id, p.kind, p.display_name, p.status, p.created_at, m.created_at as joined_at
    from found f join principals p on p.id = f.id join memberships m on m.principal_id = p.id
    where m.tenant_id = ${tenantId} and m.status = 'active'
      and (m.created_at, m.principal_id) > (${after[0]}::timestamptz, ${after[1]}::uuid)
      and (${kind ?? null}::text is null or p.kind = ${kind ?? null}::text)
      and (${status ?? null}::text is null or p.status = ${status ?? null}::text)
    order by m.created_at, m.principal_id
    limit ${limit + 1}`;
}
