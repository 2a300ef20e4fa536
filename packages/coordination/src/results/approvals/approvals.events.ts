import { z } from 'zod';
import { defineEvent } from '@baton/kernel/http/service';
import { Uuid } from '@baton/values/wire';

const about = { taskId: Uuid.nullable(), artifactId: Uuid.nullable() };

const decided = z.strictObject({
  ...about,
  outcomeStatus: z.string().nullable(),
  decisionBy: Uuid,
  comment: z.string().nullable(),
  /** The channel that the decide-only token was sent through. See docs/reference/access.md#tokens-for-one-decision. */
  channel: z.string().nullable(),
  /** The decided subject; null for requests that were made before subjects were recorded. */
  subjectDigest: z.string().nullable(),
});

export const approvalApproved = defineEvent('approval.approved', 'approval', decided, 2);
export const approvalRejected = defineEvent('approval.rejected', 'approval', decided, 2);

export const approvalCancelled = defineEvent(
  'approval.cancelled',
  'approval',
  z.strictObject({ taskId: Uuid.nullable(), cancelledBy: Uuid }),
  2,
);
