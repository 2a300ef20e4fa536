import { findStatus, type LifecycleStatus, movesFrom } from '../../definitions/task-types/lifecycle.ts';
import { rulesOf } from '../../definitions/task-types/type-rules.ts';
import { type PresentedClaim, passClaimGate } from '../../leases/gate.ts';
import type { ClaimRow } from '../../leases/lease-rows.ts';
import { releaseClaims } from '../../leases/release.ts';
import { failRunningRun } from '../../leases/run-ending.ts';
import { emit } from '../../ledger/journal/journal.ts';
import type { Context } from '../context.ts';
import { fail } from '../errors.ts';
import { type Task, type TaskRow, taskOf } from '../tasks/task.ts';
import type { TaskRef } from '../tasks/task-ref.ts';
import { taskCompleted } from '../tasks/tasks.events.ts';
import { lockTaskRow } from '../tasks/tasks.ts';
import { requireVersion } from '../tasks/versions.ts';
import { findRunningRun, updateTaskToCompleted } from './completion.sql.ts';

/**
 * Completes a task on demand (core, section 8.5). A run under the presented claim must be ended first; a run that an
 * older claim left behind is failed as superseded.
 */
export async function completeTask(
  context: Context,
  ref: TaskRef,
  ifMatch: number,
  presented: PresentedClaim,
): Promise<Task> {
  const task = await lockTaskRow(context, ref, presented.claimId);
  requireVersion(task, ifMatch);
  requireCompletable(task);
  const liveClaim = await passClaimGate(context, task.id, presented, { claimRequired: false });
  if (liveClaim !== undefined) {
    const run = await context.db.row(findRunningRun(context.tenantId, liveClaim.id));
    if (run !== undefined) fail('run_in_progress', { taskId: task.id, runId: run.id });
  }
  await failRunningRun(context, task.id, 'superseded');
  return completeLockedTask(context, task, { liveClaim });
}

/**
 * Checks what must hold before the claim is looked at.
 * @throws Refusal `task_already_completed`, `task_cancelled`
 */
export function requireCompletable({ id, category }: TaskRow): void {
  if (category === 'terminal_success') fail('task_already_completed', { taskId: id });
  if (category === 'terminal_cancelled') fail('task_cancelled', { taskId: id });
}

/**
 * Moves a locked task to its completion status and releases the claim, whose holder the caller has checked. No run of
 * the task may be running any more.
 * @throws Refusal `invalid_transition` where the lifecycle has no edge to the completion status
 */
export async function completeLockedTask(
  context: Context,
  task: TaskRow,
  { liveClaim }: { liveClaim?: ClaimRow | undefined },
): Promise<Task> {
  const { lifecycle } = await rulesOf(context, task.type_id);
  const allowed = movesFrom(lifecycle, task.status);
  const { completionStatus: to } = lifecycle;
  if (!allowed.includes(to)) fail('invalid_transition', { from: task.status, to, allowed });
  if (liveClaim !== undefined)
    await releaseClaims(
      context,
      { claimIds: [liveClaim.id] },
      { reason: 'completed', taskStatusMove: false },
    );
  const { category } = findStatus(lifecycle, to) as LifecycleStatus;
  const row = (await context.db.row(
    updateTaskToCompleted(context.tenantId, task.id, to, category),
  )) as TaskRow;
  emit(
    context,
    taskCompleted,
    { entityId: row.id, workspaceId: row.workspace_id, sessionId: liveClaim?.session_id ?? null },
    {
      publicId: row.public_id,
      status: row.status,
      systemStatusCategory: row.category,
      version: row.version,
    },
  );
  return taskOf(row);
}
