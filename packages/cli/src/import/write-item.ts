import { type BatonClient, BatonError, type Task, type TaskChange } from '@baton/sdk';
import type { Attempt } from '../attempt-keys.ts';
import type { ImportChange } from './compare.ts';
import {
  cannotHoldReason,
  holdCapability,
  isUnfinished,
  otherRequirements,
  type Requirements,
} from './hold-tasks.ts';
import { originOf, type SourceKind } from './known-tasks.ts';
import type { FieldName, PlannedItem } from './planned-item.ts';
import type { Targets } from './targets.ts';
import {
  findCancelledStatus,
  findInitialStatus,
  findNextStatus,
  findOpenStatus,
  isBlockedInVain,
  isReachable,
} from './task-status.ts';

/** The context of writing items. */
export interface Writing {
  readonly baton: BatonClient;
  /** Generates the idempotency keys. */
  readonly attempt: Attempt;
  readonly kind: SourceKind;
  readonly targets: Targets;
  /** The tasks of items, including those of earlier imports. */
  readonly taskIds: Map<string, string>;
  /** Called with a failure that doesn't end the import. */
  leaveOut(reason: string, example: string): void;
}

/** A task that still needs `finishTask`. */
export interface UnfinishedTask {
  readonly task: Task;
  /** Its other requirements, if it is held back. */
  readonly others: Requirements | undefined;
}

export interface WrittenTask {
  readonly taskId: string;
  readonly unfinished: UnfinishedTask | undefined;
}

/**
 * Creates or changes the task of an item, except for its relations, its comments, and the status of an unfinished one.
 * @param isHeld whether a new task is held back until `finishTask`, so that no agent takes it in between
 * @throws BatonError
 */
export async function writeTask(
  writing: Writing,
  change: ImportChange,
  isHeld: boolean,
): Promise<WrittenTask> {
  const { known } = change;
  if (known === undefined) {
    const task = await createTask(writing, change.item, isHeld);
    const others = isHeld ? { roles: [], capabilities: [], skills: [] } : undefined;
    return { taskId: task.id, unfinished: { task, others } };
  }
  const { taskId } = known;
  const task = await rewriteTask(writing, change, taskId);
  if (!isUnfinished(change) || task === undefined) return { taskId, unfinished: undefined };
  // Its import was interrupted, and may have held it back.
  return { taskId, unfinished: { task, others: await otherRequirements(writing.baton, taskId) } };
}

async function createTask(writing: Writing, item: PlannedItem, isHeld: boolean): Promise<Task> {
  const { baton, attempt, kind, targets } = writing;
  const { lifecycleSchema, key } = targets.typeOf(item);
  const workspaceId = targets.workspaceIdOf(item);
  const status = findInitialStatus(item, lifecycleSchema);
  const body = {
    ...valuesOf(item),
    typeKey: key,
    origin: { kind: 'external' as const, ref: originOf(kind, item.id) },
    ...(workspaceId !== undefined && { workspaceId }),
    ...(status !== undefined && { status }),
    ...(isHeld && { requirements: { capabilities: [holdCapability] } }),
  };
  try {
    return await baton.tasks.create(body, { idempotencyKey: attempt.keyOf('task', body) });
  } catch (error) {
    if (!isHeld || !(error instanceof BatonError) || error.code !== 'unknown_requirement') throw error;
    // Without the permission to read capabilities, only this error shows that the capability is missing.
    writing.leaveOut(cannotHoldReason, item.id);
    return createTask(writing, item, false);
  }
}

/** The members of a task that come from the source. */
function valuesOf(item: PlannedItem) {
  const { title, description, priority, assigneeId, dueDate, startDate, acceptance, customFields } = item;
  return {
    title,
    description,
    priority,
    customFields: { ...customFields },
    ...(assigneeId !== undefined && { assigneeId }),
    ...(dueDate !== undefined && { dueDate }),
    ...(startDate !== undefined && { startDate }),
    ...(acceptance !== undefined && { acceptance: [...acceptance] }),
  };
}

/** @returns the changed task; undefined without a change */
async function rewriteTask(
  writing: Writing,
  change: ImportChange,
  taskId: string,
): Promise<Task | undefined> {
  const { item, fields } = change;
  if (fields.length === 0) return undefined;
  const { baton } = writing;
  let task = await baton.tasks.get(taskId);
  const patch = patchOf(item, fields, task);
  if (Object.keys(patch).length > 0) task = await baton.tasks.update(taskId, patch, { ifMatch: tagOf(task) });
  if (fields.includes('status') && !isUnfinished(change)) await moveTask(writing, item, task);
  return task;
}

