import { sql } from '@baton/kernel/database/sql';

/** A credential that is still valid. */
export interface LiveCredentialRow {
  /** The id of a key; null for a binding, which has none. */
  key_prefix: string | null;
  /** Its current permissions. */
  permissions: string[];
}

/** Returns no row if the credential was revoked or has expired. */
export function findLiveCredential(tenantId: string, principalId: string, credentialId: string) {
  return sql<LiveCredentialRow>`
    select null as key_prefix, permissions from iam_bindings
    where id = ${credentialId} and principal_id = ${principalId} and tenant_id = ${tenantId} and status = 'active'
    union all
    select key_prefix, permissions from api_keys
    where id = ${credentialId} and principal_id = ${principalId} and tenant_id = ${tenantId} and revoked_at is null
      and (expires_at is null or expires_at > clock_timestamp())`;
}
