import { sql } from '@baton/kernel/database/sql';
import type { UserContent, UserRow } from './user.ts';

/** The columns of `UserRow`, for a list whose text is built per request. */
export const userColumns =
  'r.id, r.principal_id, r.external_identity_id, r.user_name, r.external_id, r.display_name, r.active, r.suspended, r.document, r.version, r.created_at, r.modified_at';

/** The approximate size of a user in a response: 1 KiB for its columns, plus 300 bytes per group. */
export const documentBytes = '(1024 + octet_length(r.document::text))';
export const userBytes = `(${documentBytes} + 300 * (select count(*) from (
  select 1 from group_members m where m.principal_id = r.principal_id limit 20000) few))`;

/** @param isBlocked whether an administrator has disabled the person */
export function insertScimUser(
  user: { id: string; sourceId: string; tenantId: string; principalId: string; identityId: string },
  content: UserContent,
  isBlocked: boolean,
) {
  return sql<UserRow>`
    insert into scim_users (id, provisioning_source_id, tenant_id, principal_id, external_identity_id, user_name,
      external_id, display_name, active, suspended, document)
    values (${user.id}, ${user.sourceId}, ${user.tenantId}, ${user.principalId}, ${user.identityId},
      ${content.userName}, ${content.externalId}, ${content.displayName}, ${content.active && !isBlocked},
      ${content.active && isBlocked}, ${JSON.stringify(content.document)})
    returning id, principal_id, external_identity_id, user_name, external_id, display_name, active, suspended, document, version,
      created_at, modified_at`;
}

export function updateScimUser(id: string, content: UserContent, isBlocked: boolean) {
  return sql<UserRow>`
    update scim_users set user_name = ${content.userName}, external_id = ${content.externalId},
      display_name = ${content.displayName}, active = ${content.active && !isBlocked},
      suspended = ${content.active && isBlocked},
      document = ${JSON.stringify(content.document)}, version = version + 1, modified_at = now()
    where id = ${id}
    returning id, principal_id, external_identity_id, user_name, external_id, display_name, active, suspended, document, version,
      created_at, modified_at`;
}

export function findScimUser(sourceId: string, id: string) {
  return sql<UserRow>`
    select id, principal_id, external_identity_id, user_name, external_id, display_name, active, suspended, document, version,
      created_at, modified_at
    from scim_users where id = ${id} and provisioning_source_id = ${sourceId}`;
}

/**
 * Locks a user for a change or the deletion, with its principal locked. A group that is adding the user as a member
 * waits for it.
 */
export function lockScimUser(sourceId: string, id: string) {
  return sql<UserRow>`
    select id, principal_id, external_identity_id, user_name, external_id, display_name, active, suspended, document, version,
      created_at, modified_at
    from scim_users where id = ${id} and provisioning_source_id = ${sourceId}
    for update`;
}

export function deleteScimUser(id: string) {
  return sql<{ upstream_id: string | null }>`delete from scim_users where id = ${id} returning upstream_id`;
}

/** The groups of many users at once. */
export function findGroupsOfUsers(sourceId: string, principalIds: readonly string[]) {
  return sql<{ principal_id: string; id: string; display_name: string }>`
    select m.principal_id, g.id, g.display_name
    from group_members m
    join scim_groups g on g.group_id = m.group_id and g.provisioning_source_id = ${sourceId}
    where m.principal_id = any (${principalIds}::uuid[])
    order by g.created_at, g.id`;
}

/** Removes a principal from every group of the source, and gives each of those groups a new version. */
export function deleteMembershipsOf(sourceId: string, principalId: string) {
  return sql<{ group_id: string }>`
    with held as materialized (
      select g.group_id
      from group_members m join scim_groups g on g.group_id = m.group_id
      where m.principal_id = ${principalId} and g.provisioning_source_id = ${sourceId}
      order by g.id
      for update of g
    ), gone as (
      delete from group_members m using held
      where m.group_id = held.group_id and m.principal_id = ${principalId}
      returning m.group_id
    ), touched as (
      update scim_groups g set version = version + 1, modified_at = now() from gone where g.group_id = gone.group_id
    )
    select group_id from gone order by group_id`;
}