function patchOf(item: PlannedItem, fields: readonly FieldName[], task: Task): TaskChange {
  const { title, description, priority, assigneeId = null, dueDate = null, customFields } = item;
  const { startDate = null, acceptance = [] } = item;
  const imported = new Set(acceptance.map(({ key }) => key));
  const values = {
    title,
    description,
    priority,
    assignee: { assigneeId },
    dueDate,
    // Custom fields that others wrote remain.
    customFields: { ...task.customFields, ...customFields },
    startDate,
    // Only people can remove a check.
    acceptance: [...task.acceptance.filter(({ key }) => !imported.has(key)), ...acceptance],
  };
  return Object.assign(
    {},
    ...fields.map((name) => {
      if (name === 'status') return {};
      return name === 'assignee' ? values.assignee : { [name]: values[name] };
    }),
  ) as TaskChange;
}

/** Moves a task to the status of the source. */
async function moveTask(writing: Writing, item: PlannedItem, task: Task): Promise<void> {
  const { baton, targets, leaveOut } = writing;
  if (item.status === 'done') {
    await completeTask(writing, item, task);
    return;
  }
  const { lifecycleSchema } = targets.typeOf({ typeKey: task.typeKey });
  const isOver = task.systemStatusCategory.startsWith('terminal_');
  if (isOver && item.status !== 'cancelled')
    leaveOut('is open again in the source, but ended here: an ended task is not reopened', item.id);
  if (task.systemStatusCategory === 'terminal_success' && item.status === 'cancelled')
    leaveOut('is cancelled in the source, but done here: an ended task is not changed', item.id);
  if (isOver) return;
  const status =
    item.status === 'cancelled'
      ? findCancelledStatus(item.statusKey, lifecycleSchema)
      : findOpenStatus(item, lifecycleSchema);
  const category = lifecycleSchema.statuses.find(({ key }) => key === status)?.category;
  if (status === undefined && item.status === 'blocked')
    leaveOut(`is blocked, and its task type has no such status: it remains in ${task.status}`, item.id);
  if (status === undefined || category === task.systemStatusCategory) return;
  await baton.tasks.update(task.id, { status }, { ifMatch: tagOf(task) });
}

async function completeTask({ baton, leaveOut }: Writing, item: PlannedItem, task: Task): Promise<Task> {
  if (task.systemStatusCategory === 'terminal_cancelled')
    leaveOut('is done in the source, but cancelled here', item.id);
  if (task.systemStatusCategory.startsWith('terminal_')) return task;
  const done = await matched(baton, task, async (now) =>
    now.systemStatusCategory.startsWith('terminal_')
      ? now
      : baton.tasks.complete(now.id, {}, { ifMatch: tagOf(now) }),
  );
  if (!done.systemStatusCategory.startsWith('terminal_'))
    leaveOut('is done in the source; here its checks decide whether it is', item.id);
  return done;
}

/** Sets the status of a created task, and releases it if it was held back. */
export async function finishTask(
  writing: Writing,
  item: PlannedItem,
  { task, others }: UnfinishedTask,
): Promise<void> {
  const { baton } = writing;
  const newest = item.status === 'done' ? await completeTask(writing, item, task) : task;
  await matched(baton, newest, async (now) => {
    if (isBlockedHere(writing, item, now)) return now;
    const requirements =
      others === undefined || now === newest ? others : await otherRequirements(baton, now.id);
    const status = statusToGive(writing, item, now);
    if (requirements === undefined && status === undefined) return now;
    const change = {
      ...(status !== undefined && { status }),
      ...(requirements !== undefined && { requirements }),
    };
    return baton.tasks.update(now.id, change, { ifMatch: tagOf(now) });
  });
}

/** Whether only the import's requirement keeps agents from a task that is blocked in its source. */
function isBlockedHere({ targets, leaveOut }: Writing, item: PlannedItem, task: Task): boolean {
  const { lifecycleSchema, key } = targets.typeOf({ typeKey: task.typeKey });
  if (!isBlockedInVain(item, task, lifecycleSchema)) return false;
  leaveOut(
    `is blocked, and the task type ${key} has no transition to a blocked status: it stays held back`,
    item.id,
  );
  return true;
}

function statusToGive({ targets, leaveOut }: Writing, item: PlannedItem, task: Task): string | undefined {
  const { lifecycleSchema } = targets.typeOf({ typeKey: task.typeKey });
  const status = findNextStatus(item, task, lifecycleSchema);
  if (status === undefined || item.status === 'cancelled') return status;
  if (isReachable(task.status, status, lifecycleSchema)) return status;
  leaveOut(`has a status that can't be reached from ${task.status}, where it stays`, item.id);
  return undefined;
}

/** Not `etagOf`: the replayed response to a creation has no ETag. */
const tagOf = ({ version }: Task): string => `"task-${version}"`;

