import { findStatus, type LifecycleStatus, movesFrom } from '../../definitions/task-types/lifecycle.ts';
import type { TypeRules } from '../../definitions/task-types/type-rules.ts';
import { emit } from '../../ledger/journal/journal.ts';
import { writeCoreComment } from '../../work/comments/comments.ts';
import { moveToCompletion } from '../../work/completion/completion.ts';
import { type TaskRow, taskOf } from '../../work/tasks/task.ts';
import type { AttemptCheck, AttemptRow, AttemptStatus } from '../../work/verifications/attempt.ts';
import { recordVerification } from '../artifacts/artifacts.ts';
import type { Context } from '../context.ts';
import type { EvaluatedAttempt, FailureReason } from './check-evaluation.ts';
import { taskVerified, verificationFailed } from './verification.events.ts';
import { countFailuresInRow, updateAttempt, updateTaskToUnverified } from './verifications.sql.ts';

/** After the third consecutive failure, a person has to examine the task. */
const failuresBeforeBlocked = 3;

/**
 * Completes the task of an attempt whose checks have all passed, in the context of the requester of the completion.
 * @returns the reason for a refusal; undefined if the task was completed
 */
export async function passAttempt(
  acting: Context,
  evaluated: EvaluatedAttempt,
): Promise<FailureReason | undefined> {
  const { task, rules } = evaluated;
  if (!movesFrom(rules.lifecycle, task.status).includes(rules.lifecycle.completionStatus))
    return 'invalid_transition';
  const attempt = await endAttempt(acting, evaluated, 'passed');
  const verification = { id: attempt.id, attempt: attempt.attempt };
  const evaluation = identityOf(task, attempt);
  const content = { ...evaluation, triggerRef: attempt.trigger_ref };
  const artifactId = await recordVerification(acting, taskOf(task), { id: attempt.id, content });
  await moveToCompletion(acting, { task, rules, sessionId: null, verification });
  emit(
    acting,
    taskVerified,
    { entityId: task.id, workspaceId: task.workspace_id },
    { ...evaluation, artifactId },
  );
  return undefined;
}

/** Ends an attempt as failed: releases the task for more work or blocks it, and adds a comment with the reason. */
export async function failAttempt(
  context: Context,
  evaluated: EvaluatedAttempt,
  { check, reason, message }: { check: AttemptCheck | undefined; reason: FailureReason; message?: string },
): Promise<void> {
  const { db, tenantId } = context;
  const { task, rules } = evaluated;
  const attempt = await endAttempt(context, evaluated, 'failed');
  const { failures } = (await db.row(countFailuresInRow(tenantId, task.id))) as { failures: number };
  const { key, category } = statusAfterFailure(rules, task, failures >= failuresBeforeBlocked);
  const row = (await db.row(updateTaskToUnverified(tenantId, task.id, key, category))) as TaskRow;
  const about = { id: task.id, workspaceId: task.workspace_id };
  await writeCoreComment(context, about, describeFailure(attempt, { check, reason, message }));
  emit(
    context,
    verificationFailed,
    { entityId: task.id, workspaceId: task.workspace_id },
    {
      ...identityOf(task, attempt),
      failedCheck: check?.key ?? null,
      reason,
      consecutiveFailures: failures,
      blocked: category === 'blocked' && failures >= failuresBeforeBlocked,
      fromStatus: task.status,
      status: row.status,
      systemStatusCategory: row.category,
    },
  );
}

/**
 * The first reachable blocked status if the task should be blocked; otherwise the release status, or the current one.
 */
function statusAfterFailure(
  { lifecycle }: TypeRules,
  { status, category }: TaskRow,
  isBlocked: boolean,
): Pick<LifecycleStatus, 'key' | 'category'> {
  const here = { key: status, category };
  const moves = movesFrom(lifecycle, status).map((key) => findStatus(lifecycle, key) as LifecycleStatus);
  const blocked = category === 'blocked' ? here : moves.find((to) => to.category === 'blocked');
  const released = moves.find(({ key }) => key === lifecycle.releaseStatus);
  return (isBlocked ? blocked : undefined) ?? released ?? here;
}

async function endAttempt(
  { db, tenantId }: Context,
  { attempt, checks, results }: EvaluatedAttempt,
  status: AttemptStatus,
): Promise<AttemptRow> {
  const { approval_id: approvalId, skill_invocation_id: skillInvocationId } = attempt;
  const progress = { status, checks, results, approvalId, skillInvocationId };
  const end = { ...progress, lookAgainSeconds: null, waitGoesOn: false, notCounted: [] };
  return (await db.row(updateAttempt(tenantId, attempt.id, end))) as AttemptRow;
}

function identityOf({ id: taskId, public_id: publicId }: TaskRow, row: AttemptRow) {
  const { id: verificationId, attempt, trigger, checks, results } = row;
  const short = results.map(({ key, kind, status, reason }) => ({ key, kind, status, reason }));
  return { publicId, taskId, verificationId, attempt, trigger, checks: checks.length, results: short };
}

function describeFailure(
  { attempt }: AttemptRow,
  {
    check,
    reason,
    message,
  }: { check: AttemptCheck | undefined; reason: string; message?: string | undefined },
): string {
  const at = check === undefined ? '' : ` at check ${check.key}`;
  return `Verification ${attempt} failed${at}: ${reason}.${message === undefined ? '' : ` ${message}`}`;
}
