import { z } from 'zod';
import { defineEvent } from '@baton/kernel/http/service';
import { Timestamp, Uuid } from '@baton/values/wire';

/** Version 2 names the agent's revision. The instructions are named by hash and references, never copied. */
export const runStarted = defineEvent(
  'run.started',
  'run',
  z.strictObject({
    taskId: Uuid,
    claimId: Uuid,
    attempt: z.int(),
    fencingToken: z.int(),
    instructionsHash: z.string().nullable(),
    instructionsRefs: z.array(z.string()).nullable(),
    agentRevisionId: Uuid.nullable(),
  }),
  2,
);

/** Once for each silence that lasts longer than the task type allows; nobody's act. */
export const runStalled = defineEvent(
  'run.stalled',
  'run',
  z.strictObject({ taskId: Uuid, attempt: z.int(), lastProgressAt: Timestamp }),
);

export const runSucceeded = defineEvent(
  'run.succeeded',
  'run',
  z.strictObject({ taskId: Uuid, attempt: z.int(), taskCompleted: z.boolean() }),
);

/** `controlMessageId` where a message cancelled it at once. */
export const runCancelled = defineEvent(
  'run.cancelled',
  'run',
  z.strictObject({
    taskId: Uuid,
    reason: z.string(),
    attempt: z.int(),
    controlMessageId: Uuid.optional(),
  }),
);
