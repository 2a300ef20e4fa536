import { z } from 'zod';
import { defineEvent } from '@baton/kernel/http/service';
import { Uuid } from '@baton/values/wire';

/**
 * `checks` contains counts; a result has no message, evidence or details, because only readers of the task may see
 * those.
 */
const evaluation = {
  publicId: z.string(),
  taskId: Uuid,
  verificationId: Uuid,
  attempt: z.int(),
  trigger: z.string(),
  checks: z.int(),
  results: z.array(
    z.strictObject({
      key: z.string(),
      kind: z.string(),
      status: z.string(),
      reason: z.string().nullable(),
    }),
  ),
};

export const taskVerified = defineEvent(
  'task.verified',
  'task',
  z.strictObject({ ...evaluation, artifactId: Uuid }),
);

/** `failedCheck` is null if every check passed and the task still could not be completed. */
export const verificationFailed = defineEvent(
  'task.verification_failed',
  'task',
  z.strictObject({
    ...evaluation,
    failedCheck: z.string().nullable(),
    reason: z.string(),
    consecutiveFailures: z.int(),
    blocked: z.boolean(),
    fromStatus: z.string(),
    status: z.string(),
    systemStatusCategory: z.string(),
  }),
);
