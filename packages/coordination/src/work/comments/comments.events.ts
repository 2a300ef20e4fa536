import { z } from 'zod';
import { defineEvent } from '@baton/kernel/http/service';
import { Uuid } from '@baton/values/wire';

/** Excludes the text, which can be edited, whereas the journal never changes. */
const payload = z.strictObject({
  commentId: Uuid,
  authorPrincipalId: Uuid,
  version: z.int(),
  bodyLength: z.int(),
  runId: Uuid.nullable(),
  artifactId: Uuid.nullable(),
});

export const commentAdded = defineEvent('task.comment_added', 'task', payload);
export const commentEdited = defineEvent('task.comment_edited', 'task', payload);
