import { z } from 'zod';
import { defineEvent } from '@baton/kernel/http/service';
import { Uuid } from '@baton/values/wire';

/** Contains only the principals that the text has never mentioned before. `commentId` is null for a description. */
export const taskMentioned = defineEvent(
  'task.mentioned',
  'task',
  z.strictObject({
    publicId: z.string(),
    commentId: Uuid.nullable(),
    authorPrincipalId: Uuid,
    principalIds: z.array(Uuid),
  }),
);
