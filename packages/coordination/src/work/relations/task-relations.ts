import { newId } from '@baton/values/ids';
import { getCorePrincipalId } from '../../access/principals/principals.ts';
import { emit } from '../../ledger/journal/journal.ts';
import { holds } from '../../service/permissions.ts';
import { requireSightOfTask, tasksInSight } from '../../service/sight/sight.ts';
import type { Context } from '../context.ts';
import { fail } from '../errors.ts';
import { requireMayRemove } from '../tasks/protection/protection.ts';
import { refuseBeyondLimit } from '../tasks/relation-limit.ts';
import type { Task } from '../tasks/task.ts';
import type { TaskRef } from '../tasks/task-ref.ts';
import { taskRelationAdded } from '../tasks/tasks.events.ts';
import { getTask, lockTaskRow } from '../tasks/tasks.ts';
import {
  relationTypes,
  type TaskRelation,
  type TaskRelationRequest,
  type TaskRelationRow,
  taskRelationOf,
} from './task-relation.ts';
import { taskRelationRemoved } from './task-relations.events.ts';
import {
  deleteRelation,
  findRelation,
  findRelationOf,
  findRelations,
  insertRelation,
  isAncestor,
  isPrerequisite,
  lockRelationGraph,
  shareTask,
} from './task-relations.sql.ts';

/**
 * Relates two tasks (docs/reference/relations.md#add-a-relation). Potentially cyclic relations are added one after
 * another in a tenant, so that each one sees those before it.
 * @throws Refusal `invalid_relation_type`, `not_found`, `invalid_relation`, `relation_exists`, `dependency_cycle`, and
 * last those of `refuseBeyondLimit`
 */
export async function createTaskRelation(
  context: Context,
  fromRef: TaskRef,
  { toTask: toRef, type }: TaskRelationRequest,
): Promise<TaskRelation> {
  if (!relationTypes.includes(type as TaskRelation['type']))
    fail('invalid_relation_type', { known: relationTypes });
  const { db, tenantId, caller } = context;
  const [from, to] = [await getTask(context, fromRef), await getTask(context, toRef)];
  if (from.id === to.id) fail('invalid_relation', { taskId: from.id });
  const isOrdering = ['parent', 'blocks', 'depends_on'].includes(type);
  if (isOrdering) await db.run(lockRelationGraph(tenantId));
  await refuseExisting(context, from, to, type);
  if (isOrdering && (await closesCycle(context, from, to, type)))
    fail('dependency_cycle', { fromTaskId: from.id, toTaskId: to.id, type });
  const ends = { fromTaskId: from.id, toTaskId: to.id, type };
  const row = await db.row(insertRelation({ id: newId(), tenantId, ...ends, createdBy: caller.principalId }));
  if (row === undefined) {
    // A concurrent command created the same relation.
    await refuseExisting(context, from, to, type);
    return fail('relation_exists');
  }
  await refuseBeyondLimit(context, from.id, to.id);
  emit(
    context,
    taskRelationAdded,
    { entityId: from.id, workspaceId: from.workspaceId },
    { relationId: row.id, toTaskId: to.id, type },
  );
  return taskRelationOf(row);
}

async function refuseExisting(context: Context, from: Task, to: Task, type: string): Promise<void> {
  const existing = await context.db.row(findRelation(context.tenantId, from.id, to.id, type));
  if (existing !== undefined) fail('relation_exists', { relationId: existing.id });
}

async function closesCycle({ db, tenantId }: Context, from: Task, to: Task, type: string): Promise<boolean> {
  if (type === 'parent') return (await db.row(isAncestor(tenantId, from.id, to.id)))?.found === true;
  const [waiting, prerequisite] = type === 'depends_on' ? [from, to] : [to, from];
  return (await db.row(isPrerequisite(tenantId, waiting.id, prerequisite.id)))?.found === true;
}

/**
 * Relates a task that was created in this transaction. No relation points to it yet, so no cycle is possible and no
 * lock on the tenant's relations is needed. The author is the service, because a declaration requires the relation: the
 * principal that acts for the declaration may not remove the obstacle that it creates.
 * @throws Refusal those of `refuseBeyondLimit`
 */
