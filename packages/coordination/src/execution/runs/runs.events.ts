import { z } from 'zod';
import { defineEvent } from '@baton/kernel/service';
import { Uuid } from '@baton/kernel/wire';

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

export const runSucceeded = defineEvent(
  'run.succeeded',
  'run',
  z.strictObject({ taskId: Uuid, attempt: z.int(), taskCompleted: z.boolean() }),
);

export const runCancelled = defineEvent(
  'run.cancelled',
  'run',
  z.strictObject({ taskId: Uuid, reason: z.string(), attempt: z.int() }),
);
