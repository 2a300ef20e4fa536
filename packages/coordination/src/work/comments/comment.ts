import { z } from 'zod';
import { type RowOf, wireMapper } from '@baton/kernel/database/row';
import { Timestamp, Uuid } from '@baton/values/wire';
import type { Tables } from '../../service/schema.ts';

/** Maximum length of a stored text, after trimming. A longer text is refused with a code of its own. */
export const commentCharactersMax = 10_000;
/**
 * The schema's limit, the default maximum size of a request body; texts that are too long to be stored have their own
 * error code.
 */
const sentCharactersMax = 1_048_576;

/** A comment on a task (docs/reference/comments-and-goals.md#comments). */
export const TaskComment = z
  .strictObject({
    id: Uuid,
    tenantId: Uuid,
    taskId: Uuid,
    authorPrincipalId: Uuid,
    body: z.string(),
    runId: Uuid.nullable(),
    artifactId: Uuid.nullable(),
    version: z.int(),
    createdAt: Timestamp,
    updatedAt: Timestamp,
    editedAt: Timestamp.nullable(),
  })
  .meta({ id: 'TaskComment' });
export type TaskComment = z.infer<typeof TaskComment>;

/** A text that an edit replaced, with the author and the time of that text. */
export const TaskCommentRevision = z
  .strictObject({
    id: Uuid,
    tenantId: Uuid,
    commentId: Uuid,
    taskId: Uuid,
    version: z.int(),
    body: z.string(),
    authorPrincipalId: Uuid,
    createdAt: Timestamp,
    supersededAt: Timestamp,
    supersededBy: Uuid,
  })
  .meta({ id: 'TaskCommentRevision' });
export type TaskCommentRevision = z.infer<typeof TaskCommentRevision>;

const body = z
  .string()
  .max(sentCharactersMax)
  .meta({
    description: `1 to ${commentCharactersMax} characters. Leading and trailing blanks are trimmed and not counted.`,
  });

export const NewTaskComment = z
  .strictObject({ body, runId: Uuid.nullish(), artifactId: Uuid.nullish() })
  .meta({ id: 'NewTaskComment' });
export type NewTaskComment = z.output<typeof NewTaskComment>;

export const TaskCommentChange = z.strictObject({ body }).meta({ id: 'TaskCommentChange' });

export type CommentRow = RowOf<Tables['comments']>;
export type RevisionRow = RowOf<Tables['comment_revisions']>;

export const commentOf = wireMapper<CommentRow>()(TaskComment, {});
export const revisionOf = wireMapper<RevisionRow>()(TaskCommentRevision, {});
