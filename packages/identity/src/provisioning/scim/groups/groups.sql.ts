import { sql } from '@baton/kernel/sql';

export interface GroupRow {
  id: string;
  group_id: string;
  display_name: string;
  external_id: string | null;
  version: number;
  created_at: string;
  modified_at: string;
}

export const groupColumns =
  'r.id, r.group_id, r.display_name, r.external_id, r.version, r.created_at, r.modified_at';

/** The group that the tenant sees. No row when its key is taken by any group of the tenant. */
export function insertProjectedGroup(group: { id: string; tenantId: string; key: string; name: string }) {
  return sql<{ id: string }>`
    insert into groups (id, tenant_id, key, name, source)
    values (${group.id}, ${group.tenantId}, ${group.key}, ${group.name}, 'scim')
    on conflict (tenant_id, key) do nothing
    returning id`;
}

export function insertGroup(
  group: { id: string; sourceId: string; tenantId: string; groupId: string },
  content: { displayName: string; externalId: string | null },
) {
  return sql<GroupRow>`
    insert into scim_groups (id, provisioning_source_id, tenant_id, group_id, display_name, external_id)
    values (${group.id}, ${group.sourceId}, ${group.tenantId}, ${group.groupId}, ${content.displayName},
      ${content.externalId})
    returning id, group_id, display_name, external_id, version, created_at, modified_at`;
}

export function findGroup(sourceId: string, id: string) {
  return sql<GroupRow>`
    select id, group_id, display_name, external_id, version, created_at, modified_at
    from scim_groups where id = ${id} and provisioning_source_id = ${sourceId}`;
}

export function lockGroup(sourceId: string, id: string) {
  return sql<GroupRow>`
    select id, group_id, display_name, external_id, version, created_at, modified_at
    from scim_groups where id = ${id} and provisioning_source_id = ${sourceId}
    for update`;
}

export function updateGroup(id: string, content: { displayName: string; externalId: string | null }) {
  return sql<GroupRow>`
    update scim_groups set display_name = ${content.displayName}, external_id = ${content.externalId},
      version = version + 1, modified_at = now()
    where id = ${id}
    returning id, group_id, display_name, external_id, version, created_at, modified_at`;
}

/** The name follows the directory; the key does not. */
export function renameProjectedGroup(groupId: string, name: string) {
  return sql<{ key: string }>`update groups set name = ${name} where id = ${groupId} returning key`;
}

/** Nobody comes in any more: a sign-in that is putting somebody in at this moment is waited for. */
export function closeGroup(groupId: string) {
  return sql`select id from groups where id = ${groupId} for update`;
}

export function deleteGroup(id: string, groupId: string) {
  return sql`
    with gone as (delete from scim_groups where id = ${id} returning id)
    delete from groups where id = ${groupId} and exists (select 1 from gone)`;
}

/** How many of these users the source has. They can't be deleted until this transaction ends. */
export function holdUsers(sourceId: string, userIds: readonly string[]) {
  return sql<{ id: string }>`
    select id from scim_users
    where provisioning_source_id = ${sourceId} and id = any (${userIds}::uuid[])
    order by id
    for key share`;
}

/** Those who were no members yet. */
export function addMembers(
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

export function removeMembers(groupId: string, sourceId: string, userIds: readonly string[]) {
  return sql<{ principal_id: string }>`
    delete from group_members m using scim_users u
    where u.provisioning_source_id = ${sourceId} and u.id = any (${userIds}::uuid[])
      and m.group_id = ${groupId} and m.principal_id = u.principal_id
    returning m.principal_id`;
}

export function removeMembersExcept(groupId: string, sourceId: string, userIds: readonly string[]) {
  return sql<{ principal_id: string }>`
    delete from group_members m
    where m.group_id = ${groupId} and not exists (
      select 1 from scim_users u
      where u.provisioning_source_id = ${sourceId} and u.principal_id = m.principal_id
        and u.id = any (${userIds}::uuid[]))
    returning m.principal_id`;
}

export interface MemberRow {
  group_id: string;
  id: string;
  user_name: string;
}

/** The members of many groups at once. */
export function findMembers(sourceId: string, groupIds: readonly string[]) {
  return sql<MemberRow>`
    select m.group_id, u.id, u.user_name
    from group_members m
    join scim_users u on u.principal_id = m.principal_id and u.provisioning_source_id = ${sourceId}
    where m.group_id = any (${groupIds}::uuid[])
    order by m.created_at, u.id`;
}

export function hasMoreMembersThan(groupId: string, count: number) {
  return sql<{ is_more: boolean }>`
    select count(*) > ${count} as is_more
    from (select 1 from group_members where group_id = ${groupId} limit ${count} + 1) few`;
}
