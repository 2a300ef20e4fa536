import { z } from 'zod';
import { defineEvent } from '@baton/kernel/http/service';
import { Uuid } from '@baton/values/wire';

/** Both events concern the tenant's cursor; the entity's id is the tenant's id. */

export const adapterRedriven = defineEvent(
  'context_adapter.redriven',
  'event_consumer',
  z.strictObject({
    consumer: z.string(),
    wasParked: z.boolean(),
    parkedReason: z.string().nullable(),
    parkedEventId: Uuid.nullable(),
    cursor: z.string(),
    reason: z.string(),
  }),
);

export const adapterRebuilt = defineEvent(
  'context_adapter.rebuilt',
  'event_consumer',
  z.strictObject({
    consumer: z.string(),
    fromCursor: z.string(),
    toCursor: z.string(),
    reason: z.string(),
  }),
);
