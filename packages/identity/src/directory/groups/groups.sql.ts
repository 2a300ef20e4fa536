import { sql } from '@baton/kernel/database/sql';
import type { CreatedPage } from '../../service/pages.ts';
import type { CreatedGroup, GroupRow } from './group.ts';

/** Returns no row if the key is taken; waits for a transaction that is taking it. */
export function insertGroup(group: { id: string; tenantId: string; key: string; name: string }) {
  return sql<CreatedGroup>`
    insert into groups (id, tenant_id, key, name, source)
    values (${group.id}, ${group.tenantId}, ${group.key}, ${group.name}, 'local')
    on conflict (tenant_id, key) where deleted_at is null do nothing
    returning id, tenant_id, key, name, status`;
}

export function findGroup(tenantId: string, groupId: string) {
  return sql<GroupRow>`
    select id, tenant_id, key, name, status, source, created_at
    from groups where id = ${groupId} and tenant_id = ${tenantId} and deleted_at is null`;
}

export interface GroupFilter {
  source?: GroupRow['source'] | undefined;
  status?: GroupRow['status'] | undefined;
}

/** Reads one row more than the page size. */
export function findGroups(tenantId: string, filter: GroupFilter, page: CreatedPage) {
  const [source, status] = [filter.source ?? null, filter.status ?? null];
  return sql<GroupRow>`
    select id, tenant_id, key, name, status, source, created_at
    from groups
    where tenant_id = ${tenantId} and deleted_at is null
      and (created_at, id) > (${page.after[0]}::timestamptz, ${page.after[1]}::uuid)
      and (${source}::text is null or source = ${source}::text)
      and (${status}::text is null or status = ${status}::text)
    order by created_at, id
    limit ${page.limit + 1}`;
}

/** Locks the group's row against deletion until this transaction ends; shared locks don't wait for each other. */
export function lockGroupShared(tenantId: string, groupId: string) {
  return sql<GroupRow>`
    select id, tenant_id, key, name, status, source, created_at
    from groups where id = ${groupId} and tenant_id = ${tenantId} and deleted_at is null
    for key share`;
}

/**
 * Waits only for other changes, so a group is disabled or deleted immediately, however many requests are adding members
 * to it.
 */
export function lockGroupForChange(tenantId: string, groupId: string) {
  return sql<GroupRow>`
    select id, tenant_id, key, name, status, source, created_at
    from groups where id = ${groupId} and tenant_id = ${tenantId} and deleted_at is null
    for no key update`;
}

/** Returns no row while another request is adding a member under the shared lock. */
export function tryLockGroup(groupId: string) {
  return sql<Pick<GroupRow, 'id'>>`select id from groups where id = ${groupId} for update skip locked`;
}

/** After the commit the group no longer exists, and its key is free. */
export function updateGroupDeleted(groupId: string) {
  return sql`update groups set deleted_at = now() where id = ${groupId}`;
}

export function updateGroupRow({ id, name, status }: GroupRow) {
  return sql`update groups set name = ${name}, status = ${status} where id = ${id}`;
}

export function deleteGroupRow(groupId: string) {
  return sql`delete from groups where id = ${groupId}`;
}
