import { createHash } from 'node:crypto';
import { type BatonClient, BatonError, etagOf, type Task, type TaskChange } from '@baton/sdk';
import { type ImportChange, linkText } from './compare.ts';
import { originOf, type SourceKind } from './known-tasks.ts';
import type { FieldName, PlannedItem } from './planned-item.ts';
import type { Link } from './source.ts';
import type { Targets } from './targets.ts';
import { cancelledStatusOf, heldStatusOf, openStatusOf } from './task-status.ts';

/** What the writing of items works with. */
export interface Writing {
  readonly baton: BatonClient;
  readonly kind: SourceKind;
  readonly targets: Targets;
  /** The tasks of items, also of those that only an import before knew. */
  readonly taskIds: Map<string, string>;
  /** Is told what could not be done, which does not end the import. */
  leaveOut(reason: string, example: string): void;
}

/** A task that is written but for its relations and comments. */
export interface WrittenTask {
  readonly taskId: string;
  /** Whether it waits in a status in which nobody is offered it, until its relations are made. */
  readonly isHeld: boolean;
}

/**
 * Makes or changes the task of an item. A new one that waits for others is held back until they are related, or an agent
 * could take it in between.
 * @throws BatonError
 */
export async function writeTask(
  writing: Writing,
  change: ImportChange,
  mustWait: boolean,
): Promise<WrittenTask> {
  const { baton, kind, targets } = writing;
  const { item, known } = change;
  if (known !== undefined) {
    await rewriteTask(writing, change, known.taskId);
    // An import that was ended half-way may have left it held.
    return { taskId: known.taskId, isHeld: known.fields['status'] === undefined && item.status === 'open' };
  }
  const isOpen = item.status !== 'done' && item.status !== 'cancelled';
  const { lifecycleSchema, key } = targets.typeOf(item);
  const wanted = isOpen ? openStatusOf(item, lifecycleSchema) : undefined;
  const held =
    isOpen && item.status === 'open' && mustWait ? heldStatusOf(wanted, lifecycleSchema) : undefined;
  const workspaceId = targets.workspaceIdOf(item);
  const status = held ?? (wanted === lifecycleSchema.initialStatus ? undefined : wanted);
  const created = await baton.tasks.create(
    {
      ...valuesOf(item),
      typeKey: key,
      origin: { kind: 'external', ref: originOf(kind, item.id) },
      ...(workspaceId !== undefined && { workspaceId }),
      ...(status !== undefined && { status }),
    },
    // Two imports at the same time make one task.
    { idempotencyKey: keyOf(kind, item.id, 'task') },
  );
  await moveTask(writing, item, created, { isNew: true });
  return { taskId: created.id, isHeld: held !== undefined };
}

/** The members of a task that are as the source says. */
function valuesOf({ title, description, priority, assigneeId, dueDate, customFields }: PlannedItem) {
  return {
    title,
    description,
    priority,
    customFields: { ...customFields },
    ...(assigneeId !== undefined && { assigneeId }),
    ...(dueDate !== undefined && { dueDate }),
  };
}

async function rewriteTask(
  writing: Writing,
  { item, fields, known }: ImportChange,
  taskId: string,
): Promise<void> {
  if (fields.length === 0) return;
  const { baton } = writing;
  let task = await baton.tasks.get(taskId);
  const patch = patchOf(item, fields, task);
  if (Object.keys(patch).length > 0)
    task = await baton.tasks.update(taskId, patch, { ifMatch: etagOf(task) });
  if (fields.includes('status'))
    await moveTask(writing, item, task, { isNew: known?.fields['status'] === undefined });
}

function patchOf(item: PlannedItem, fields: readonly FieldName[], task: Task): TaskChange {
  const { title, description, priority, assigneeId = null, dueDate = null, customFields } = item;
  const values = {
    title,
    description,
    priority,
    assignee: { assigneeId },
    dueDate,
    // What others have written there stays.
    customFields: { ...task.customFields, ...customFields },
  };
  return Object.assign(
    {},
    ...fields.map((name) => {
      if (name === 'status') return {};
      return name === 'assignee' ? values.assignee : { [name]: values[name] };
    }),
  ) as TaskChange;
}

/** Brings a task to where the source has it. */
async function moveTask(
  writing: Writing,
  item: PlannedItem,
  task: Task,
  { isNew }: { readonly isNew: boolean },
): Promise<void> {
  const { baton, targets, leaveOut } = writing;
  const { lifecycleSchema } = targets.typeOf({ typeKey: task.typeKey });
  const isOver = task.systemStatusCategory.startsWith('terminal_');
  if (item.status === 'done') {
    if (task.systemStatusCategory === 'terminal_success') return;
    if (isOver) return leaveOut('is done in the source, and cancelled here', item.id);
    await matched(baton, task, (ifMatch) => baton.tasks.complete(task.id, {}, { ifMatch }));
    return;
  }
  if (item.status === 'cancelled') {
    const status = cancelledStatusOf(item.statusKey, lifecycleSchema);
    if (isOver || status === undefined) return;
    await matched(baton, task, (ifMatch) => baton.tasks.update(task.id, { status }, { ifMatch }));
    return;
  }
  if (isOver) {
    if (!isNew) leaveOut('is open again in the source, and ended here: a task that ended stays so', item.id);
    return;
  }
  const status = openStatusOf(item, lifecycleSchema);
  const category = lifecycleSchema.statuses.find(({ key }) => key === status)?.category;
  if (isNew || status === undefined || category === task.systemStatusCategory) return;
  await matched(baton, task, (ifMatch) => baton.tasks.update(task.id, { status }, { ifMatch }));
}

