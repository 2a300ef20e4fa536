import type { Context } from '../context.ts';
import { fail } from '../errors.ts';
import { findClaimCheck } from './check-claim.sql.ts';
import type { ClaimCheck } from './claim.ts';

/**
 * Checks whether a claim and its fencing token currently protect the task (docs/reference/claims.md#check). Read-only.
 * @throws Refusal `not_found`
 */
export async function checkClaim(
  { db, tenantId }: Context,
  claimId: string,
  fencingToken: number,
): Promise<ClaimCheck> {
  const row = (await db.row(findClaimCheck(tenantId, claimId, fencingToken))) ?? fail('not_found');
  const { reason, task_id: taskId, holder_id: holderId, expires_at: expiresAt } = row;
  return { live: reason === 'live', reason, taskId, holderId, expiresAt };
}
