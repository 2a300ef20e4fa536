import { sql } from '@baton/kernel/sql';
import type { CreatedPage } from '../../service/paging.ts';

export interface GroupRow {
  id: string;
  tenant_id: string;
  key: string;
  name: string;
  status: 'active' | 'disabled';
}

/** With who keeps it, and since when it exists. */
export interface FullGroupRow extends GroupRow {
  source: 'local' | 'federated' | 'scim';
  created_at: string;
}

/** No row when the key is taken; a rival that takes it at this moment is waited for. */
export function insertGroup(group: { id: string; tenantId: string; key: string; name: string }) {
  return sql<GroupRow>`
    insert into groups (id, tenant_id, key, name, source)
    values (${group.id}, ${group.tenantId}, ${group.key}, ${group.name}, 'local')
    on conflict (tenant_id, key) do nothing
    returning id, tenant_id, key, name, status`;
}

export function findGroup(tenantId: string, groupId: string) {
  return sql<FullGroupRow>`
    select id, tenant_id, key, name, status, source, created_at
    from groups where id = ${groupId} and tenant_id = ${tenantId}`;
}

export interface GroupFilter {
  source: FullGroupRow['source'] | undefined;
  status: GroupRow['status'] | undefined;
}

/** One more than the page holds. */
export function findGroups(tenantId: string, filter: GroupFilter, page: CreatedPage) {
  const [source, status] = [filter.source ?? null, filter.status ?? null];
  return sql<FullGroupRow>`
    select id, tenant_id, key, name, status, source, created_at
    from groups
    where tenant_id = ${tenantId}
      and (created_at, id) > (${page.after[0]}::timestamptz, ${page.after[1]}::uuid)
      and (${source}::text is null or source = ${source}::text)
      and (${status}::text is null or status = ${status}::text)
    order by created_at, id
    limit ${page.limit + 1}`;
}

/** Until this transaction ends nobody deletes the group; those who hold it don't wait for each other. */
export function holdGroup(tenantId: string, groupId: string) {
  return sql<FullGroupRow>`
    select id, tenant_id, key, name, status, source, created_at
    from groups where id = ${groupId} and tenant_id = ${tenantId}
    for key share`;
}

/** Against another change at the same time, and against new members: those who hold it are waited for. */
export function lockGroup(tenantId: string, groupId: string) {
  return sql<FullGroupRow>`
    select id, tenant_id, key, name, status, source, created_at
    from groups where id = ${groupId} and tenant_id = ${tenantId}
    for update`;
}

export function updateGroup({ id, name, status }: GroupRow) {
  return sql`update groups set name = ${name}, status = ${status} where id = ${id}`;
}

export function deleteGroup(groupId: string) {
  return sql`delete from groups where id = ${groupId}`;
}
