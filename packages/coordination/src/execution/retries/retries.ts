import { eventText } from '@baton/values/event-text';
import { findStatus, type LifecycleStatus, movesFrom } from '../../definitions/task-types/lifecycle.ts';
import { rulesOf, type TypeRules } from '../../definitions/task-types/type-rules.ts';
import type { RunRow } from '../../leases/lease-rows.ts';
import { emit } from '../../ledger/journal/journal.ts';
import { writeCoreComment } from '../../work/comments/comments.ts';
import type { TaskRow } from '../../work/tasks/task.ts';
import type { Context } from '../context.ts';
import { attemptsExhausted, retryScheduled } from './retries.events.ts';
import {
  findEndOfClaim,
  updateTaskToExhausted,
  updateTaskToFailed,
  updateTaskToSucceeded,
} from './retries.sql.ts';

/**
 * An executor that restarts and ends the run of its earlier process (docs/reference/availability.md#failed-attempts)
 * reports a lost lease.
 */
const recoveryReason = 'restart_recovery';
const reasonCharactersMax = 1000;

/**
 * Counts the failure of a run, and pauses its task as its type declares. A run of an earlier claim doesn't count, nor
 * does a run whose lease expired: the expiry was already counted.
 * @param task locked
 * @param retryAfterSeconds the executor's requested pause, used if it is longer
 */
export async function countFailure(
  context: Context,
  task: TaskRow,
  run: Pick<RunRow, 'id' | 'claim_id' | 'fencing_token' | 'attempt'>,
  { reason, retryAfterSeconds }: { reason: string; retryAfterSeconds: number },
): Promise<void> {
  if (run.fencing_token !== task.claim_epoch || task.category.startsWith('terminal_')) return;
  const { db, tenantId } = context;
  const rules = await rulesOf(context, task.type_id);
  const claim = await db.row(findEndOfClaim(tenantId, run.claim_id));
  const code = codeOf(reason);
  const isExpired = claim?.is_expired === true || code === recoveryReason;
  const { backoffSeconds = 0, maxBackoffSeconds = 0, retryOn } = rules.retry ?? {};
  const isFinal = !isExpired && retryOn != null && !retryOn.includes(code);
  const row = await db.row(
    updateTaskToFailed({
      tenantId,
      taskId: task.id,
      attempts: claim?.is_noted === true ? 0 : 1,
      backoffSeconds: isExpired ? 0 : backoffSeconds,
      maxBackoffSeconds,
      retryAfterSeconds,
      isFinal,
    }),
  );
  if (row === undefined) throw new Error('a locked task does not exist');
  if (row.is_exhausted) return endAttempts(context, row, rules, reason, claim?.is_reported);
  // Nothing was scheduled if the task has no pause, or if a pause that is already in effect ends later.
  if (!row.is_paused || row.retry_at === task.retry_at) return;
  emit(
    context,
    retryScheduled,
    { entityId: task.id, workspaceId: task.workspace_id },
    {
      publicId: task.public_id,
      runId: run.id,
      attempt: run.attempt,
      reason: eventText(reason),
      failedAttempts: row.failed_attempts,
      availableAt: row.available_at as string,
      version: row.version,
    },
  );
}

/** Resets the failure count after a success. @param task locked @returns the updated task */
export async function countSuccess({ db, tenantId }: Context, task: TaskRow): Promise<TaskRow> {
  if (task.failed_attempts === 0 && task.retry_at === null) return task;
  return (await db.row(updateTaskToSucceeded(tenantId, task.id))) ?? task;
}

/**
 * Ends the attempts at a locked task: moves it to the first on-hold status that its lifecycle allows, and adds a
 * comment by the service with the reason. Without such a status, the task keeps its status but is still put on hold.
 * A task that is already on hold gets no second comment.
 * @param isReported whether the attempts had already ended, so that a comment and an event have reported it
 */
export async function endAttempts(
  context: Context,
  task: TaskRow,
  rules: TypeRules,
  reason: string,
  isReported = false,
): Promise<void> {
  const { db, tenantId } = context;
  const isOnHold = ({ key, category }: Pick<LifecycleStatus, 'key' | 'category'>) =>
    category === 'blocked' && rules.lifecycle.claimFrom?.includes(key) !== true;
  const here = { key: task.status, category: task.category };
  const moves = movesFrom(rules.lifecycle, task.status).map((key) => findStatus(rules.lifecycle, key));
  const to = isOnHold(here) ? here : (moves.find((move) => move !== undefined && isOnHold(move)) ?? here);
  const row = await db.row(updateTaskToExhausted(tenantId, task.id, { ...to, isOnHold: isOnHold(to) }));
  if (row === undefined) throw new Error('a locked task does not exist');
  if (isReported || isOnHold(here)) return;
  const text = describeEnd(row, reason, isOnHold(to));
  await writeCoreComment(context, { id: task.id, workspaceId: task.workspace_id }, text);
  emit(
    context,
    attemptsExhausted,
    { entityId: task.id, workspaceId: task.workspace_id },
    {
      publicId: task.public_id,
      failedAttempts: row.failed_attempts,
      reason: eventText(reason),
      fromStatus: task.status,
      status: row.status,
      systemStatusCategory: row.category,
      version: row.version,
    },
  );
}

/** The code of a reason: the part before its first colon. */
function codeOf(reason: string): string {
  return (reason.split(':', 1)[0] ?? '').trim();
}

function describeEnd({ failed_attempts: failures }: TaskRow, reason: string, isOnHold: boolean): string {
  const attempts = failures === 1 ? 'The last attempt' : `${failures} consecutive attempts`;
  const next = isOnHold
    ? 'Move the task to another status to allow another attempt.'
    : 'The task is no longer available. Use :make-available to allow another attempt.';
  return `${attempts} failed: ${eventText(reason).slice(0, reasonCharactersMax).toWellFormed()}. ${next}`;
}