/** The replayed response to a creation has an old version, so the task is read again. */
async function matched(baton: BatonClient, task: Task, write: (now: Task) => Promise<Task>): Promise<Task> {
  try {
    return await write(task);
  } catch (error) {
    if (!(error instanceof BatonError) || error.code !== 'version_conflict') throw error;
    return write(await baton.tasks.get(task.id));
  }
}

/** Adds the new comments of an item. @returns the keys of all its comments */
export async function writeComments(
  writing: Writing,
  change: ImportChange,
  taskId: string,
): Promise<string[]> {
  const { baton, attempt, leaveOut } = writing;
  const made = [...(change.known?.comments ?? [])];
  const bodies = new Map<string, number>();
  // An interrupted import may already have added some of the comments.
  if (change.known !== undefined)
    for await (const { body } of baton.tasks.listComments(taskId, { limit: 200 }))
      bodies.set(body, (bodies.get(body) ?? 0) + 1);
  for (const { body, key } of change.newComments) {
    const saidBefore = bodies.get(body) ?? 0;
    bodies.set(body, saidBefore - 1);
    try {
      if (saidBefore <= 0)
        await baton.tasks.createComment(
          taskId,
          { body },
          { idempotencyKey: attempt.keyOf('comment', taskId, key, body) },
        );
      made.push(key);
    } catch (error) {
      if (!(error instanceof BatonError) || error.code !== 'secret_material_rejected') throw error;
      leaveOut('comment seems to contain a secret', change.item.id);
    }
  }
  return made;
}

/** Another person's import has created the task of an item concurrently. */
export class Overtaken extends Error {}

/**
 * Sets the external reference of a new task before other writes: a reference is unique, so of two concurrent imports of
 * one item, one is rejected here. The reference has no content yet.
 * @throws Overtaken, BatonError
 */
export function claimName(writing: Writing, change: ImportChange, taskId: string): Promise<void> {
  return putName(writing, change, taskId, {});
}

async function putName(
  writing: Writing,
  change: ImportChange,
  taskId: string,
  metadata: Readonly<Record<string, unknown>>,
): Promise<void> {
  const { baton, kind } = writing;
  const { id: externalId } = change.item;
  const name = { externalSystem: kind.system, externalType: kind.type, externalId };
  try {
    await baton.externalReferences.put({ entityType: 'task', entityId: taskId, ...name, metadata });
  } catch (error) {
    const theirs = holderIn(error);
    // A task of an earlier import may belong to another person.
    if (theirs === undefined || change.known !== undefined) throw error;
    // Other items are related to this task.
    writing.taskIds.set(externalId, theirs);
    throw await withdrawTask(writing, taskId);
  }
}

/** The task that has the reference already; undefined for another failure, or if the caller may not see that task. */
function holderIn(error: unknown): string | undefined {
  if (!(error instanceof BatonError) || error.code !== 'external_reference_conflict') return undefined;
  const { entityType, entityId } = error.details;
  return entityType === 'task' && typeof entityId === 'string' ? entityId : undefined;
}

/** Cancels a task that this import has created, if possible. */
async function withdrawTask({ baton, targets }: Writing, taskId: string): Promise<Overtaken> {
  const task = await baton.tasks.get(taskId);
  const { lifecycleSchema } = targets.typeOf({ typeKey: task.typeKey });
  const status = findCancelledStatus(undefined, lifecycleSchema);
  const sentence = 'Somebody else imported it at the same time, and that task is used.';
  const toDo = `${sentence} Cancel ${task.publicId}, which this import created, and run it again.`;
  if (status === undefined) return new Overtaken(toDo);
  try {
    await baton.tasks.update(taskId, { status }, { ifMatch: tagOf(task) });
    return new Overtaken(
      `${sentence} ${task.publicId}, which this import created, is cancelled: run it again.`,
    );
  } catch (error) {
    if (!(error instanceof BatonError) || ![403, 409, 422].includes(error.status)) throw error;
    return new Overtaken(toDo);
  }
}

/**
 * Stores the result of the item for the next import.
 * @throws Overtaken, BatonError
 */
export async function writeReference(
  writing: Writing,
  change: ImportChange,
  taskId: string,
  { links, comments }: { readonly links: readonly string[]; readonly comments: readonly string[] },
): Promise<void> {
  const { baton, leaveOut } = writing;
  const { item, known } = change;
  const entity = { entityType: 'task', entityId: taskId };
  for (const name of known === undefined || Object.keys(known.fields).length === 0 ? (item.names ?? []) : [])
    await baton.externalReferences
      .put({ ...entity, ...name, metadata: { ...name.metadata } })
      .catch((error) => {
        if (!(error instanceof BatonError) || error.code !== 'external_reference_conflict') throw error;
        leaveOut('external reference belongs to another task', `${item.id}: ${name.externalId}`);
      });
  const metadata = { fields: item.fields, links: [...links], comments: [...comments] };
  await putName(writing, change, taskId, metadata);
}
