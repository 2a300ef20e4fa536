import type { RowOf } from '@baton/kernel/database/row';
import { sql } from '@baton/kernel/database/sql';
import type { Tables } from '../../service/schema.ts';

export type LockedPrincipalRow = Pick<RowOf<Tables['principals']>, 'id' | 'kind' | 'status' | 'agent_id'>;

/**
 * Locks a principal for the rest of the command, shared with its other commands. A disable takes the lock exclusively:
 * it waits for earlier commands and is visible to later ones, because advisory locks are granted in the order of the
 * requests. The status is read after the wait; the kind never changes.
 */
export function lockPrincipalShared(tenantId: string, principalId: string) {
  return sql<LockedPrincipalRow>`
    select id, kind, agent_id, enter_principal(id, tenant_id) as status from principals
    where id = ${principalId} and tenant_id = ${tenantId}`;
}
