import { pageOf, Uuid } from '@baton/values/wire';
import { endpoint } from '../context.ts';
import { taskMentioned } from '../tasks/mentions/mentions.events.ts';
import { TaskRef } from '../tasks/task-ref.ts';
import { NewTaskComment, TaskComment, TaskCommentChange, TaskCommentRevision } from './comment.ts';
import { commentAdded, commentEdited } from './comments.events.ts';
import {
  createOwnComment,
  getTaskComment,
  listTaskCommentRevisions,
  listTaskComments,
  updateTaskComment,
} from './comments.ts';

const params = { ref: TaskRef };
const commentParams = { ref: TaskRef, id: Uuid };
const bodyErrors = ['invalid_comment_body', 'payload_too_large', 'secret_material_rejected'] as const;

export const commentsApi = [
  endpoint({
    id: 'createTaskComment',
    method: 'POST',
    path: '/tasks/{ref}/comments',
    summary: 'Add a comment to a task.',
    description: 'It may refer to a run or an artifact of the task. Closed tasks accept comments too.',
    permission: 'tasks.write',
    params,
    body: NewTaskComment,
    returns: { 201: TaskComment },
    errors: ['not_found', ...bodyErrors, 'child_grant_exceeded', 'comment_mismatch'],
    emits: [commentAdded, taskMentioned],
    etag: 'comment',
    example: { body: 'The failure needs a cold cache to show.' },
    handle: (input, context) => createOwnComment(context, input.params.ref, input.body),
  }),
  endpoint({
    id: 'listTaskComments',
    method: 'GET',
    path: '/tasks/{ref}/comments',
    summary: 'List the comments of a task, oldest first.',
    permission: 'tasks.read',
    params,
    paging: true,
    returns: { 200: pageOf(TaskComment) },
    errors: ['not_found', 'invalid_cursor'],
    handle: (input, context) => listTaskComments(context, input.params.ref, input.page),
  }),
  endpoint({
    id: 'getTaskComment',
    method: 'GET',
    path: '/tasks/{ref}/comments/{id}',
    summary: 'Read a comment.',
    permission: 'tasks.read',
    params: commentParams,
    returns: { 200: TaskComment },
    errors: ['not_found'],
    etag: 'comment',
    handle: (input, context) => getTaskComment(context, input.params.ref, input.params.id),
  }),
  endpoint({
    id: 'updateTaskComment',
    method: 'PATCH',
    path: '/tasks/{ref}/comments/{id}',
    summary: 'Replace the text of your own comment.',
    description: 'An identical text changes nothing.',
    permission: 'tasks.write',
    params: commentParams,
    body: TaskCommentChange,
    returns: { 200: TaskComment },
    errors: ['not_found', 'not_comment_author', 'version_conflict', ...bodyErrors],
    emits: [commentEdited, taskMentioned],
    ifMatch: 'comment',
    etag: 'comment',
    example: { body: 'The failure needs a cold cache and two workers to show.' },
    handle: ({ params: { ref, id }, body: { body }, ifMatch }, context) =>
      updateTaskComment(context, ref, id, { ifMatch, body }),
  }),
  endpoint({
    id: 'listTaskCommentRevisions',
    method: 'GET',
    path: '/tasks/{ref}/comments/{id}/revisions',
    summary: 'List the earlier texts of a comment, oldest first.',
    permission: 'tasks.read',
    params: commentParams,
    paging: true,
    returns: { 200: pageOf(TaskCommentRevision) },
    errors: ['not_found', 'invalid_cursor'],
    handle: ({ params: { ref, id }, page }, context) => listTaskCommentRevisions(context, ref, id, page),
  }),
];
