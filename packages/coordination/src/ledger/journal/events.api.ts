import { queryInteger, Timestamp, Uuid } from '@baton/kernel/wire';
import { z } from 'zod';
import { endpoint } from '../context.ts';
import { readEvents } from './events.ts';

/** An event of the journal (core, section 17.1; the specification's event shape). */
export const JournalEvent = z.strictObject({
  sequence: z.int().positive().meta({ description: 'Order inside of a transaction; not a cursor.' }),
  id: Uuid.meta({ description: 'Delivery is at least once: tell repeats by this id.' }),
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
  cursor: z.string().meta({ description: 'The place of this event; opaque.' }),
});
export type JournalEvent = z.infer<typeof JournalEvent>;

export const EventPage = z.strictObject({
  items: z.array(JournalEvent),
  nextCursor: z.string().meta({ description: 'Where the next page begins; never null.' }),
  hasMore: z.boolean(),
  prevCursor: z
    .string()
    .nullable()
    .optional()
    .meta({ description: 'For `before`, where older events were asked for; null at the beginning.' }),
});
export type EventPage = z.infer<typeof EventPage>;

export const EventQuery = {
  after: z.string().optional().meta({ description: 'Older consumers: a sequence. `cursor` goes before it.' }),
  before: z.string().optional().meta({ description: 'The page that ends just before this cursor.' }),
  order: z.enum(['asc', 'desc']).default('asc').meta({ description: 'Of the items of the page only.' }),
  tail: queryInteger(1, Number.MAX_SAFE_INTEGER)
    .optional()
    .meta({ description: 'The newest events, this many at most.' }),
  entityType: z.string().optional(),
  entityId: Uuid.optional(),
  types: z
    .union([z.string(), z.array(z.string())])
    .optional()
    .meta({ description: 'Prefixes of event types, 20 at most, repeated or separated by commas.' }),
  workspaceId: Uuid.optional(),
};

const events = endpoint({
  id: 'listEvents',
  method: 'GET',
  path: '/events',
  summary: 'Read the journal by pages, in its order.',
  description:
    'Only stable events are delivered, so a cursor never skips what commits later. Delivery is at least once. ' +
    'The same events come as they happen by WebSocket at /events/ws.',
  permission: 'events.read',
  query: EventQuery,
  paging: true,
  returns: { 200: EventPage },
  errors: [
    'conflicting_cursors',
    'unsupported_cursor_version',
    'invalid_cursor',
    'invalid_event_type_filter',
    'not_found',
    'cursor_below_journal_floor',
  ],
  handle: ({ query, page }, context) => readEvents(context, query, page),
});

export const eventsApi = [events];
