import type { RowOf } from '@baton/kernel/database/row';
import { sql } from '@baton/kernel/database/sql';
import type { Tables } from '../../service/schema.ts';

/** An external identity that has the subject or the external id of a token. */
export type LinkRow = Pick<
  RowOf<Tables['external_identities']>,
  'id' | 'principal_id' | 'subject' | 'external_id' | 'status' | 'identity_provider_id'
> & { has_subject: boolean; has_external_id: boolean };

/** The claims of a token about a person, and the provider that issued it. */
export interface LinkClaims {
  providerId: string;
  issuer: string;
  subject: string;
  externalId: string;
}

/** Searches by issuer and subject in all tenants, and by external id at the provider: at most two rows. */
export function findLinks({ providerId, issuer, subject, externalId }: LinkClaims) {
  return sql<{ principal_id: string }>`
    select principal_id from external_identities
    where (rtrim(issuer, '/') = ${issuer} and subject = ${subject})
      or (identity_provider_id = ${providerId} and external_id = ${externalId} and external_id <> '')
    order by id`;
}

export function lockLinks({ providerId, issuer, subject, externalId }: LinkClaims) {
  return sql<LinkRow>`
    select id, principal_id, subject, external_id, status, identity_provider_id,
      rtrim(issuer, '/') = ${issuer} and subject = ${subject} as has_subject,
      coalesce(identity_provider_id = ${providerId} and external_id = ${externalId}, false) as has_external_id
    from external_identities
    where (rtrim(issuer, '/') = ${issuer} and subject = ${subject})
      or (identity_provider_id = ${providerId} and external_id = ${externalId} and external_id <> '')
    order by id
    for no key update`;
}

/** Like `lockLinks`, but without a lock. */
export function readLinks({ providerId, issuer, subject, externalId }: LinkClaims) {
  return sql<Omit<LinkRow, 'has_subject' | 'has_external_id'>>`
    select id, principal_id, subject, external_id, status, identity_provider_id
    from external_identities
    where (rtrim(issuer, '/') = ${issuer} and subject = ${subject})
      or (identity_provider_id = ${providerId} and external_id = ${externalId} and external_id <> '')
    order by id`;
}

export type PersonRow = Pick<RowOf<Tables['principals']>, 'id' | 'kind' | 'status'> & { is_member: boolean };

/**
 * Finds links of any status and tenant. The lock makes a later disable wait; the status is read after waiting for an
 * earlier one.
 */
export function enterPeople(tenantId: string, principalIds: readonly string[]) {
  return sql<PersonRow>`
    select p.id, p.kind, enter_principal(p.id) as status, exists (
      select from memberships m
      where m.tenant_id = ${tenantId} and m.principal_id = p.id and m.status = 'active') as is_member
    from (select * from principals where id = any (${principalIds}::uuid[]) order by id) p`;
}

/** Like `enterPeople`, but for one person and without a lock. */
export function findPerson(tenantId: string, principalId: string) {
  return sql<PersonRow>`
    select p.id, p.kind, p.status, exists (
      select from memberships m
      where m.tenant_id = ${tenantId} and m.principal_id = p.id and m.status = 'active') as is_member
    from principals p where p.id = ${principalId}`;
}

/** Whether an administrator has refused the identity for a period that hasn't ended. */
export function findRefusal(tenantId: string, { issuer, subject }: Pick<LinkClaims, 'issuer' | 'subject'>) {
  return sql<{ id: string }>`
    select id from sign_in_requests
    where tenant_id = ${tenantId} and issuer = ${issuer} and subject = ${subject} and status = 'refused'
      and expires_at > clock_timestamp()`;
}

/** Deletes the request of a person who has been created in the meantime. */
export function deletePendingRequest(
  tenantId: string,
  { issuer, subject }: Pick<LinkClaims, 'issuer' | 'subject'>,
) {
  return sql`
    delete from sign_in_requests
    where tenant_id = ${tenantId} and issuer = ${issuer} and subject = ${subject} and status = 'pending'`;
}

/** Violates a unique index when a concurrent transaction creates the same link; the sign-in is then retried. */
export function insertLink(
  link: LinkClaims & { id: string; tenantId: string; principalId: string; acr: string | null },
) {
  return sql`
    insert into external_identities (id, tenant_id, principal_id, issuer, subject, source, identity_provider_id,
      external_id, last_sign_in_at, last_acr)
    values (${link.id}, ${link.tenantId}, ${link.principalId}, ${link.issuer}, ${link.subject}, 'federated',
      ${link.providerId}, ${link.externalId}, now(), ${link.acr})`;
}

/**
 * Stores a sign-in. An identity without a provider gets this one, an empty external id is filled in, and the subject is
 * set to that of the token.
 */
export function updateLink(id: string, { providerId, subject, externalId }: LinkClaims, acr: string | null) {
  return sql`
    update external_identities set
      identity_provider_id = coalesce(identity_provider_id, ${providerId}),
      source = case when identity_provider_id is null then 'federated' else source end,
      external_id = case
        when external_id = '' and coalesce(identity_provider_id, ${providerId}) = ${providerId} then ${externalId}
        else external_id
      end,
      subject = ${subject}, last_sign_in_at = now(), last_acr = ${acr}
    where id = ${id}`;
}
