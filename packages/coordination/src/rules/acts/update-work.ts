import { Refusal } from '@baton/kernel/http/refusal';
import { canonicalJson } from '@baton/values/canonical-json';
import { emit } from '../../ledger/journal/journal.ts';
import { terminalCategories } from '../../work/readiness/claimability.ts';
import { type Task, TaskChange, taskOf } from '../../work/tasks/task.ts';
import { updateTask } from '../../work/tasks/task-changes.ts';
import { lockTaskRow } from '../../work/tasks/tasks.ts';
import { workHeadOf, workReconciled } from './acts.events.ts';
import { findWorkKey } from './acts.sql.ts';
import type { RuleRoots } from './cause.ts';
import { dedupKeyOf, renderFields } from './render-action.ts';
import {
  type Acting,
  refuseAct,
  requirePermission,
  skippedFor,
  touch,
  untouched,
  type WorkItem,
  waitingReason,
} from './work-item.ts';

/** Updates the open task with the item's key, if one exists. @throws ActRefused, Refusal */
export async function updateWork(acting: Acting, roots: RuleRoots): Promise<WorkItem> {
  const { context } = acting;
  requirePermission(context, 'tasks.write');
  const dedupKey = dedupKeyOf(acting, roots);
  const known = await context.db.row(findWorkKey(context.tenantId, dedupKey));
  if (known?.task_id == null) return skippedFor('no_open_work', { dedupKey });
  return changeWork(acting, known.task_id, dedupKey, roots);
}

/** Applies the fields of the action to a task. A claimed task is left unchanged. */
export async function changeWork(
  acting: Acting,
  taskId: string,
  dedupKey: string,
  roots: RuleRoots,
): Promise<WorkItem> {
  const { context, rule } = acting;
  const ref = { id: taskId, number: null };
  const before = await lockTaskRow(context, ref);
  if (terminalCategories.includes(before.category)) return skippedFor('no_open_work', { dedupKey });
  const { customFields, ...fields } = renderFields(rule.action, roots);
  const merged = customFields && { customFields: { ...before.custom_fields, ...customFields } };
  const change = TaskChange.safeParse({ ...fields, ...merged });
  if (!change.success) return refuseAct('invalid_work');
  if (Object.keys(change.data).length === 0) return skippedFor('unchanged', { dedupKey, taskId });
  try {
    const task = await updateTask(context, ref, before.version, change.data);
    const changes = changedNames(taskOf(before), task, Object.keys(change.data));
    if (task.version === before.version) return skippedFor('unchanged', { dedupKey, taskId });
    await touch(acting, taskId);
    emit(
      context,
      workReconciled,
      { entityId: taskId, workspaceId: task.workspaceId },
      { ...workHeadOf(acting, task, dedupKey), changes },
    );
    return { ...untouched, dedupKey, taskId };
  } catch (error) {
    if (!(error instanceof Refusal) || error.code !== waitingReason) throw error;
    return skippedFor(waitingReason, { dedupKey, taskId });
  }
}

function changedNames(before: Task, after: Task, asked: readonly string[]): string[] {
  return asked.filter(
    (name) =>
      name === 'requirements' ||
      canonicalJson(before[name as keyof Task]) !== canonicalJson(after[name as keyof Task]),
  );
}