/** Lets a task that was held back be offered. */
export async function releaseTask(
  { baton, targets }: Writing,
  item: PlannedItem,
  taskId: string,
): Promise<void> {
  const task = await baton.tasks.get(taskId);
  const status = openStatusOf(item, targets.typeOf(item).lifecycleSchema);
  if (task.systemStatusCategory === 'backlog' && status !== undefined)
    await baton.tasks.update(taskId, { status }, { ifMatch: etagOf(task) });
}

/** A repeated answer of a creation holds an old version: it is read again then, once. */
async function matched(
  baton: BatonClient,
  task: Task,
  write: (ifMatch: string) => Promise<unknown>,
): Promise<void> {
  try {
    await write(etagOf(task));
  } catch (error) {
    if (!(error instanceof BatonError) || error.code !== 'version_conflict') throw error;
    const again = await baton.tasks.get(task.id);
    if (!again.systemStatusCategory.startsWith('terminal_')) await write(etagOf(again));
  }
}

/** Makes and removes the relations of a task. @returns those that there are now, as the next import compares them */
export async function writeLinks(writing: Writing, change: ImportChange, taskId: string): Promise<string[]> {
  const { baton, taskIds, leaveOut } = writing;
  const made = new Set(change.known?.links ?? []);
  for (const link of change.addedLinks) {
    const toTask = taskIds.get(link.to);
    if (toTask === undefined)
      leaveOut('relation points to what could not be made', `${change.item.id} → ${link.to}`);
    else if (await isRelated(writing, taskId, toTask, link, change.item.id)) made.add(linkText(link));
  }
  if (change.removedLinks.length === 0) return [...made];
  const { items } = await baton.tasks.listRelations(taskId);
  for (const link of change.removedLinks) {
    const toTask = taskIds.get(link.to);
    const found = items.find(
      ({ fromTaskId, toTaskId, type }) => fromTaskId === taskId && toTaskId === toTask && type === link.type,
    );
    if (found !== undefined) await baton.tasks.deleteRelation(taskId, found.id);
    made.delete(linkText(link));
  }
  return [...made];
}

async function isRelated(
  { baton, leaveOut }: Writing,
  taskId: string,
  toTask: string,
  { type }: Link,
  id: string,
): Promise<boolean> {
  try {
    await baton.tasks.createRelation(taskId, { toTask, type });
    return true;
  } catch (error) {
    if (!(error instanceof BatonError)) throw error;
    if (error.code === 'relation_exists') return true;
    if (!['dependency_cycle', 'invalid_relation', 'not_found'].includes(error.code)) throw error;
    leaveOut(`relation was refused (${error.code})`, id);
    return false;
  }
}

/** Says the comments of an item that were not said before. @returns the keys of all that there are now */
export async function writeComments(
  writing: Writing,
  change: ImportChange,
  taskId: string,
): Promise<string[]> {
  const { baton, kind, leaveOut } = writing;
  const made = [...(change.known?.comments ?? [])];
  const bodies = new Map<string, number>();
  // An import that was ended half-way may have said some of them.
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
          { idempotencyKey: keyOf(kind, change.item.id, `comment ${key}`) },
        );
      made.push(key);
    } catch (error) {
      if (!(error instanceof BatonError) || error.code !== 'secret_material_rejected') throw error;
      leaveOut('comment holds what looks like a secret', change.item.id);
    }
  }
  return made;
}

/** Keeps what was made of the item, for the next import. */
export async function writeReference(
  { baton, kind, leaveOut }: Writing,
  { item, known }: ImportChange,
  taskId: string,
  { links, comments }: { readonly links: readonly string[]; readonly comments: readonly string[] },
): Promise<void> {
  const entity = { entityType: 'task', entityId: taskId };
  for (const name of known === undefined || Object.keys(known.fields).length === 0 ? (item.names ?? []) : [])
    await baton.externalReferences
      .put({ ...entity, ...name, metadata: { ...name.metadata } })
      .catch((error) => {
        if (!(error instanceof BatonError) || error.code !== 'external_reference_conflict') throw error;
        leaveOut('name of another system belongs to another task', `${item.id}: ${name.externalId}`);
      });
  await baton.externalReferences.put({
    ...entity,
    externalSystem: kind.system,
    externalType: kind.type,
    externalId: item.id,
    metadata: { fields: item.fields, links: [...links], comments: [...comments] },
  });
}

/** A key under which the service does a write of an item once. */
function keyOf({ system, type }: SourceKind, id: string, what: string): string {
  return `import-${createHash('sha256')
    .update(JSON.stringify([system, type, id, what]))
    .digest('hex')
    .slice(0, 48)}`;
}
