import { findStatus, type LifecycleStatus, movesFrom } from '../../definitions/task-types/lifecycle.ts';
import { rulesOf } from '../../definitions/task-types/type-rules.ts';
import type { Context } from '../context.ts';
import { itemsOfRequirements } from '../tasks/requirements.ts';
import type { TaskRef } from '../tasks/task-ref.ts';
import { getTask, getTaskRow } from '../tasks/tasks.ts';
import type { TaskRequirements, TaskTransitions } from './task-readiness.ts';

/**
 * Lists the transitions of a task (docs/reference/relations.md#transitions). Success is reached only by `:complete`,
 * which leads to the completion status.
 * @throws Refusal `not_found`
 */
export async function listTaskTransitions(context: Context, ref: TaskRef): Promise<TaskTransitions> {
  const task = await getTask(context, ref);
  const { lifecycle } = await rulesOf(context, task.typeId);
  const { id: taskId, publicId, typeId, typeKey, typeVersion, status, systemStatusCategory } = task;
  const targets = movesFrom(lifecycle, status)
    .map((key) => findStatus(lifecycle, key) as LifecycleStatus)
    .filter(({ key, category }) => category !== 'terminal_success' || key === lifecycle.completionStatus)
    .map(({ key, displayName, category }) => ({
      status: key,
      displayName,
      systemStatusCategory: category,
      route: category === 'terminal_success' ? ('complete' as const) : ('update' as const),
    }));
  return { taskId, publicId, typeId, typeKey, typeVersion, status, systemStatusCategory, targets };
}

/**
 * Lists the requirements for an executor of the task (docs/reference/relations.md#requirements). @throws Refusal
 * `not_found`
 */
export async function getTaskRequirements(context: Context, ref: TaskRef): Promise<TaskRequirements> {
  const task = await getTaskRow(context, ref);
  const items = await itemsOfRequirements(context, task.requirement_set_id);
  const of = (wanted: string) => items.filter(({ kind }) => kind === wanted);
  return {
    roles: of('role').map(({ subject_id: id, name: slug }) => ({ id, slug })),
    capabilities: of('capability').map(({ subject_id: id, name }) => ({ id, name })),
    skills: of('skill').map(({ subject_id: id, name, version, any_version: anyVersion }) => ({
      id,
      name,
      version: version as string,
      anyVersion,
    })),
  };
}
