import { z } from 'zod';
import { defineEvent } from '@baton/kernel/http/service';
import { Timestamp } from '@baton/values/wire';

/** A task's pause was ended. `availableAt` is the task's start, if that is in the future. */
export const taskMadeAvailable = defineEvent(
  'task.made_available',
  'task',
  z.strictObject({
    publicId: z.string(),
    failedAttempts: z.int(),
    availableAt: Timestamp.nullable(),
    version: z.int(),
  }),
);
