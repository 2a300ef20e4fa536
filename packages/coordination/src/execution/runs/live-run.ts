import { type PresentedClaim, passClaimGate } from '../../leases/gate.ts';
import type { Context } from '../context.ts';
import { fail } from '../errors.ts';
import { lockTaskOfRun, type TaskOfRunRow } from './finishing.sql.ts';
import { type LiveRunRow, lockLiveRun } from './live-run.sql.ts';
import { getRun } from './runs.ts';

export type { LiveRunRow };

/** The claim that a writer shows in the body of a call. */
export interface ShownClaim {
  claimId: string;
  fencingToken: number;
}

/** What a call behind `requireLiveRun` declares: its refusals in their order. */
export const liveRunErrors = ['not_found', 'run_not_active', 'run_holder_mismatch', 'stale_claim'] as const;

/** Between the statement that locks and the reads that explain, an obstacle can go away; a delegation alone can come. */
const attemptsMax = 3;

/**
 * Lets a write under a run pass only from the run's principal, while the run is running and its claim live, and locks
 * session, task and run for the rest of the command (core, sections 8.6 and 10: checkpoints, actions, suspend, handoff,
 * control messages, child handles). Nothing may be written before: one refusal keeps what the claim gate writes.
 * @param presented the claim that the writer shows, where the call takes one; without it, the run's own counts
 * @returns the run as it is under its lock
 * @throws Refusal in the contract's order: `not_found`, `run_not_active`, `run_holder_mismatch`, those of the claim gate
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
  throw new Error('a write under a run was refused although nothing stood in its way');
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
  // The task's claim is live and the caller's, but the run is of an earlier one.
  if (task.run_claim_id !== task.active_claim_id) fail('stale_claim', { claimId: task.run_claim_id });
}

/** @throws Refusal `run_not_active`, `run_holder_mismatch` */
export function requireOwnRunningRun(context: Context, runId: string, task: TaskOfRunRow): void {
  if (task.run_status !== 'running') fail('run_not_active', { runId, status: task.run_status });
  if (task.run_principal_id !== context.caller.principalId) fail('run_holder_mismatch', { runId });
}

/** The claim gate; a run that ended while this waited for the task is refused with `run_not_active` all the same. */
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
