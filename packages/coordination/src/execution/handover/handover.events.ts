import { z } from 'zod';
import { defineEvent } from '@baton/kernel/http/service';
import { Uuid } from '@baton/values/wire';

export const runSuspended = defineEvent(
  'run.suspended',
  'run',
  z.strictObject({
    taskId: Uuid,
    reason: z.string(),
    attempt: z.int(),
    waitingForApprovalId: Uuid.nullable(),
  }),
);

/** The checkpoint for the next executor. Its text is excluded from the journal. */
export const runHandoffPrepared = defineEvent(
  'run.handoff_prepared',
  'run',
  z.strictObject({
    taskId: Uuid,
    claimId: Uuid,
    checkpointId: Uuid,
    fencingToken: z.int(),
    reason: z.string(),
  }),
);
