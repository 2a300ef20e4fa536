import { sql } from '@baton/kernel/database/sql';

/** Returns those of the keys that belong to artifact types of the tenant. */
export function findArtifactTypeKeys(tenantId: string, keys: readonly string[]) {
  return sql<{ key: string }>`
    select distinct key from artifact_types where tenant_id = ${tenantId} and key = any (${keys})`;
}
