import { z } from 'zod';
import { defineEvent } from '@baton/kernel/http/service';
import { Timestamp, Uuid } from '@baton/values/wire';

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
