import { sql } from '@baton/kernel/database/sql';

/** Filters the keys to artifact types of the tenant. */
export function findArtifactTypeKeys(tenantId: string, keys: readonly string[]) {
  return sql<{ key: string }>`
    select distinct key from artifact_types where tenant_id = ${tenantId} and key = any (${keys})`;
}
