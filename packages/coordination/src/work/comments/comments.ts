import { type ItemPage, listPage } from '@baton/kernel/database/list';
import type { Page } from '@baton/kernel/http/paging';
import { newId } from '@baton/values/ids';
import { requireMayHangOn } from '../../access/policy/filed-in.ts';
import { getCorePrincipalId } from '../../access/principals/principals.ts';
import { requireRunGrant } from '../../leases/children/child-grant.ts';
import { emit } from '../../ledger/journal/journal.ts';
import { refuseSecretText } from '../../service/documents.ts';
import { viewerOf } from '../../service/sight/sight.ts';
import type { Context } from '../context.ts';
import { fail } from '../errors.ts';
import { findMentions } from '../tasks/mentions/mention-text.ts';
import { recordMentions } from '../tasks/mentions/mentions.ts';
import type { Task } from '../tasks/task.ts';
import type { TaskRef } from '../tasks/task-ref.ts';
import { getTask } from '../tasks/tasks.ts';
import {
  type CommentRow,
  commentCharactersMax,
  commentOf,
  type NewTaskComment,
  revisionOf,
  type TaskComment,
  type TaskCommentRevision,
} from './comment.ts';
import { commentAdded, commentEdited } from './comments.events.ts';
import {
  findComment,
  findComments,
  findRevisions,
  findSubject,
  insertComment,
  lockComment,
  type Subject,
  updateComment,
} from './comments.sql.ts';

type AboutTask = Pick<Task, 'id' | 'workspaceId'>;

/**
 * Adds a comment to a task, in any status (docs/reference/comments-and-goals.md#comments).
 * @throws Refusal `not_found`, `invalid_comment_body`, `payload_too_large`, `secret_material_rejected`,
 * `child_grant_exceeded`, `comment_mismatch` for a run or an artifact of another task
 */
export async function createTaskComment(
  context: Context,
  ref: TaskRef,
  request: NewTaskComment,
): Promise<TaskComment> {
  const task = await getTask(context, ref);
  await requireMayHangOn(context, 'tasks.write', task);
  const body = normalizeBody(request.body);
  const [runId, artifactId] = [request.runId ?? null, request.artifactId ?? null];
  if (runId !== null || artifactId !== null) {
    const about = { runId, artifactId };
    const viewerId = await viewerOf(context);
    const found = (await context.db.row(findSubject(context.tenantId, viewerId, about))) as Subject;
    if (runId !== null && !found.run_found) fail('not_found', { runId });
    if (artifactId !== null && !found.artifact_found) fail('not_found', { artifactId });
    if (runId !== null) await requireRunGrant(context, runId, 'tasks.write');
    if (runId !== null && found.run_task_id !== task.id) fail('comment_mismatch', { runId });
    if (artifactId !== null && found.artifact_task_id !== task.id) fail('comment_mismatch', { artifactId });
  }
  return write(context, task, { authorPrincipalId: context.caller.principalId, body, runId, artifactId });
}

/**
 * Adds a comment of the caller, which may mention others. The actions of an outcome use `createTaskComment` instead.
 * @throws Refusal those of `createTaskComment`
 */
export async function createOwnComment(
  context: Context,
  ref: TaskRef,
  request: NewTaskComment,
): Promise<TaskComment> {
  const comment = await createTaskComment(context, ref, request);
  const { body: text, id: commentId } = comment;
  if (findMentions(text).length > 0)
    await recordMentions(context, await getTask(context, ref), { text, commentId, isNew: true });
  return comment;
}

/**
 * Adds a comment by the service itself.
 * @param body without secrets, 1 to 10 000 characters
 */
export async function writeCoreComment(context: Context, task: AboutTask, body: string): Promise<void> {
  const authorPrincipalId = await getCorePrincipalId(context);
  await write(context, task, { authorPrincipalId, body, runId: null, artifactId: null });
}

async function write(
  context: Context,
  task: AboutTask,
  said: { authorPrincipalId: string; body: string; runId: string | null; artifactId: string | null },
): Promise<TaskComment> {
  const { tenantId } = context;
  const row = await context.db.row(insertComment({ id: newId(), tenantId, taskId: task.id, ...said }));
  note(context, commentAdded, task, row as CommentRow);
  return commentOf(row as CommentRow);
}

function note(
  context: Context,
  event: typeof commentAdded,
  task: AboutTask,
  { id: commentId, author_principal_id: authorPrincipalId, version, body, ...row }: CommentRow,
): void {
  const about = { runId: row.run_id, artifactId: row.artifact_id };
  emit(
    context,
    event,
    { entityId: task.id, workspaceId: task.workspaceId },
    { commentId, authorPrincipalId, version, bodyLength: body.length, ...about },
  );
}

/** Lists the comments of a task, oldest first. @throws Refusal `not_found`, `invalid_cursor` */
export async function listTaskComments(
  context: Context,
  ref: TaskRef,
  page: Page,
): Promise<ItemPage<TaskComment>> {
  const { id } = await getTask(context, ref);
  return listPage(context.db, findComments(context.tenantId, id, page), commentOf);
}

/** @throws Refusal `not_found` */
export async function getTaskComment(
  context: Context,
  ref: TaskRef,
  commentId: string,
): Promise<TaskComment> {
  const { id } = await getTask(context, ref);
  const row = await context.db.row(findComment(context.tenantId, id, commentId));
  return row === undefined ? fail('not_found', { commentId }) : commentOf(row);
}

/**
 * Replaces the text of a comment, for its author only. An identical text changes nothing.
 * @throws Refusal `not_found`, `not_comment_author`, `version_conflict`, `invalid_comment_body`, `payload_too_large`,
 * `secret_material_rejected`
 */
export async function updateTaskComment(
  context: Context,
  ref: TaskRef,
  commentId: string,
  { ifMatch, body: sent }: { ifMatch: number; body: string },
): Promise<TaskComment> {
  const { db, tenantId, caller } = context;
  const task = await getTask(context, ref);
  const before = await db.row(lockComment(tenantId, task.id, commentId));
  if (before === undefined) return fail('not_found', { commentId });
  if (before.author_principal_id !== caller.principalId) fail('not_comment_author', { commentId });
  if (before.version !== ifMatch)
    fail('version_conflict', {
      commentId,
      entity: 'comment',
      id: commentId,
      expectedVersion: ifMatch,
      currentVersion: before.version,
    });
  const body = normalizeBody(sent);
  if (body === before.body) return commentOf(before);
  const change = { tenantId, commentId, body, revisionId: newId(), editedBy: caller.principalId };
  const row = (await db.row(updateComment(change))) as CommentRow;
  note(context, commentEdited, task, row);
  await recordMentions(context, task, { text: body, commentId, isNew: false });
  return commentOf(row);
}

/** Lists the replaced texts, oldest first. @throws Refusal `not_found`, `invalid_cursor` */
export async function listTaskCommentRevisions(
  context: Context,
  ref: TaskRef,
  commentId: string,
  page: Page,
): Promise<ItemPage<TaskCommentRevision>> {
  const { id } = await getTaskComment(context, ref, commentId);
  return listPage(context.db, findRevisions(context.tenantId, id, page), revisionOf);
}

function normalizeBody(sent: string): string {
  const text = sent.trim();
  if (text === '') fail('invalid_comment_body');
  if (text.length > commentCharactersMax)
    fail('payload_too_large', {
      field: 'body',
      maxCharacters: commentCharactersMax,
      actualCharacters: text.length,
    });
  refuseSecretText(text, 'body');
  return text;
}
