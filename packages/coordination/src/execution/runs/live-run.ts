import { type PresentedClaim, passClaimGate } from '../../leases/gate.ts';
import type { Context } from '../context.ts';
import { fail } from '../errors.ts';
import { lockTaskOfRun, type TaskOfRunRow } from './end-run.sql.ts';
import { type LiveRunRow, lockLiveRun } from './live-run.sql.ts';
import { getRun } from './runs.ts';

export type { LiveRunRow };

/** The claim that a request body presents. */
export interface ShownClaim {
  claimId: string;
  fencingToken: number;
}

/** The refusals, in the order of the checks, that an operation with `requireLiveRun` declares. */
export const liveRunErrors = ['not_found', 'run_not_active', 'run_holder_mismatch', 'stale_claim'] as const;

/**
 * How often the locking statement is tried: it may fail for a reason that no longer exists when the reason is looked
 * up. The lookup locks the task, so the only obstacle that can still appear before the next attempt is the end of the
 * delegation.
 */
const attemptsMax = 3;

/**
 * Restricts a write to the run's principal, while the run is running and its claim live, and locks session, task and
 * run for the rest of the command (docs/reference/runs.md#live-run). The command must not have written anything before
 * this call: one of the refusals commits the transaction, with the writes of the claim gate.
 * @param presented the claim that the writer presents, if the operation accepts one; otherwise the run's own claim
 * @returns the run as read under its lock
 * @throws Refusal in the documented order: `not_found`, `run_not_active`, `run_holder_mismatch`, those of the claim
 * gate
 */
export async function requireLiveRun(
  context: Context,
  runId: string,
  presented?: ShownClaim,
): Promise<LiveRunRow> {
  const { db, tenantId, caller } = context;
  for (let attempt = 1; attempt <= attemptsMax; attempt += 1) {
    const run = await db.row(lockLiveRun({ tenantId, runId, principalId: caller.principalId }));
    if (run !== undefined && isOwnClaim(run, presented)) return run;
    await explainDeadRun(context, runId, presented);
  }
  throw new Error('a write to a run was refused without an obstacle');
}

function isOwnClaim(run: LiveRunRow, presented: ShownClaim | undefined): boolean {
  if (presented === undefined) return true;
  return presented.claimId === run.claim_id && presented.fencingToken === run.fencing_token;
}

async function explainDeadRun(
  context: Context,
  runId: string,
  presented: ShownClaim | undefined,
): Promise<void> {
  const task = (await context.db.row(lockTaskOfRun(context.tenantId, runId))) ?? fail('not_found');
  requireOwnRunningRun(context, runId, task);
  const own = { claimId: task.run_claim_id, fencingToken: task.run_fencing_token };
  await passRunGate(context, runId, task, presented ?? own);
  // The task's claim is live and belongs to the caller, but the run belongs to an earlier claim.
  if (task.run_claim_id !== task.active_claim_id) fail('stale_claim', { claimId: task.run_claim_id });
}

/** @throws Refusal `run_not_active`, `run_holder_mismatch` */
export function requireOwnRunningRun(context: Context, runId: string, task: TaskOfRunRow): void {
  if (task.run_status !== 'running') fail('run_not_active', { runId, status: task.run_status });
  if (task.run_principal_id !== context.caller.principalId) fail('run_holder_mismatch', { runId });
}

/** The claim gate. A run that ended while this command waited for the task is still refused with `run_not_active`. */
export async function passRunGate(
  context: Context,
  runId: string,
  task: TaskOfRunRow,
  presented: PresentedClaim,
) {
  try {
    return await passClaimGate(context, task.id, presented, { claimRequired: true });
  } catch (refusal) {
    await requireRunning(context, runId);
    throw refusal;
  }
}

/** @throws Refusal `not_found`, `run_not_active` */
export async function requireRunning(context: Context, runId: string): Promise<void> {
  const { status } = await getRun(context, runId);
  if (status !== 'running') fail('run_not_active', { runId, status });
}
