import { z } from 'zod';
import { defineEvent } from '@baton/kernel/http/service';
import { Uuid } from '@baton/values/wire';

/**
 * `checks` is the number of checks.
 */
export const verificationStarted = defineEvent(
  'task.verification_started',
  'task',
  z.strictObject({
    publicId: z.string(),
    taskId: Uuid,
    verificationId: Uuid,
    attempt: z.int(),
    trigger: z.string(),
    checks: z.int(),
  }),
);
