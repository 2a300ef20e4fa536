import { z } from 'zod';
import { defineEvent } from '@baton/kernel/http/service';
import { Uuid } from '@baton/values/wire';
import { controlOperations } from './control-message.ts';

/** Directives and reasons are never copied into the journal. */
const message = {
  taskId: Uuid,
  controlMessageId: Uuid,
  seq: z.int(),
  operation: z.enum(controlOperations),
  status: z.string(),
  causalPosition: z.string(),
};
const resolved = z.strictObject({ ...message, safeBoundary: z.string().nullable() });

export const controlMessageAccepted = defineEvent(
  'run.control_message.accepted',
  'run',
  z.strictObject(message),
);
export const controlMessageApplied = defineEvent('run.control_message.applied', 'run', resolved);
export const controlMessageRejected = defineEvent('run.control_message.rejected', 'run', resolved);
export const controlMessageSuperseded = defineEvent('run.control_message.superseded', 'run', resolved);

/** The first cancel request. `reason` is set if it was sent with `:request-cancel`. */
export const runCancelRequested = defineEvent(
  'run.cancel_requested',
  'run',
  z.strictObject({
    taskId: Uuid,
    attempt: z.int(),
    reason: z.string().optional(),
    controlMessageId: Uuid.optional(),
  }),
);

/** Emitted on the child's run when its parent's cancellation is propagated to it. */
export const childCancelRequested = defineEvent(
  'run.child.cancel_requested',
  'run',
  z.strictObject({
    childHandleId: Uuid,
    childRunId: Uuid,
    controlMessageId: Uuid,
    correlationId: z.string(),
    reason: z.enum(['parent_request_cancel', 'child_handle_revoked']),
  }),
);