export async function relateNewTask(
  context: Context,
  task: Task,
  { toTaskId, type }: Pick<TaskRelation, 'toTaskId' | 'type'>,
): Promise<void> {
  const { db, tenantId } = context;
  const ends = { fromTaskId: task.id, toTaskId, type };
  const createdBy = await getCorePrincipalId(context);
  const row = await db.row(insertRelation({ id: newId(), tenantId, ...ends, createdBy }));
  if (row === undefined) throw new Error('a new task already has a relation');
  await refuseBeyondLimit(context, toTaskId);
  const about = { entityId: task.id, workspaceId: task.workspaceId };
  emit(context, taskRelationAdded, about, { relationId: row.id, toTaskId, type });
}

/**
 * Lists the relations of a task in both directions, oldest first, without those to tasks that the caller can't see.
 * @throws Refusal `not_found`
 */
export async function listTaskRelations(context: Context, ref: TaskRef): Promise<TaskRelation[]> {
  const { id } = await getTask(context, ref);
  const relations = (await context.db.rows(findRelations(context.tenantId, id))).map(taskRelationOf);
  return filterVisibleRelations(context, relations);
}

/** The relations for which the caller can see both tasks (docs/reference/README.md#visibility). */
export async function filterVisibleRelations<Relation extends Pick<TaskRelation, 'fromTaskId' | 'toTaskId'>>(
  context: Context,
  relations: readonly Relation[],
): Promise<Relation[]> {
  const ends = relations.flatMap(({ fromTaskId, toTaskId }) => [fromTaskId, toTaskId]);
  const seen = await tasksInSight(context, ends);
  return relations.filter(({ fromTaskId, toTaskId }) => seen.has(fromTaskId) && seen.has(toTaskId));
}

/**
 * Removes a relation that has the task at either end. The spawning task decides whether a task's checks require a
 * person, so a principal that does the work must not remove a `spawned_by` relation; a principal that may define task
 * types can. A relation that blocks a task can be removed by its author or by a person, but never by a principal that
 * works on that task or had a run of it.
 * @throws Refusal `not_found`, for spawned_by `permission_denied` without task_types.manage, and
 * `acceptance_protected`
 */
export async function deleteTaskRelation(
  context: Context,
  ref: TaskRef,
  relationId: string,
): Promise<undefined> {
  const task = await getTask(context, ref);
  const { db, tenantId } = context;
  const found = await db.row(findRelationOf(tenantId, task.id, relationId));
  if (found === undefined) return fail('not_found', { relationId });
  await requireMayRemoveRelation(context, task.id, found);
  const row = await db.row(deleteRelation(tenantId, task.id, relationId));
  if (row === undefined) return fail('not_found', { relationId });
  const { id, fromTaskId, toTaskId, type } = taskRelationOf(row);
  if (type === 'spawned_by' && !holds(context.caller.permissions, 'task_types.manage'))
    fail('permission_denied', { required: ['task_types.manage'] });
  emit(
    context,
    taskRelationRemoved,
    { entityId: task.id, workspaceId: task.workspaceId },
    { relationId: id, fromTaskId, toTaskId, type },
  );
}

/**
 * @throws Refusal `not_found` for a relation to an invisible task, `acceptance_protected` for one that blocks a task
 */
async function requireMayRemoveRelation(
  context: Context,
  ofTaskId: string,
  { id, from_task_id, to_task_id, waiting_task_id, prerequisite_task_id, created_by }: TaskRelationRow,
): Promise<void> {
  const otherId = from_task_id === ofTaskId ? to_task_id : from_task_id;
  await requireSightOfTask(context, otherId, { relationId: id });
  if (waiting_task_id === null || prerequisite_task_id === null) return;
  // The prerequisite is locked first. A completion uses the same order: it locks the waiting tasks after the completed
  // one.
  await context.db.run(shareTask(context.tenantId, prerequisite_task_id));
  await lockTaskRow(context, { id: waiting_task_id, number: null });
  await requireMayRemove(context, waiting_task_id, [{ key: `relation:${id}`, addedBy: created_by }]);
}
