import { z } from 'zod';
import { defineEvent } from '@baton/kernel/http/service';
import { Timestamp, Uuid } from '@baton/values/wire';

/** Version 2 contains the agent's revision. Instructions are identified by hash and references, never copied. */
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

/** Emitted once for each period without progress that exceeds the task type's limit; it has no actor. */
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

/** `controlMessageId` is set if a message cancelled the run immediately. */
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
