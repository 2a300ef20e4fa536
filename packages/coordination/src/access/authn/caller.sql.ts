import { sql } from '@baton/kernel/sql';

export interface LockedPrincipalRow {
  id: string;
  kind: 'human' | 'agent' | 'service';
  status: 'active' | 'paused' | 'disabled';
}

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
