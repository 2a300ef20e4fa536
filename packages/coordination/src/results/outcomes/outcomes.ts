import { getApprovalRow } from '../approvals/approvals.ts';
import { credentialOfDecider, requirePersonWhoDecides } from '../approvals/deciders.ts';
import type { Context } from '../context.ts';
import { fail } from '../errors.ts';
import { type ApprovalOutcome, outcomeOf } from './outcome.ts';
import { findOutcome, lockOutcome, updateOutcomeToReplay } from './outcomes.sql.ts';

/** The outcome of an approval. @throws Refusal `not_found` */
export async function getOutcome(context: Context, approvalId: string): Promise<ApprovalOutcome> {
  await getApprovalRow(context, approvalId);
  return outcomeOf(approvalId, await context.db.row(findOutcome(context.tenantId, approvalId)));
}

/**
 * Retries an outcome that failed or is stuck, without repeating completed actions. Only for the decider, whose current
 * credential is then used, or an administrator.
 * @throws Refusal `permission_denied`, `not_found`, `outcome_not_replayable`, `not_eligible`
 */
export async function replayOutcome(context: Context, approvalId: string): Promise<ApprovalOutcome> {
  const { db, tenantId, caller } = context;
  requirePersonWhoDecides(caller);
  await getApprovalRow(context, approvalId);
  const outcome = await db.row(lockOutcome(tenantId, approvalId));
  const outcomeStatus = outcome?.outcome_status ?? null;
  const isStuck =
    outcomeStatus === 'pending' && outcome !== undefined && (outcome.attempts > 0 || outcome.is_overdue);
  if (outcome === undefined || !(outcomeStatus === 'failed' || isStuck))
    return fail('outcome_not_replayable', { approvalId, outcomeStatus });
  const isDecider = outcome.decision_by_principal_id === caller.principalId;
  if (!isDecider && !caller.permissions.has('admin')) fail('not_eligible', { approvalId });
  const credential = isDecider ? credentialOfDecider(caller) : outcome.credential;
  await db.run(updateOutcomeToReplay(tenantId, approvalId, credential));
  return getOutcome(context, approvalId);
}
