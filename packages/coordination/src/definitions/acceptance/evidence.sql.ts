import { sql } from '@baton/kernel/sql';

/** Those of the ids that are artifacts of the tenant. */
export function findArtifactIds(tenantId: string, ids: readonly string[]) {
  return sql<{
    id: string;
  }>`select id from artifacts where id = any (${ids}::uuid[]) and tenant_id = ${tenantId}`;
}
