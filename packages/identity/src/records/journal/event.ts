import { z } from 'zod';
import { type RowOf, wireMapper } from '@baton/kernel/database/row';
import { FreeObject, type JsonObject, queryInteger, Timestamp, Uuid } from '@baton/values/wire';
import { NextSequence, PageLimit, pageForm } from '../../service/pages.ts';
import type { Tables } from '../../service/schema.ts';

export type EventRow = RowOf<Tables['events'], { payload: JsonObject }>;

export const JournalEvent = z
  .strictObject({
    sequence: z.int(),
    id: Uuid,
    tenant_id: Uuid,
    type: z.string(),
    aggregate_type: z.string(),
    aggregate_id: Uuid,
    payload: FreeObject,
    occurred_at: Timestamp,
  })
  .meta({ id: 'JournalEvent' });

export const eventOf = wireMapper<EventRow>()(JournalEvent, {});

export const EventPage = pageForm(JournalEvent, NextSequence);
export type EventPage = z.infer<typeof EventPage>;

export const eventQuery = {
  after: queryInteger(0, Number.MAX_SAFE_INTEGER)
    .default(0)
    .describe('The `sequence` of the last event that was read.'),
  limit: PageLimit,
  wait: queryInteger(0, 30)
    .default(0)
    .describe('The number of seconds to wait for an event; a busy or stopping service waits for less time.'),
  tenantId: Uuid.optional(),
  type: z.string().max(100).optional(),
};
export type EventQuery = z.infer<z.ZodObject<typeof eventQuery>>;
