import { sql } from '@baton/kernel/database/sql';
import type { ExternalIdentityRow } from './external-identity.ts';

/** An active `read_only` provider with this issuer: its people are linked only when they sign in. */
export function findReadOnlyProvider(tenantId: string, issuer: string) {
  return sql<{ id: string }>`
    select id from identity_providers
    where tenant_id = ${tenantId} and issuer = rtrim(${issuer}, '/') and status = 'active'
      and lifecycle_profile = 'read_only'`;
}

/**
 * A provider of the tenant with this issuer through which somebody signs in, whose keys are not uploaded, unless another
 * tenant has a provider with the issuer.
 */
export function findOwnIssuer(tenantId: string, issuer: string) {
  return sql<{ id: string }>`
    select id from identity_providers own
    where tenant_id = ${tenantId} and issuer = rtrim(${issuer}, '/') and principal_kind <> 'none' and key_set is null
      and not exists (
        select from identity_providers other where other.issuer = own.issuer and other.tenant_id <> own.tenant_id)`;
}

/** Returns no row if issuer and subject are linked already; waits for a transaction that is linking them. */
export function insertExternalIdentity(identity: {
  id: string;
  tenantId: string;
  principalId: string;
  issuer: string;
  subject: string;
}) {
  return sql<ExternalIdentityRow>`
    insert into external_identities (id, tenant_id, principal_id, issuer, subject, source)
    values (${identity.id}, ${identity.tenantId}, ${identity.principalId}, ${identity.issuer}, ${identity.subject},
      'manual')
    on conflict (rtrim(issuer, '/'), subject) do nothing
    returning id, principal_id, issuer, subject, status, created_at`;
}

export function findExternalIdentity(principalId: string, externalIdentityId: string) {
  return sql<Pick<ExternalIdentityRow, 'id'>>`
    select id from external_identities where id = ${externalIdentityId} and principal_id = ${principalId}`;
}
