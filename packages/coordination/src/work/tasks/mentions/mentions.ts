import { emit } from '../../../ledger/journal/journal.ts';
import type { Context } from '../../context.ts';
import { findMentions, mentionsMax } from './mention-text.ts';
import { taskMentioned } from './mentions.events.ts';
import { replaceMentions } from './mentions.sql.ts';

interface AboutTask {
  readonly id: string;
  readonly publicId: string;
  readonly workspaceId: string | null;
}

interface WrittenText {
  readonly text: string;
  /** Null for the description of the task. */
  readonly commentId: string | null;
  /** A new text has no earlier mentions that it could remove. */
  readonly isNew: boolean;
}

/**
 * Records whom a text mentions, and writes one event with those that it mentions for the first time
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
