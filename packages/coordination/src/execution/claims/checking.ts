import type { Context } from '../context.ts';
import { fail } from '../errors.ts';
import { findClaimCheck } from './checking.sql.ts';
import type { ClaimCheck } from './claim.ts';

/**
 * Whether a claim, shown with its fencing token, protects its task now (core, section 25). It changes nothing.
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
