import { z } from 'zod';
import { defineEvent } from '@baton/kernel/http/service';

/**
 * `trigger` is `task` if this task alone was migrated, and `bulk` if it was one of many.
 */
export const taskTypeMigrated = defineEvent(
  'task.type_migrated',
  'task',
  z.strictObject({
    publicId: z.string(),
    typeKey: z.string(),
    fromTypeVersion: z.int(),
    typeVersion: z.int(),
    fromStatus: z.string(),
    status: z.string(),
    systemStatusCategory: z.string(),
    trigger: z.enum(['task', 'bulk']),
    version: z.int(),
  }),
);
