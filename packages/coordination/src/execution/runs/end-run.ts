import { Refusal } from '@baton/kernel/http/refusal';
import { eventText } from '@baton/values/event-text';
import type { JsonObject } from '@baton/values/wire';
import { rulesOf } from '../../definitions/task-types/type-rules.ts';
import { type ChildResult, childResultOf, recordChildResults } from '../../leases/children/child-results.ts';
import { noteFailed } from '../../leases/fail-runs.ts';
import { passClaimGate } from '../../leases/gate.ts';
import type { ClaimRow, EndedRunRow } from '../../leases/lease-rows.ts';
import { emit } from '../../ledger/journal/journal.ts';
import { checkDocument } from '../../service/documents.ts';
import { holds } from '../../service/permissions.ts';
import {
  completeLockedTask,
  needsVerification,
  requireCompletable,
} from '../../work/completion/completion.ts';
import { requireAddressee } from '../../work/tasks/addressees/addressees.ts';
import { taskOf } from '../../work/tasks/task.ts';
import type { Context } from '../context.ts';
import { fail } from '../errors.ts';
import { countFailure, countSuccess } from '../retries/retries.ts';
import { lockTaskOfRun, type TaskOfRunRow, updateRunToEnded } from './end-run.sql.ts';
import { requireOwnRunningRun, requireRunning } from './live-run.ts';
import { type Run, runOf, type SucceededRun } from './run.ts';
import { runCancelled, runSucceeded } from './runs.events.ts';
import { getRun } from './runs.ts';

/**
 * Ends a run as succeeded and, unless `completeTask` is false, completes its task or starts its verification
 * (docs/reference/runs.md#succeed). Requires the run's live claim.
 * @throws Refusal `not_found`, `run_not_active`, `run_holder_mismatch`, `task_already_completed`, `task_cancelled`,
 * `approval_required`, `stale_claim`, `not_eligible`, those of `childResultOf`, `custom_fields_invalid`,
 * `invalid_transition`
 */
export async function succeedRun(
  context: Context,
  runId: string,
  request: { output?: JsonObject | null | undefined; completeTask: boolean },
): Promise<SucceededRun> {
  checkOutput(request.output);
  const locked = (await context.db.row(lockTaskOfRun(context.tenantId, runId))) ?? fail('not_found');
  requireOwnRunningRun(context, runId, locked);
  const liveClaim = await requireWritable(context, runId, locked, request.completeTask);
  const rules = await rulesOf(context, locked.type_id);
  const childResult =
    locked.run_child_handle_id === null ? undefined : await childResultOf(context, request.output);
  const run = await end(context, runId, 'succeeded', { output: request.output });
  const task = await countSuccess(context, locked);
  emit(
    context,
    runSucceeded,
    { entityId: runId, workspaceId: run.workspace_id, sessionId: run.session_id },
    {
      taskId: run.task_id,
      attempt: run.attempt,
      taskCompleted: request.completeTask && !needsVerification({ task, rules }),
    },
  );
  await recordChildResults(context, [run], childResult);
  if (!request.completeTask) return { run: runOf(run), task: taskOf(task) };
  const completed = { task, rules, liveClaim, trigger: 'run', triggerRef: runId } as const;
  return { run: runOf(run), task: await completeLockedTask(context, completed) };
}

/**
 * A run that ended while this command waited for the task is refused with `run_not_active`, whatever that end did to
 * the task.
 */
async function requireWritable(
  context: Context,
  runId: string,
  task: TaskOfRunRow,
  completes: boolean,
): Promise<ClaimRow | undefined> {
  try {
    if (completes) await requireCompletable(context, task);
    const presented = { claimId: task.run_claim_id, fencingToken: task.run_fencing_token };
    const liveClaim = await passClaimGate(context, task.id, presented, { claimRequired: true });
    // Required even if the run leaves its task open, because a process step reads the output of the newest run.
    await requireAddressee(context, task);
    return liveClaim;
  } catch (refusal) {
    await requireRunning(context, runId);
    throw refusal;
  }
}

/**
 * Ends a run as failed, for its principal or a manager, and counts the failure of its task
 * (docs/reference/availability.md#failed-attempts). It requires no claim: an executor that lost its lease can still
 * report how its attempt ended.
 * @throws Refusal `not_found`, `run_holder_mismatch`, `run_not_active`
 */
export async function failRun(
  context: Context,
  runId: string,
  {
    failureReason,
    output,
    retryAfterSeconds,
  }: {
    failureReason: string;
    output?: JsonObject | null | undefined;
    retryAfterSeconds?: number | null | undefined;
  },
): Promise<Run> {
  checkOutput(output);
  await requireRunHolder(context, runId);
  const task = (await context.db.row(lockTaskOfRun(context.tenantId, runId))) ?? fail('not_found');
  const run = await end(context, runId, 'failed', { failureReason, output });
  noteFailed(context, run, failureReason);
  await countFailure(context, task, run, {
    reason: failureReason,
    retryAfterSeconds: retryAfterSeconds ?? 0,
  });
  if (run.child_handle_id !== null)
    await recordChildResults(context, [run], await usableResultOf(context, output));
  return runOf(run);
}

/**
 * Ends a run as cancelled, for its principal or a manager. It requires no claim.
 * @throws Refusal `not_found`, `run_holder_mismatch`, `run_not_active`
 */
export async function cancelRun(context: Context, runId: string, reason: string): Promise<Run> {
  await requireRunHolder(context, runId);
  const run = await end(context, runId, 'cancelled', {});
  emit(
    context,
    runCancelled,
    { entityId: runId, workspaceId: run.workspace_id, sessionId: run.session_id },
    { taskId: run.task_id, reason: eventText(reason), attempt: run.attempt },
  );
  await recordChildResults(context, [run]);
  context.afterCommit.push(() => context.counters.runCancellations.inc());
  return runOf(run);
}

/** A failure is accepted with any output: parts that can't be stored as a child's result are dropped. */
async function usableResultOf(
  context: Context,
  output: JsonObject | null | undefined,
): Promise<ChildResult | undefined> {
  try {
    return await childResultOf(context, output);
  } catch (error) {
    if (error instanceof Refusal) return undefined;
    throw error;
  }
}

/**
 * Requires the run's own principal or the permission to manage claims.
 * @throws Refusal `not_found`, `run_holder_mismatch`
 */
export async function requireRunHolder(context: Context, runId: string): Promise<void> {
  const { principalId } = await getRun(context, runId);
  const { caller } = context;
  if (principalId !== caller.principalId && !holds(caller.permissions, 'claims.manage'))
    fail('run_holder_mismatch', { runId });
}

async function end(
  context: Context,
  runId: string,
  status: 'succeeded' | 'failed' | 'cancelled',
  {
    failureReason = null,
    output = null,
  }: { failureReason?: string | null; output?: JsonObject | null | undefined },
): Promise<EndedRunRow> {
  const run = await context.db.row(
    updateRunToEnded({ tenantId: context.tenantId, runId, status, failureReason, output }),
  );
  if (run !== undefined) return run;
  await requireRunning(context, runId);
  throw new Error('a running run could not be ended');
}

function checkOutput(output: JsonObject | null | undefined): void {
  if (output != null) checkDocument(output, { field: 'output' });
}
