import { Refusal } from '@baton/kernel/http/refusal';
import { newId } from '@baton/values/ids';
import type { JsonObject } from '@baton/values/wire';
import { getCorePrincipalId } from '../../access/principals/principals.ts';
import { emit } from '../../ledger/journal/journal.ts';
import { ApprovalRequest } from '../../results/approvals/approval.ts';
import { requestApproval } from '../../results/approvals/approvals.ts';
import { isInSight } from '../../service/sight/sight.ts';
import { terminalCategories } from '../../work/readiness/claimability.ts';
import { relateNewTask } from '../../work/relations/task-relations.ts';
import type { Task } from '../../work/tasks/task.ts';
import { parseTaskRef } from '../../work/tasks/task-ref.ts';
import { createTask, findTaskUnseen, getTask } from '../../work/tasks/tasks.ts';
import type { Context } from '../context.ts';
import { renderText } from '../documents/template.ts';
import { findRoleId } from '../role-names.ts';
import { workDerived, workHeadOf } from './acts.events.ts';
import { lockWorkKey, updateWorkKey } from './acts.sql.ts';
import type { RuleRoots } from './cause.ts';
import { dedupKeyOf, newTaskOf, renderFields, renderRefs, renderTaskType } from './render-action.ts';
import { changeWork } from './update-work.ts';
import { type Acting, refuseAct, requirePermission, touch, untouched, type WorkItem } from './work-item.ts';

const dependsOnMax = 50;

/**
 * Creates the task of an item. If a rule has already created a task under the item's key and that task is still open,
 * no second one is created: each key has at most one open task. A task from an older version of this rule is updated to
 * the current version's fields.
 * @throws ActRefused, Refusal
 */
export async function fileWork(acting: Acting, roots: RuleRoots): Promise<WorkItem> {
  const { context, rule } = acting;
  const { db, tenantId } = context;
  requirePermission(context, 'tasks.write');
  if (rule.action.kind === 'request_decision') requirePermission(context, 'approvals.manage');
  const dedupKey = dedupKeyOf(acting, roots);
  const known = await db.row(lockWorkKey(tenantId, dedupKey));
  const open = known?.task_id == null ? undefined : await findOpenTask(context, known.task_id);
  if (open !== undefined) {
    const isOlder = known?.rule_id === rule.id && (known?.rule_version ?? 0) < rule.version;
    const note = { ...workHeadOf(acting, open, dedupKey), created: false };
    emit(context, workDerived, { entityId: open.id, workspaceId: open.workspaceId }, note);
    const taskId = (await isInSight(context, open.workspaceId)) ? open.id : null;
    if (!isOlder || taskId === null) return { ...untouched, dedupKey, taskId };
    const changed = await changeWork(acting, open.id, dedupKey, roots);
    if (!changed.skipped || changed.reason === 'unchanged') await keep(acting, dedupKey, open.id);
    return changed.reason === 'unchanged' ? { ...untouched, dedupKey, taskId: open.id } : changed;
  }
  const core = await getCorePrincipalId(context);
  const task = await createTask(context, newTaskOf(requestOf(acting, roots)), newId(), core);
  await relate(acting, task, roots);
  await keep(acting, dedupKey, task.id);
  const approvalId = await askForDecision(acting, task, roots);
  await touch(acting, task.id);
  emit(
    context,
    workDerived,
    { entityId: task.id, workspaceId: task.workspaceId },
    { ...workHeadOf(acting, task, dedupKey), created: true, ...(approvalId !== null && { approvalId }) },
  );
  return { ...untouched, dedupKey, taskId: task.id, created: true };
}

/**
 * Also finds tasks that the authority may not see, because a key is unique in the tenant; only the existence of such
 * tasks is revealed.
 */
async function findOpenTask(context: Context, taskId: string): Promise<Task | undefined> {
  const task = await findTaskUnseen(context, { id: taskId, number: null });
  return task !== undefined && !terminalCategories.includes(task.systemStatusCategory) ? task : undefined;
}

function requestOf({ rule, cause, evidence }: Acting, roots: RuleRoots): JsonObject {
  const { action } = rule;
  return {
    workspaceId: rule.workspace_id ?? cause.workspaceId,
    goalId: rule.goal_id,
    ...renderFields(action, roots),
    typeKey: renderTaskType(action, roots),
    origin: { kind: 'rule', ruleId: rule.id, ref: cause.trigger.ref, evidence: [...evidence] },
    acceptance: action.acceptance ?? [],
  } as unknown as JsonObject;
}

async function keep({ context, rule }: Acting, dedupKey: string, taskId: string): Promise<void> {
  const work = { taskId, ruleId: rule.id, ruleVersion: rule.version };
  await context.db.run(updateWorkKey(context.tenantId, dedupKey, work));
}

async function relate(acting: Acting, task: Task, roots: RuleRoots): Promise<void> {
  const { context, rule } = acting;
  const { spawnedBy, dependsOn } = rule.action.fields?.relations ?? {};
  for (const ref of renderRefs(spawnedBy, roots, 1))
    await relateTo(context, task, ref, 'spawned_by', 'relation_target_not_found');
  for (const ref of renderRefs(dependsOn, roots, dependsOnMax))
    await relateTo(context, task, ref, 'depends_on', 'dependency_not_found');
}

async function relateTo(
  context: Context,
  task: Task,
  ref: string,
  type: 'spawned_by' | 'depends_on',
  absentCode: string,
): Promise<void> {
  try {
    const target = await getTask(context, parseTaskRef(ref));
    await relateNewTask(context, task, { toTaskId: target.id, type });
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    if (error.code === 'not_found') refuseAct(absentCode);
    refuseAct(type === 'depends_on' ? 'dependency_refused' : 'invalid_relations');
  }
}

/** The gate that a person approves; null if the action requests no decision. */
async function askForDecision(acting: Acting, task: Task, roots: RuleRoots): Promise<string | null> {
  const { context, rule } = acting;
  if (rule.action.kind !== 'request_decision') return null;
  const { approver = '', approverRole = '' } = rule.action.fields ?? {};
  const [whom, role] = [renderText(approver, roots, 200).trim(), renderText(approverRole, roots, 200).trim()];
  const roleId = role === '' ? null : await findRoleId(context, role, task.workspaceId);
  if (roleId === undefined) return refuseAct('unknown_role');
  const request = ApprovalRequest.safeParse({
    task: task.id,
    ...(roleId === null ? { assignedPrincipalId: whom } : { requiredRoleId: roleId }),
    comment: task.title,
    gate: true,
  });
  if (!request.success) return refuseAct('invalid_approval');
  return (await requestApproval(context, request.data, true)).id;
}
