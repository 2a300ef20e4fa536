import { emit } from '../../../ledger/journal/journal.ts';
import type { Context } from '../../context.ts';
import type { NewTask, Task, TaskChange } from '../task.ts';
import { updateTask } from '../task-changes.ts';
import type { TaskRef } from '../task-ref.ts';
import { createTask } from '../tasks.ts';
import { findMentions, mentionsMax } from './mention-text.ts';
import { taskMentioned } from './mentions.events.ts';
import { replaceMentions } from './mentions.sql.ts';

type AboutTask = Pick<Task, 'id' | 'publicId' | 'workspaceId'>;

interface WrittenText {
  readonly text: string;
  /** Null for the description of the task. */
  readonly commentId: string | null;
  /** A new text has no earlier mentions that it could remove. */
  readonly isNew: boolean;
}

/**
 * Records who a text mentions, and writes one event with those that it mentions for the first time
 * (docs/reference/comments-and-goals.md#mentions). The text's comment or task is locked, or was just inserted. The
 * caller is the author.
 */
export async function recordMentions(
  context: Context,
  task: AboutTask,
  { text, commentId, isNew }: WrittenText,
): Promise<void> {
  const principalIds = findMentions(text);
  if (isNew && principalIds.length === 0) return;
  const { tenantId, caller } = context;
  const authorId = caller.principalId;
  const of = { tenantId, taskId: task.id, sourceId: commentId ?? task.id, authorId };
  const added = await context.db.rows(replaceMentions({ ...of, principalIds, rowsMax: mentionsMax }));
  if (added.length === 0) return;
  emit(
    context,
    taskMentioned,
    { entityId: task.id, workspaceId: task.workspaceId },
    {
      publicId: task.publicId,
      commentId,
      authorPrincipalId: authorId,
      principalIds: added.map(({ principal_id }) => principal_id),
    },
  );
}

/**
 * Creates a task of the caller, whose description may mention others. Rules, processes and outcomes use `createTask`
 * instead, so that a description that they copy notifies nobody again.
 * @throws Refusal those of `createTask`
 */
export async function createOwnTask(context: Context, request: NewTask): Promise<Task> {
  const task = await createTask(context, request);
  await recordMentions(context, task, { text: task.description, commentId: null, isNew: true });
  return task;
}

/** Changes a task for the caller, likewise. @throws Refusal those of `updateTask` */
export async function updateOwnTask(
  context: Context,
  ref: TaskRef,
  ifMatch: number,
  change: TaskChange,
): Promise<Task> {
  const task = await updateTask(context, ref, ifMatch, change);
  if (change.description != null)
    await recordMentions(context, task, { text: task.description, commentId: null, isNew: false });
  return task;
}
