import { z } from 'zod';
import { defineEvent } from '@baton/kernel/http/service';
import { Timestamp, Uuid } from '@baton/values/wire';

/** A run failed, and its task is offered again at an instant. `failedAttempts` counts those in a row. */
export const retryScheduled = defineEvent(
  'task.retry_scheduled',
  'task',
  z.strictObject({
    publicId: z.string(),
    runId: Uuid,
    attempt: z.int(),
    reason: z.string(),
    failedAttempts: z.int(),
    availableAt: Timestamp,
    version: z.int(),
  }),
);

/** A task isn't tried any more until somebody acts. It is in a blocked status where its lifecycle leads to one. */
export const attemptsExhausted = defineEvent(
  'task.attempts_exhausted',
  'task',
  z.strictObject({
    publicId: z.string(),
    failedAttempts: z.int(),
    reason: z.string(),
    fromStatus: z.string(),
    status: z.string(),
    systemStatusCategory: z.string(),
    version: z.int(),
  }),
);
