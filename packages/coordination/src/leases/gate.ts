import type { Context } from './context.ts';
import { endUndelegatedSession } from './end-session.ts';
import { fail } from './errors.ts';
import { findGate, type GateRow } from './gate.sql.ts';
import type { ClaimRow } from './lease-rows.ts';
import { claimReleased, sessionClosed } from './leases.events.ts';

/** The claim that a writer presents. */
export interface PresentedClaim {
  claimId?: string | undefined;
  fencingToken?: number | undefined;
}

/**
 * Events that an endpoint behind the gate may write when it refuses: a session whose delegation has ended is closed.
 */
export const claimGateEvents = [claimReleased, sessionClosed];

/**
 * Accepts a write only from the holder of the task's live claim, with its id and current fencing token, or on a task
 * without a claim. The task must be locked, and the caller must not have written anything: one refusal commits what
 * this function writes. See docs/reference/claims.md#claim-gate.
 * @param options.claimRequired whether a task without a claim is also refused
 * @returns the live claim; undefined if the task has none
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
 * The claim that currently protects a task; undefined if there is none. Callers that rely on it must lock the task
 * first. Read-only.
 */
export async function findLiveClaim(
  { db, tenantId }: Context,
  taskId: string,
): Promise<ClaimRow | undefined> {
  const gate = await db.row(findGate(tenantId, taskId));
  return gate === undefined || gate.id === null || gate.delegation_over ? undefined : gate;
}
