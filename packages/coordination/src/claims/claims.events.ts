import { defineEvent } from '@baton/kernel/service';
import { Timestamp, Uuid } from '@baton/kernel/wire';
import { z } from 'zod';

export const taskClaimed = defineEvent(
  'task.claimed',
  'task',
  z.strictObject({
    publicId: z.string(),
    claimId: Uuid,
    sessionId: Uuid,
    holderId: Uuid,
    fencingToken: z.int(),
    expiresAt: Timestamp,
    status: z.string(),
    systemStatusCategory: z.string(),
    version: z.int(),
  }),
);

/** A lease that ended by itself. Its status of the task is given where the task moved. */
export const claimExpired = defineEvent(
  'claim.expired',
  'claim',
  z.strictObject({
    taskId: Uuid,
    reason: z.enum(['expired', 'session_inactive']),
    taskStatus: z.string().optional(),
    taskSystemStatusCategory: z.string().optional(),
  }),
);

/** The status of the task is left out where the same change gives it another one and says so in an event of its own. */
export const claimReleased = defineEvent(
  'claim.released',
  'claim',
  z.strictObject({
    taskId: Uuid,
    reason: z.string(),
    taskStatus: z.string().optional(),
    taskSystemStatusCategory: z.string().optional(),
  }),
);
