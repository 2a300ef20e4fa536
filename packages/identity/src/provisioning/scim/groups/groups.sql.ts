import type { RowOf } from '@baton/kernel/database/row';
import { sql } from '@baton/kernel/database/sql';
import type { Tables } from '../../../service/schema.ts';
import type { GroupContent, GroupRow } from './group.ts';

/** The columns of `GroupRow`, for a list whose text is built per request. */
export const groupColumns =
  'r.id, r.group_id, r.display_name, r.external_id, r.version, r.created_at, r.modified_at';

/** The approximate size of a group in a response: 1 KiB, plus 300 bytes per member. */
export const groupBytes = `(1024 + 300 * (select count(*) from (
  select 1 from group_members m where m.group_id = r.group_id limit 20000) few))`;

/** Inserts the tenant's group. Returns no row if another group of the tenant has the key. */
export function insertTenantGroup(group: { id: string; tenantId: string; key: string; name: string }) {
  return sql<{ id: string }>`
    insert into groups (id, tenant_id, key, name, source)
    values (${group.id}, ${group.tenantId}, ${group.key}, ${group.name}, 'scim')
    on conflict (tenant_id, key) where deleted_at is null do nothing
    returning id`;
}

/**
 * The first few of these keys, in order, that no group of the tenant has: several, because other requests may take some
 * of them in the meantime.
 */
export function findFreeKeys(tenantId: string, keys: readonly string[]) {
  return sql<{ keys: string[] }>`
    select array(
      select k.key from unnest(${keys}::text[]) with ordinality as k (key, place)
      where not exists (select 1 from groups g
        where g.tenant_id = ${tenantId} and g.key = k.key and g.deleted_at is null)
      order by k.place limit 20
    ) as keys`;
}

export function insertScimGroup(
  group: { id: string; sourceId: string; tenantId: string; groupId: string },
  content: GroupContent,
) {
  return sql<GroupRow>`
    insert into scim_groups (id, provisioning_source_id, tenant_id, group_id, display_name, external_id)
    values (${group.id}, ${group.sourceId}, ${group.tenantId}, ${group.groupId}, ${content.displayName},
      ${content.externalId})
    returning id, group_id, display_name, external_id, version, created_at, modified_at`;
}

export function findScimGroup(sourceId: string, id: string) {
  return sql<GroupRow>`
    select id, group_id, display_name, external_id, version, created_at, modified_at
    from scim_groups where id = ${id} and provisioning_source_id = ${sourceId}`;
}

export function lockScimGroup(sourceId: string, id: string) {
  return sql<GroupRow>`
    select id, group_id, display_name, external_id, version, created_at, modified_at
    from scim_groups where id = ${id} and provisioning_source_id = ${sourceId}
    for update`;
}

export function updateScimGroup(id: string, content: GroupContent) {
  return sql<GroupRow>`
    update scim_groups set display_name = ${content.displayName}, external_id = ${content.externalId},
      version = version + 1, modified_at = now()
    where id = ${id}
    returning id, group_id, display_name, external_id, version, created_at, modified_at`;
}

/** Renames the tenant's group; its key never changes. */
export function updateTenantGroup(groupId: string, name: string) {
  return sql<{ key: string }>`update groups set name = ${name} where id = ${groupId} returning key`;
}

/** The tenant's own group is deleted in a separate statement afterwards. */
export function deleteScimGroup(id: string) {
  return sql`delete from scim_groups where id = ${id}`;
}

/** The given users that belong to the source. They can't be deleted until this transaction ends. */
export function lockUsers(sourceId: string, userIds: readonly string[]) {
  return sql<{ id: string }>`
    select id from scim_users
    where provisioning_source_id = ${sourceId} and id = any (${userIds}::uuid[])
    order by id
    for key share`;
}

/** Adds the users of the source, and returns those who were not members before. */
export function insertMembers(
  group: { groupId: string; tenantId: string; sourceId: string },
  userIds: readonly string[],
) {
  return sql<{ principal_id: string }>`
    insert into group_members (id, tenant_id, group_id, principal_id, source)
    select gen_random_uuid(), ${group.tenantId}, ${group.groupId}, u.principal_id, 'scim'
    from scim_users u
    where u.provisioning_source_id = ${group.sourceId} and u.id = any (${userIds}::uuid[])
    on conflict (group_id, principal_id) do nothing
    returning principal_id`;
}

export function deleteMembers(groupId: string, sourceId: string, userIds: readonly string[]) {
  return sql<{ principal_id: string }>`
    delete from group_members m using scim_users u
    where u.provisioning_source_id = ${sourceId} and u.id = any (${userIds}::uuid[])
      and m.group_id = ${groupId} and m.principal_id = u.principal_id
    returning m.principal_id`;
}

export function deleteMembersExcept(groupId: string, sourceId: string, userIds: readonly string[]) {
  return sql<{ principal_id: string }>`
    delete from group_members m
    where m.group_id = ${groupId} and not exists (
      select 1 from scim_users u
      where u.provisioning_source_id = ${sourceId} and u.principal_id = m.principal_id
        and u.id = any (${userIds}::uuid[]))
    returning m.principal_id`;
}

/** The members of many groups at once, up to a limit. */
export function findMembers(sourceId: string, groupIds: readonly string[], limit: number) {
  return sql<
    Pick<RowOf<Tables['group_members']>, 'group_id'> & Pick<RowOf<Tables['scim_users']>, 'id' | 'user_name'>
  >`
    select m.group_id, u.id, u.user_name
    from group_members m
    join scim_users u on u.principal_id = m.principal_id and u.provisioning_source_id = ${sourceId}
    where m.group_id = any (${groupIds}::uuid[])
    order by m.created_at, u.id
    limit ${limit}`;
}

export function hasMoreMembersThan(groupId: string, count: number) {
  return sql<{ is_more: boolean }>`
    select count(*) > ${count} as is_more
    from (select 1 from group_members where group_id = ${groupId} limit ${count} + 1) few`;
}
