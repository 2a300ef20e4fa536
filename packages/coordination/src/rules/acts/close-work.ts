import { Refusal } from '@baton/kernel/http/refusal';
import { getCorePrincipalId } from '../../access/principals/principals.ts';
import type { Evidence } from '../../definitions/acceptance/evidence.ts';
import { findStatus, movesFrom } from '../../definitions/task-types/lifecycle.ts';
import { rulesOf, type TypeRules } from '../../definitions/task-types/type-rules.ts';
import { failRunningRun } from '../../leases/fail-runs.ts';
import { passClaimGate } from '../../leases/gate.ts';
import { emit } from '../../ledger/journal/journal.ts';
import { completeLockedTask, requireCompletable } from '../../work/completion/completion.ts';
import { requireAddressee } from '../../work/tasks/addressees/addressees.ts';
import { type Task, TaskChange, type TaskRow, taskOf } from '../../work/tasks/task.ts';
import { updateTask } from '../../work/tasks/task-changes.ts';
import { lockTaskRow } from '../../work/tasks/tasks.ts';
import { defaultCheck } from '../documents/action.ts';
import { workHeadOf, workReconciled } from './acts.events.ts';
import { findWorkKey } from './acts.sql.ts';
import type { RuleRoots } from './cause.ts';
import { dedupKeyOf } from './render-action.ts';
import {
  type Acting,
  refuseAct,
  requireOnTask,
  requirePermission,
  skippedFor,
  touch,
  untouched,
  type WorkItem,
  waitingReason,
} from './work-item.ts';

/** The task that a closing action applies to. */
export interface ClosingTarget {
  readonly taskId: string | null;
  readonly dedupKey: string | null;
}

/** Closes the task of an item, or returns the reason to wait (`waitingReason`). @throws ActRefused, Refusal */
export async function closeWork(acting: Acting, roots: RuleRoots): Promise<WorkItem> {
  return closeTarget(acting, await targetOf(acting, roots));
}

async function targetOf(acting: Acting, roots: RuleRoots): Promise<ClosingTarget> {
  const { context, rule, cause } = acting;
  if (rule.action.target === 'task') return { taskId: cause.taskId, dedupKey: null };
  const dedupKey = dedupKeyOf(acting, roots);
  const known = await context.db.row(findWorkKey(context.tenantId, dedupKey));
  return { taskId: known?.task_id ?? null, dedupKey };
}

/** Closes a task that has already been found. */
export async function closeTarget(acting: Acting, { taskId, dedupKey }: ClosingTarget): Promise<WorkItem> {
  const { context, rule } = acting;
  requirePermission(context, 'tasks.write');
  if (taskId === null) return skippedFor('no_open_work', { dedupKey });
  // A task found by its key was created by a rule, whereas the task of the cause may belong to any principal.
  if (rule.action.target === 'task') requireOnTask(context, 'tasks.write', taskId);
  const task = await lockTaskRow(context, { id: taskId, number: null });
  const completes = rule.action.kind === 'complete_work';
  const done = closedReason(task, completes);
  if (done !== undefined) return skippedFor(done, { dedupKey, taskId });
  try {
    if (completes) await complete(acting, task, dedupKey);
    else await cancel(acting, task, dedupKey);
  } catch (error) {
    if (!(error instanceof Refusal) || error.code !== waitingReason) throw error;
    return { ...untouched, dedupKey, taskId, reason: waitingReason };
  }
  await touch(acting, taskId);
  return { ...untouched, dedupKey, taskId };
}

function closedReason({ category, open_verification_id: attempt }: TaskRow, completes: boolean) {
  const [wanted, other] = completes
    ? ['terminal_success', 'terminal_cancelled']
    : ['terminal_cancelled', 'terminal_success'];
  if (category === wanted) return 'already_done';
  if (category === other) return 'already_closed';
  return completes && attempt !== null ? 'verification_pending' : undefined;
}

async function complete(acting: Acting, task: TaskRow, dedupKey: string | null): Promise<void> {
  const { context, rule, evaluationId } = acting;
  await requireCompletable(context, task);
  await passClaimGate(context, task.id, {}, { claimRequired: false });
  await requireAddressee(context, task);
  await failRunningRun(context, task.id, 'superseded');
  const rules = await rulesOf(context, task.type_id);
  const check = rule.action.check ?? defaultCheck;
  const proven = await addEvidence(acting, task, rules, check);
  const trigger = { trigger: 'rule', triggerRef: evaluationId } as const;
  const completed = await completeLockedTask(context, { task: proven, rules, ...trigger });
  const verification = completed.systemStatusCategory === 'terminal_success' ? null : completed.verification;
  tell(acting, completed, dedupKey, ['status'], {
    check,
    ...(verification !== null && { verificationId: verification.id }),
  });
}

/** Records the cause as evidence, if the task has the corresponding check. */
async function addEvidence(
  { context, cause, evidence }: Acting,
  task: TaskRow,
  rules: TypeRules,
  check: string,
): Promise<TaskRow> {
  const known = [...rules.acceptanceKeys, ...task.acceptance.map(({ key }) => key)];
  if (!known.includes(check)) return task;
  const added = evidence.map((item) => ({ ...item, check }));
  const ref = { id: task.id, number: null };
  const change = TaskChange.safeParse({ evidence: [...taskOf(task).evidence, ...added] });
  // A task has at most 200 pieces of evidence.
  if (!change.success) return refuseAct('invalid_evidence');
  const core = await getCorePrincipalId(context);
  // The check evaluates the evidence by its author; the rule only establishes that the observation belongs to the task.
  const authorOf = ({ kind }: Evidence) => (kind === 'observation' ? core : (cause.trigger.actorId ?? core));
  await updateTask(context, ref, task.version, change.data, { evidenceAuthorOf: authorOf });
  return lockTaskRow(context, ref);
}

async function cancel(acting: Acting, task: TaskRow, dedupKey: string | null): Promise<void> {
  const { context } = acting;
  const { lifecycle } = await rulesOf(context, task.type_id);
  const status = movesFrom(lifecycle, task.status).find(
    (key) => findStatus(lifecycle, key)?.category === 'terminal_cancelled',
  );
  if (status === undefined) refuseAct('invalid_transition');
  const ref = { id: task.id, number: null };
  const change = TaskChange.parse({ status });
  tell(acting, await updateTask(context, ref, task.version, change), dedupKey, ['status'], {});
}

function tell(
  acting: Acting,
  task: Task,
  dedupKey: string | null,
  changes: string[],
  more: { check?: string; verificationId?: string },
): void {
  const target = acting.rule.action.target ?? 'dedup';
  emit(
    acting.context,
    workReconciled,
    { entityId: task.id, workspaceId: task.workspaceId },
    { ...workHeadOf(acting, task, dedupKey), changes, ...more, target },
  );
}
