import { z } from 'zod';
import { defineEvent } from '@baton/kernel/http/service';
import { Timestamp, Uuid } from '@baton/values/wire';

/** Events for the end of a lease, and for what depends on it. */

/** A lease that expired. The task's status is present if it changed. */
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

/** The task's status is absent if the same change sets another status, which has its own event. */
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

/** `reason` is present for a close without a request: `principal_disabled`, `delegation_ended`. */
export const sessionClosed = defineEvent(
  'session.closed',
  'session',
  z.strictObject({ releasedClaims: z.int(), reason: z.string().optional() }),
  2,
);

export const sessionExpired = defineEvent(
  'session.expired',
  'session',
  z.strictObject({ expiresAt: Timestamp, releasedClaims: z.int() }),
);

/** `reason` is the executor's own, or `superseded`, `principal_disabled`, `task_cancelled`. */
export const runFailed = defineEvent(
  'run.failed',
  'run',
  z.strictObject({ taskId: Uuid, reason: z.string(), attempt: z.int() }),
);
