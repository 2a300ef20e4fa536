import type { Db } from '@baton/kernel/db';
import { sql } from '@baton/kernel/sql';

/**
 * Locks the caller's row (shared) for the rest of the command, so that a disable either waits for the command or is
 * seen by it.
 * @returns whether the principal is active
 */
export async function lockActivePrincipal(
  tx: Db,
  caller: { tenantId: string; principalId: string },
): Promise<boolean> {
  const principal = await tx.row<{ status: string }>(sql`
    select status from principals where id = ${caller.principalId} and tenant_id = ${caller.tenantId} for share`);
  return principal?.status === 'active';
}
