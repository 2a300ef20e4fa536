import { queryBuilder } from '@baton/kernel/database/db';
import { type ListOrder, pageQuery } from '@baton/kernel/database/list';
import { sql } from '@baton/kernel/database/sql';
import type { Page } from '@baton/kernel/http/paging';
import type { CommentRow, RevisionRow } from './comment.ts';

export interface NewComment {
  id: string;
  tenantId: string;
  taskId: string;
  authorPrincipalId: string;
  body: string;
  runId: string | null;
  artifactId: string | null;
}

export function insertComment(comment: NewComment) {
  return sql<CommentRow>`
    insert into comments (id, tenant_id, task_id, author_principal_id, body, run_id, artifact_id)
    values (${comment.id}, ${comment.tenantId}, ${comment.taskId}, ${comment.authorPrincipalId}, ${comment.body},
      ${comment.runId}, ${comment.artifactId})
    returning *`;
}

export interface Subject {
  run_task_id: string | null;
  artifact_task_id: string | null;
  run_found: boolean;
  artifact_found: boolean;
}

/**
 * The tasks of the run and of the artifact that a comment refers to, if the viewer can see them.
 * @param viewerId null for a viewer who sees everything
 */
export function findSubject(
  tenantId: string,
  viewerId: string | null,
  { runId, artifactId }: { runId: string | null; artifactId: string | null },
) {
  return sql<Subject>`
    select r.id is not null as run_found, r.task_id as run_task_id, a.id is not null as artifact_found,
      a.task_id as artifact_task_id
    from (select) as nothing
    left join runs r on r.id = ${runId}::uuid and r.tenant_id = ${tenantId}
      and (${viewerId}::uuid is null or sees_task(${viewerId}, r.task_id))
    left join artifacts a on a.id = ${artifactId}::uuid and a.tenant_id = ${tenantId} and (${viewerId}::uuid is null or
      case when a.task_id is null then sees_workspace(${viewerId}, a.workspace_id) else sees_task(${viewerId}, a.task_id) end)`;
}

export function findComment(tenantId: string, taskId: string, commentId: string) {
  return sql<CommentRow>`
    select * from comments where id = ${commentId} and task_id = ${taskId} and tenant_id = ${tenantId}`;
}

export function lockComment(tenantId: string, taskId: string, commentId: string) {
  return sql<CommentRow>`
    select * from comments where id = ${commentId} and task_id = ${taskId} and tenant_id = ${tenantId} for no key update`;
}

/** Saves the replaced text as a revision; the comment is locked. */
export function updateComment(change: {
  tenantId: string;
  commentId: string;
  body: string;
  revisionId: string;
  editedBy: string;
}) {
  return sql<CommentRow>`
    with kept as (
      insert into comment_revisions (id, tenant_id, comment_id, task_id, version, body, author_principal_id, created_at,
        superseded_by)
      select ${change.revisionId}, tenant_id, id, task_id, version, body, author_principal_id,
        coalesce(edited_at, created_at), ${change.editedBy}
      from comments where id = ${change.commentId} and tenant_id = ${change.tenantId}
    )
    update comments set body = ${change.body}, version = version + 1, updated_at = now(), edited_at = now()
    where id = ${change.commentId} and tenant_id = ${change.tenantId}
    returning *`;
}

const build = queryBuilder<{ comments: CommentRow; comment_revisions: RevisionRow }>();

/** A cursor belongs to the comments of one task. */
const oldestFirst = (taskId: string): ListOrder<CommentRow> => ({
  cursor: `comments/${taskId}`,
  columns: { created_at: 'timestamp', id: 'uuid' },
  direction: 'asc',
});

export function findComments(tenantId: string, taskId: string, page: Page) {
  const query = build
    .selectFrom('comments')
    .selectAll()
    .where('tenant_id', '=', tenantId)
    .where('task_id', '=', taskId);
  return pageQuery(query, oldestFirst(taskId), page);
}

const inOrder = (commentId: string): ListOrder<RevisionRow> => ({
  cursor: `revisions/${commentId}`,
  columns: { version: 'integer' },
  direction: 'asc',
});

export function findRevisions(tenantId: string, commentId: string, page: Page) {
  const query = build
    .selectFrom('comment_revisions')
    .selectAll()
    .where('tenant_id', '=', tenantId)
    .where('comment_id', '=', commentId);
  return pageQuery(query, inOrder(commentId), page);
}
