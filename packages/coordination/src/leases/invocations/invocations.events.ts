import { z } from 'zod';
import { defineEvent } from '@baton/kernel/http/service';
import { Uuid } from '@baton/values/wire';

/** The requester withdrew an invocation, or its basis no longer allows it. */
export const invocationCancelled = defineEvent(
  'skill.invocation_cancelled',
  'skill_invocation',
  z.strictObject({
    skillId: Uuid,
    skill: z.string(),
    version: z.string(),
    attempt: z.int(),
    taskId: Uuid.nullable(),
    runId: Uuid.nullable(),
    code: z.string(),
    reason: z.string(),
    wasRunning: z.boolean(),
    cancelledBy: Uuid.nullable(),
    initiator: z.enum(['principal', 'system']),
  }),
);
