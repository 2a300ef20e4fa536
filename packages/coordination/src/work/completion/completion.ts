import { findStatus, type LifecycleStatus, movesFrom } from '../../definitions/task-types/lifecycle.ts';
import { rulesOf, type TypeRules } from '../../definitions/task-types/type-rules.ts';
import { requireDelegated } from '../../leases/delegated/delegated-rights.ts';
import { failRunningRun } from '../../leases/fail-runs.ts';
import { type PresentedClaim, passClaimGate } from '../../leases/gate.ts';
import type { ClaimRow } from '../../leases/lease-rows.ts';
import { releaseClaims } from '../../leases/release.ts';
import { emit } from '../../ledger/journal/journal.ts';
import type { Context } from '../context.ts';
import { fail } from '../errors.ts';
import { requireNoGate } from '../gates/gates.ts';
import { requireAddressee } from '../tasks/addressees/addressees.ts';
import { requireFormFits } from '../tasks/step-forms/step-forms.ts';
import { type Task, type TaskRow, taskOf } from '../tasks/task.ts';
import type { TaskRef } from '../tasks/task-ref.ts';
import { taskCompleted } from '../tasks/tasks.events.ts';
import { lockTaskRow } from '../tasks/tasks.ts';
import { requireVersion } from '../tasks/versions.ts';
import type { AttemptTrigger } from '../verifications/attempt.ts';
import { checksOf, openAttempt } from '../verifications/attempts.ts';
import { findRunningRun, updateTaskToCompleted, updateTaskToVerified } from './completion.sql.ts';
import { executeCompletionWork } from './completion-work.ts';

/**
 * Completes a task on request (docs/reference/completion.md#complete). If it has checks, requests its verification
 * instead: the status doesn't change, and nothing changes while an attempt is open. A run under the presented claim
 * must have ended; a run left running under an older claim is failed as superseded.
 */
export async function completeTask(
  context: Context,
  ref: TaskRef,
  ifMatch: number,
  presented: PresentedClaim,
): Promise<Task> {
  const task = await lockTaskRow(context, ref, presented.claimId);
  requireVersion(task, ifMatch);
  await requireCompletable(context, task);
  const liveClaim = await passClaimGate(context, task.id, presented, { claimRequired: false });
  await requireAddressee(context, task);
  if (liveClaim !== undefined) {
    await requireDelegated(context, { sessionId: liveClaim.session_id }, 'tasks.write');
    const run = await context.db.row(findRunningRun(context.tenantId, liveClaim.id));
    if (run !== undefined) fail('run_in_progress', { taskId: task.id, runId: run.id });
  }
  await failRunningRun(context, task.id, 'superseded');
  if (task.open_verification_id !== null) return taskOf(task);
  const rules = await rulesOf(context, task.type_id);
  return completeLockedTask(context, { task, rules, liveClaim, trigger: 'complete' });
}

/**
 * Conditions that are checked before the claim.
 * @throws Refusal `task_already_completed`, `task_cancelled`, `approval_required`
 */
export async function requireCompletable(context: Context, task: TaskRow): Promise<void> {
  const { id, category } = task;
  if (category === 'terminal_success') fail('task_already_completed', { taskId: id });
  if (category === 'terminal_cancelled') fail('task_cancelled', { taskId: id });
  await requireNoGate(context, task);
}

/** A request to complete a locked task. */
export interface CompletionRequest {
  task: TaskRow;
  rules: TypeRules;
  /** The claim that the completion ends; the caller has checked its holder. */
  liveClaim?: ClaimRow | undefined;
  trigger: AttemptTrigger;
  /** The run or the approval that requests the completion. */
  triggerRef?: string;
}

/** Whether the task has checks, so that its completion starts a verification attempt. */
export function needsVerification({ task, rules }: Pick<CompletionRequest, 'task' | 'rules'>): boolean {
  return checksOf(rules, task).length > 0;
}

/**
 * Releases the claim of a locked task and completes it or, if it has checks, opens the attempt that may complete it.
 * The task must have no running run and no open attempt.
 * @throws Refusal `not_eligible` if the task has another addressee, `custom_fields_invalid` if the form of its process
 * step is not satisfied, `invalid_transition` if the lifecycle has no edge to the completion status
 */
export async function completeLockedTask(context: Context, request: CompletionRequest): Promise<Task> {
  const { task, rules, liveClaim, trigger, triggerRef = null } = request;
  await requireAddressee(context, task);
  await requireFormFits(context, task);
  const { completionStatus: to } = rules.lifecycle;
  const allowed = movesFrom(rules.lifecycle, task.status);
  if (!allowed.includes(to)) fail('invalid_transition', { from: task.status, to, allowed });
  if (liveClaim !== undefined)
    await releaseClaims(
      context,
      { claimIds: [liveClaim.id] },
      { reason: 'completed', taskStatusMove: false },
    );
  const sessionId = liveClaim?.session_id ?? null;
  const checks = checksOf(rules, task);
  if (checks.length === 0) return moveToCompletion(context, { task, rules, sessionId });
  await openAttempt(context, { task, checks, trigger, triggerRef, sessionId });
  return taskOf((await context.db.row(updateTaskToVerified(context.tenantId, task.id))) as TaskRow);
}

/**
 * The only place where a task becomes completed: immediately, or by an attempt that has passed. The task is locked, and
 * its lifecycle allows the move.
 */
export async function moveToCompletion(
  context: Context,
  completed: {
    task: TaskRow;
    rules: TypeRules;
    sessionId: string | null;
    verification?: { id: string; attempt: number };
  },
): Promise<Task> {
  const { task, rules, sessionId, verification } = completed;
  const { key, category } = findStatus(rules.lifecycle, rules.lifecycle.completionStatus) as LifecycleStatus;
  const row = (await context.db.row(
    updateTaskToCompleted(context.tenantId, task.id, key, category),
  )) as TaskRow;
  emit(
    context,
    taskCompleted,
    { entityId: row.id, workspaceId: row.workspace_id, sessionId },
    {
      publicId: row.public_id,
      status: row.status,
      systemStatusCategory: row.category,
      version: row.version,
      ...(verification !== undefined && {
        verificationId: verification.id,
        attempt: verification.attempt,
      }),
    },
  );
  await executeCompletionWork(context, taskOf(row), rules);
  return taskOf(row);
}
