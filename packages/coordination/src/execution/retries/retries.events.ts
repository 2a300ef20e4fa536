import { z } from 'zod';
import { defineEvent } from '@baton/kernel/http/service';
import { Timestamp, Uuid } from '@baton/values/wire';

/**
 * A run failed, and its task becomes available again at the given instant. `failedAttempts` counts consecutive
 * failures.
 */
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

/**
 * A task gets no further attempts without intervention. It is in a blocked status if its lifecycle has a transition to
 * one.
 */
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
