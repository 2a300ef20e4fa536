import type { JsonObject } from '@baton/values/wire';
import type { Reaction } from '../../definitions/declared-actions/actions.ts';
import type { Lookup } from '../../definitions/declared-actions/expressions.ts';
import { rulesOf } from '../../definitions/task-types/type-rules.ts';
import { failRunningRun } from '../../leases/fail-runs.ts';
import { passClaimGate } from '../../leases/gate.ts';
import { holds } from '../../service/permissions.ts';
import { completeLockedTask, requireCompletable } from '../../work/completion/completion.ts';
import { executeDeclaredAction, targetOf } from '../../work/declared-actions/declared-actions.ts';
import type { Task } from '../../work/tasks/task.ts';
import { updateTask } from '../../work/tasks/task-changes.ts';
import type { TaskRef } from '../../work/tasks/task-ref.ts';
import { lockTaskRow } from '../../work/tasks/tasks.ts';
import type { Context } from '../context.ts';
import { fail } from '../errors.ts';
import { hasRejectedRenewal } from './outcomes.sql.ts';

/** What the actions work on: the gate's task, and the values of expressions at the time of the decision. */
export interface Subject {
  readonly approvalId: string;
  readonly decision: 'approved' | 'rejected';
  readonly task: Task;
  readonly lookup: Lookup;
}

/** Temporary refusals, after which the outcome waits. */
export const waitingCodes: readonly string[] = ['task_claimed', 'approval_required'];

/**
 * Executes one action of a decision on behalf of the decider. An action without effect is skipped, and `skipped` gives
 * the reason.
 * @throws Refusal, UnresolvedExpression, ActionFault: the reason why it can't be executed, or not yet (`waitingCodes`)
 */
export async function executeDecisionAction(
  acting: Context,
  subject: Subject,
  action: Reaction,
): Promise<JsonObject> {
  const { task, lookup } = subject;
  if ('ensureWork' in action || 'comment' in action)
    return executeDeclaredAction(acting, task, action, lookup);
  if (!holds(acting.caller.permissions, 'tasks.write'))
    fail('permission_denied', { required: ['tasks.write'] });
  if ('completeTask' in action)
    return complete(acting, subject, await targetOf(task, action.completeTask.task, lookup));
  return move(acting, await targetOf(task, action.transition.task, lookup), action.transition.status);
}

async function complete(
  acting: Context,
  { approvalId, ...gate }: Subject,
  ref: TaskRef,
): Promise<JsonObject> {
  const task = await lockTaskRow(acting, ref);
  if (task.category === 'terminal_success') return { taskId: task.id, skipped: 'task_already_completed' };
  if (task.open_verification_id !== null) return { taskId: task.id, skipped: 'verification_pending' };
  await requireCompletable(acting, task);
  if (task.id === gate.task.id && (await isRefusedSince(acting, approvalId)))
    return { taskId: task.id, skipped: 'approval_superseded' };
  await passClaimGate(acting, task.id, {}, { claimRequired: false });
  await failRunningRun(acting, task.id, 'superseded');
  const rules = await rulesOf(acting, task.type_id);
  await completeLockedTask(acting, { task, rules, trigger: 'approval', triggerRef: approvalId });
  return { taskId: task.id };
}

/** Whether the task was changed after the decision, and a person has rejected the changed task. */
async function isRefusedSince({ db, tenantId }: Context, approvalId: string): Promise<boolean> {
  return (await db.row(hasRejectedRenewal(tenantId, approvalId)))?.has === true;
}

async function move(acting: Context, ref: TaskRef, status: string): Promise<JsonObject> {
  const { id, version, status: present } = await lockTaskRow(acting, ref);
  if (present === status) return { taskId: id, skipped: 'status_unchanged' };
  await updateTask(acting, { id, number: null }, version, { status });
  return { taskId: id };
}
