import { z } from 'zod';
import { type RowOf, wireMapper } from '@baton/kernel/database/row';
import { QueryWord, queryInteger, Timestamp, Uuid } from '@baton/values/wire';
import type { Tables } from '../../service/schema.ts';
import { encodeCursor } from './cursor.ts';

/** An event of the journal. See docs/reference/journal.md#events. */
export const JournalEvent = z
  .strictObject({
    sequence: z.int().positive().meta({ description: 'Order within a transaction; not a cursor.' }),
    id: Uuid.meta({ description: 'Delivery is at least once: detect repeats by this id.' }),
    tenantId: Uuid,
    type: z.string(),
    schemaVersion: z.int().positive(),
    entityType: z.string(),
    entityId: Uuid,
    workspaceId: Uuid.nullable(),
    actorId: Uuid.nullable(),
    iamActorId: Uuid.nullable(),
    sessionId: Uuid.nullable(),
    correlationId: z.string().nullable(),
    causationId: z.string().nullable(),
    requestId: z.string().nullable(),
    traceRunId: z.string().nullable(),
    payload: z.record(z.string(), z.unknown()),
    occurredAt: Timestamp,
    cursor: z.string().meta({ description: 'The position of this event; opaque.' }),
  })
  .meta({ id: 'JournalEvent' });
export type JournalEvent = z.infer<typeof JournalEvent>;

/** A page of the journal. Unlike in lists, its next cursor is never null, because the journal continues. */
export const JournalEventPage = z
  .strictObject({
    items: z.array(JournalEvent),
    nextCursor: z.string().meta({ description: 'The start of the next page; never null.' }),
    hasMore: z.boolean(),
    prevCursor: z
      .string()
      .nullable()
      .optional()
      .meta({ description: 'For `before`, in requests for older events; null at the beginning.' }),
  })
  .meta({ id: 'JournalEventPage' });
export type JournalEventPage = z.infer<typeof JournalEventPage>;

/** The query of `GET /events`, besides `limit` and `cursor`. */
export const EventQuery = {
  after: QueryWord.optional().meta({
    description: 'For older consumers: a sequence. `cursor` takes precedence.',
  }),
  before: QueryWord.optional().meta({ description: 'The page that ends just before this cursor.' }),
  order: z
    .enum(['asc', 'desc'])
    .default('asc')
    .meta({ description: 'The order of the items within the page.' }),
  tail: queryInteger(1, Number.MAX_SAFE_INTEGER)
    .optional()
    .meta({ description: 'The newest events, at most this many.' }),
  entityType: QueryWord.optional(),
  entityId: Uuid.optional(),
  actorId: Uuid.optional().meta({ description: 'Only events caused by this principal.' }),
  types: z
    .union([QueryWord, z.array(QueryWord).max(200)])
    .optional()
    .meta({ description: 'Prefixes of event types, 20 at most, repeated or separated by commas.' }),
  workspaceId: Uuid.optional(),
};
export type EventQuery = z.output<z.ZodObject<typeof EventQuery>>;

export type EventRow = RowOf<Tables['events'], { payload: Record<string, unknown> }>;

export const eventOf = wireMapper<EventRow>()(JournalEvent, { cursor: encodeCursor });
