import { z } from 'zod';
import { defineEvent } from '@baton/kernel/http/service';
import { Timestamp, Uuid } from '@baton/values/wire';

/** What the journal says when a lease, or what lives under it, comes to its end. */

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

/** `reason` is given where no request asked for the close: `principal_disabled`, `delegation_ended`. */
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
