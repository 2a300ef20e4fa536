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

/** An executor that comes back to a run of its former self (core, section 10): its failure is that of a lost lease. */
const recoveryReason = 'restart_recovery';
const reasonCharactersMax = 1000;

/**
 * Counts the failure of a run, and pauses its task as its type declares. A run of an earlier claim doesn't count, and a run
 * whose lease expired was counted by the expiry.
 * @param task locked
 * @param retryAfterSeconds the pause that the executor asks for, if it is longer
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
  // A pause of before may last longer.
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

/** After a success the next failure is the first one. @param task locked @returns the task as it is then */
export async function countSuccess({ db, tenantId }: Context, task: TaskRow): Promise<TaskRow> {
  if (task.failed_attempts === 0 && task.retry_at === null) return task;
  return (await db.row(updateTaskToSucceeded(tenantId, task.id))) ?? task;
}

/**
 * Ends the attempts at a locked task: moves it to the first status that its lifecycle allows and that puts it on hold, and writes a
 * comment of the core with the reason. Without such a status it keeps its own, and is held back all the same. A task that is on hold
 * already gets no second comment.
 * @param isReported whether the attempts had ended before, and comment and event say so
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
  const text = textOf(row, reason, isOnHold(to));
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

/** The code of a reason: the text before its first colon. */
function codeOf(reason: string): string {
  return (reason.split(':', 1)[0] ?? '').trim();
}

function textOf({ failed_attempts: failures }: TaskRow, reason: string, isOnHold: boolean): string {
  const attempts = failures === 1 ? 'The last attempt' : `${failures} attempts in a row`;
  const next = isOnHold
    ? 'Move the task to another status when it can be tried again.'
    : 'The task is not offered any more. End that with :make-available when it can be tried again.';
  return `${attempts} failed: ${eventText(reason).slice(0, reasonCharactersMax).toWellFormed()}. ${next}`;
}
