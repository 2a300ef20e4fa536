import { sql } from '@baton/kernel/sql';
import type { JsonObject } from '@baton/kernel/wire';

export interface UserRow {
  id: string;
  principal_id: string;
  external_identity_id: string;
  user_name: string;
  external_id: string | null;
  display_name: string | null;
  active: boolean;
  document: JsonObject;
  version: number;
  created_at: string;
  modified_at: string;
}

export const userColumns =
  'r.id, r.principal_id, r.external_identity_id, r.user_name, r.external_id, r.display_name, r.active, r.document, r.version, r.created_at, r.modified_at';

/** What of a user is stored: its columns and the rest. */
export interface UserContent {
  userName: string;
  externalId: string | null;
  displayName: string | null;
  active: boolean;
  document: JsonObject;
}

export function insertUser(
  user: { id: string; sourceId: string; tenantId: string; principalId: string; identityId: string },
  content: UserContent,
) {
  return sql<UserRow>`
    insert into scim_users (id, provisioning_source_id, tenant_id, principal_id, external_identity_id, user_name,
      external_id, display_name, active, document)
    values (${user.id}, ${user.sourceId}, ${user.tenantId}, ${user.principalId}, ${user.identityId},
      ${content.userName}, ${content.externalId}, ${content.displayName}, ${content.active},
      ${JSON.stringify(content.document)})
    returning id, principal_id, external_identity_id, user_name, external_id, display_name, active, document, version,
      created_at, modified_at`;
}

export function updateUser(id: string, content: UserContent) {
  return sql<UserRow>`
    update scim_users set user_name = ${content.userName}, external_id = ${content.externalId},
      display_name = ${content.displayName}, active = ${content.active},
      document = ${JSON.stringify(content.document)}, version = version + 1, modified_at = now()
    where id = ${id}
    returning id, principal_id, external_identity_id, user_name, external_id, display_name, active, document, version,
      created_at, modified_at`;
}

export function findUser(sourceId: string, id: string) {
  return sql<UserRow>`
    select id, principal_id, external_identity_id, user_name, external_id, display_name, active, document, version,
      created_at, modified_at
    from scim_users where id = ${id} and provisioning_source_id = ${sourceId}`;
}

/** For a change or the end of the user; a group that takes it as a member at the same moment waits. */
export function lockUser(sourceId: string, id: string) {
  return sql<UserRow>`
    select id, principal_id, external_identity_id, user_name, external_id, display_name, active, document, version,
      created_at, modified_at
    from scim_users where id = ${id} and provisioning_source_id = ${sourceId}
    for update`;
}

export function deleteUser(id: string) {
  return sql<{ upstream_id: string | null }>`delete from scim_users where id = ${id} returning upstream_id`;
}

/** The groups of many users at once. */
export function findGroupsOf(sourceId: string, principalIds: readonly string[]) {
  return sql<{ principal_id: string; id: string; display_name: string }>`
    select m.principal_id, g.id, g.display_name
    from group_members m
    join scim_groups g on g.group_id = m.group_id and g.provisioning_source_id = ${sourceId}
    where m.principal_id = any (${principalIds}::uuid[])
    order by g.created_at, g.id`;
}

/** Takes a principal out of every group that the source keeps. */
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

/** An identity of the provider that has this external id already: from a sign-in, or from a user that was deleted. */
export function findIdentity(providerId: string, externalId: string) {
  return sql<{ id: string; principal_id: string }>`
    select id, principal_id from external_identities
    where identity_provider_id = ${providerId} and external_id = ${externalId}`;
}

/** The same once its person is held; no row when it has got another external id meanwhile. */
export function lockIdentity(identityId: string, externalId: string) {
  return sql<{ is_taken: boolean }>`
    select exists (select 1 from scim_users u where u.external_identity_id = e.id) as is_taken
    from external_identities e where e.id = ${identityId} and e.external_id = ${externalId}
    for no key update of e`;
}

/** No row when somebody else links this person first: it waits until that is decided. */
export function insertIdentity(identity: {
  id: string;
  tenantId: string;
  principalId: string;
  issuer: string;
  subject: string;
  providerId: string;
  externalId: string;
}) {
  return sql`
    insert into external_identities (id, tenant_id, principal_id, issuer, subject, source, identity_provider_id,
      external_id)
    values (${identity.id}, ${identity.tenantId}, ${identity.principalId}, ${identity.issuer}, ${identity.subject},
      'provisioned', ${identity.providerId}, ${identity.externalId})
    on conflict do nothing`;
}

/** A principal that was made in this transaction and got no identity. */
export function deleteUnlinkedPerson(principalId: string) {
  return sql`
    with gone as (delete from memberships where principal_id = ${principalId})
    delete from principals where id = ${principalId}`;
}

/** The external id, and with it the subject as long as no sign-in has brought the real one. */
export function updateIdentity(identityId: string, externalId: string, placeholder: string) {
  return sql`
    update external_identities set external_id = ${externalId},
      subject = case when starts_with(subject, 'urn:iam:scim:') then ${placeholder} else subject end
    where id = ${identityId}`;
}

export function setIdentityStatus(identityId: string, status: 'active' | 'disabled') {
  return sql`update external_identities set status = ${status} where id = ${identityId} and status <> ${status}`;
}

/** Also where the membership was lost; the person is visible in the tenant again. */
export function restoreMembership(tenantId: string, principalId: string) {
  return sql`
    insert into memberships (tenant_id, principal_id) values (${tenantId}, ${principalId})
    on conflict (tenant_id, principal_id) do update set status = 'active' where memberships.status <> 'active'`;
}

export function renamePrincipal(principalId: string, displayName: string) {
  return sql`
    update principals set display_name = ${displayName} where id = ${principalId} and display_name <> ${displayName}`;
}
