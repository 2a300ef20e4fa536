import { z } from 'zod';
import { defineEvent } from '@baton/kernel/http/service';
import { Timestamp } from '@baton/values/wire';

/** The pause of a task was ended. `availableAt` is the start of the task, if it is in the future. */
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
