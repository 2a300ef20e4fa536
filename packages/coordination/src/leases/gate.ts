import type { Context } from './context.ts';
import { fail } from './errors.ts';
import { findGate, type GateRow } from './gate.sql.ts';
import type { ClaimRow } from './lease-rows.ts';
import { claimReleased, sessionClosed } from './leases.events.ts';
import { endUndelegatedSession } from './session-ending.ts';

/** What a writer shows to prove that the task is theirs. */
export interface PresentedClaim {
  claimId?: string | undefined;
  fencingToken?: number | undefined;
}

/** What an endpoint behind the gate may write when it refuses: the end of a session whose delegation is over. */
export const claimGateEvents = [claimReleased, sessionClosed];

/**
 * Lets a write pass only from the holder of the task's live claim, by its id and its current fencing token, or on a task
 * that nobody holds (core, section 8.6). The task must be locked, and nothing may be written before: one refusal keeps
 * what this writes.
 * @param options.claimRequired whether a task that nobody holds is refused too
 * @returns the live claim, or undefined on a task that nobody holds
 * @throws Refusal `stale_claim`, `task_claimed`, `claim_holder_mismatch`
 */
export async function passClaimGate(
  context: Context,
  taskId: string,
  { claimId, fencingToken }: PresentedClaim,
  options: { claimRequired: boolean },
): Promise<ClaimRow | undefined> {
  const gate = (await context.db.row(findGate(context.tenantId, taskId))) as GateRow;
  if (gate.id === null) {
    if (claimId === undefined && !options.claimRequired) return undefined;
    return fail('stale_claim', { claimId: claimId ?? null });
  }
  const { id, claim_epoch: currentClaimEpoch } = gate;
  if (claimId === undefined) return fail('task_claimed', { taskId, claimId: id, expiresAt: gate.expires_at });
  if (claimId !== id || fencingToken !== gate.fencing_token || fencingToken !== currentClaimEpoch)
    fail('stale_claim', { claimId, presentedFencingToken: fencingToken ?? null, currentClaimEpoch });
  if (gate.holder_id !== context.caller.principalId) fail('claim_holder_mismatch', { claimId });
  if (gate.delegation_over) {
    await endUndelegatedSession(context, gate.session_id);
    fail('stale_claim', { claimId }, { commits: true });
  }
  return gate;
}

/**
 * The claim that protects a task now; undefined when nobody holds it. Whoever needs that it stays so has locked the task.
 * It writes nothing.
 */
export async function findLiveClaim(
  { db, tenantId }: Context,
  taskId: string,
): Promise<ClaimRow | undefined> {
  const gate = await db.row(findGate(tenantId, taskId));
  return gate === undefined || gate.id === null || gate.delegation_over ? undefined : gate;
}
