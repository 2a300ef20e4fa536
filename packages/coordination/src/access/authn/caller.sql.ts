import type { RowOf } from '@baton/kernel/database/row';
import { sql } from '@baton/kernel/database/sql';
import type { Tables } from '../../service/schema.ts';

export type LockedPrincipalRow = Pick<RowOf<Tables['principals']>, 'id' | 'kind' | 'status' | 'agent_id'>;

/**
 * Locks a principal for the rest of the command, shared with its other commands. A disable takes the same lock alone, so
 * it waits for them all, or they see it; it waits for those before it only, because these locks are handed out in the
 * order of asking. The status is read after that wait, the kind never changes.
 */
export function lockPrincipalShared(tenantId: string, principalId: string) {
  return sql<LockedPrincipalRow>`
    select id, kind, agent_id, enter_principal(id, tenant_id) as status from principals
    where id = ${principalId} and tenant_id = ${tenantId}`;
}
