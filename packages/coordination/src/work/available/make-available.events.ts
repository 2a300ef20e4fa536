import { z } from 'zod';
import { defineEvent } from '@baton/kernel/http/service';
import { Timestamp } from '@baton/values/wire';

/** Somebody ended the pause of a task. `availableAt` is its start, where that still holds it back. */
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
