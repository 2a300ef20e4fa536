import { sql } from '@baton/kernel/sql';

/** The prefix of the key that is still good; a binding has none. No row when the credential was closed or is over. */
export function findLiveCredential(tenantId: string, principalId: string, credentialId: string) {
  return sql<{ key_prefix: string | null }>`
    select null as key_prefix from iam_bindings
    where id = ${credentialId} and principal_id = ${principalId} and tenant_id = ${tenantId} and status = 'active'
    union all
    select key_prefix from api_keys
    where id = ${credentialId} and principal_id = ${principalId} and tenant_id = ${tenantId} and revoked_at is null
      and (expires_at is null or expires_at > clock_timestamp())`;
}
