import { sql } from '@baton/kernel/database/sql';

/** The permissions of a binding or a key, before any narrowing. */
export function findCredentialPermissions(tenantId: string, credentialId: string) {
  return sql<{ permissions: string[] }>`
    select permissions from iam_bindings where id = ${credentialId} and tenant_id = ${tenantId}
    union all
    select permissions from api_keys where id = ${credentialId} and tenant_id = ${tenantId}`;
}
