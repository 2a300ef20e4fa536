import { sql } from '@baton/kernel/database/sql';

/** A credential that is still good. */
export interface LiveCredentialRow {
  /** Of a key; a binding has none. */
  key_prefix: string | null;
  /** What it gives now. */
  permissions: string[];
}

/** No row when the credential was closed or is over. */
export function findLiveCredential(tenantId: string, principalId: string, credentialId: string) {
  return sql<LiveCredentialRow>`
    select null as key_prefix, permissions from iam_bindings
    where id = ${credentialId} and principal_id = ${principalId} and tenant_id = ${tenantId} and status = 'active'
    union all
    select key_prefix, permissions from api_keys
    where id = ${credentialId} and principal_id = ${principalId} and tenant_id = ${tenantId} and revoked_at is null
      and (expires_at is null or expires_at > clock_timestamp())`;
}
