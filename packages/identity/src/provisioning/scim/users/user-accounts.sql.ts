import { sql } from '@baton/kernel/database/sql';

/** The id of a user's account in the upstream directory, and the number of times that the account was restored. */
export function findUpstreamAccount(userId: string) {
  return sql<{ upstream_id: string | null; upstream_restores: number }>`
    select upstream_id, upstream_restores from scim_users where id = ${userId}`;
}

/** Whether the user with this account is active in the directory. Returns no row if there is no such user. */
export function findActiveByUpstreamId(sourceId: string, upstreamId: string) {
  return sql<{ active: boolean }>`
    select active or suspended as active
    from scim_users where provisioning_source_id = ${sourceId} and upstream_id = ${upstreamId}`;
}

/** Counts a restoration of the account. Returns the same columns as `findActiveByUpstreamId`. */
export function countUpstreamRestore(sourceId: string, upstreamId: string) {
  return sql<{ active: boolean }>`
    update scim_users set upstream_restores = upstream_restores + 1
    where provisioning_source_id = ${sourceId} and upstream_id = ${upstreamId}
    returning active or suspended as active`;
}

/**
 * Stores the account of a new user. The user's identity gets the account's id as its subject, unless a sign-in has
 * already provided the real subject, or another identity of the issuer has that id.
 */
export function updateUpstreamId(userId: string, upstreamId: string) {
  return sql`
    with linked as (
      update scim_users set upstream_id = ${upstreamId} where id = ${userId} returning external_identity_id
    )
    update external_identities e set subject = ${upstreamId}
    from linked
    where e.id = linked.external_identity_id and starts_with(e.subject, 'urn:iam:scim:')
      and not exists (select 1 from external_identities o where o.issuer = e.issuer and o.subject = ${upstreamId})`;
}

/** Whether another user of the source has the name or the external id. */
export function findDuplicate(
  sourceId: string,
  { userName, externalId }: { userName: string; externalId: string | null },
  exceptId: string | null,
) {
  return sql<{ is_taken: boolean }>`
    select exists (
      select 1 from scim_users where provisioning_source_id = ${sourceId}
        and lower(user_name) collate "C" = lower(${userName}) collate "C" and id is distinct from ${exceptId}
    ) or exists (
      select 1 from scim_users where provisioning_source_id = ${sourceId}
        and external_id collate "C" = ${externalId} collate "C" and id is distinct from ${exceptId}
    ) as is_taken`;
}
