import type { RowOf } from '@baton/kernel/row';
import { sql } from '@baton/kernel/sql';
import type { Tables } from '../../service/schema.ts';

export type LockedPrincipalRow = Pick<RowOf<Tables['principals']>, 'id' | 'kind' | 'status'>;

/**
 * Locks a principal's row for the rest of the command. `key share` is the lock that every row which names the principal
 * takes anyway: commands of one principal don't wait for each other, nor for a changed display name. A disable takes
 * `for update`, so it waits for them all, or they see it.
 */
export function lockPrincipalShared(tenantId: string, principalId: string) {
  return sql<LockedPrincipalRow>`
    select id, kind, status from principals
    where id = ${principalId} and tenant_id = ${tenantId}
    for key share`;
}
