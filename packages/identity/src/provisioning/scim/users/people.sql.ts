import { sql } from '@baton/kernel/database/sql';

/** Statements over the principal, the membership and the external identity of a SCIM user. */

/** The provider's identity with this external id; a sign-in created it, or a deleted user left it behind. */
export function findIdentity(providerId: string, externalId: string) {
  return sql<{ id: string; principal_id: string }>`
    select id, principal_id from external_identities
    where identity_provider_id = ${providerId} and external_id = ${externalId}`;
}

/**
 * Locks that identity; call it with the identity's principal locked. Returns no row if its external id has changed
 * since.
 */
export function lockIdentity(identityId: string, externalId: string) {
  return sql<{ is_taken: boolean }>`
    select exists (select 1 from scim_users u where u.external_identity_id = e.id) as is_taken
    from external_identities e where e.id = ${identityId} and e.external_id = ${externalId}
    for no key update of e`;
}

/** Waits for a concurrent transaction that links the same person; inserts nothing if that transaction has linked it. */
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

/** Deletes a principal that was created in this transaction and got no identity. */
export function deleteNewPrincipal(principalId: string) {
  return sql`
    with gone as (delete from memberships where principal_id = ${principalId})
    delete from principals where id = ${principalId}`;
}

/** Sets the external id, and also the subject while it is a placeholder: a sign-in provides the real one. */
export function updateIdentity(identityId: string, externalId: string, placeholder: string) {
  return sql`
    update external_identities set external_id = ${externalId},
      subject = case when starts_with(subject, 'urn:iam:scim:') then ${placeholder} else subject end
    where id = ${identityId}`;
}

export function updateIdentityStatus(identityId: string, status: 'active' | 'disabled') {
  return sql`update external_identities set status = ${status} where id = ${identityId} and status <> ${status}`;
}

/** Makes the person a member of the tenant again, if the membership was removed or disabled. */
export function upsertMembership(tenantId: string, principalId: string) {
  return sql`
    insert into memberships (tenant_id, principal_id) values (${tenantId}, ${principalId})
    on conflict (tenant_id, principal_id) do update set status = 'active' where memberships.status <> 'active'`;
}

export function updatePrincipalName(principalId: string, displayName: string) {
  return sql`
    update principals set display_name = ${displayName} where id = ${principalId} and display_name <> ${displayName}`;
}
