import { endpoint } from '../context.ts';
import { EventQuery, JournalEventPage } from './event.ts';
import { listEvents } from './events.ts';

export const eventsApi = [
  endpoint({
    id: 'listEvents',
    method: 'GET',
    path: '/events',
    summary: 'Read the journal in order, in pages.',
    description:
      'Only stable events are delivered, so a cursor never skips events that commit later. Delivery is at least once. ' +
      'The same events are streamed by WebSocket at /events/ws.',
    permission: 'events.read',
    query: EventQuery,
    paging: true,
    returns: { 200: JournalEventPage },
    errors: [
      'conflicting_cursors',
      'unsupported_cursor_version',
      'invalid_cursor',
      'invalid_event_type_filter',
      'not_found',
      'cursor_below_journal_floor',
      'cursor_from_other_history',
    ],
    handle: ({ query, page }, context) => listEvents(context, query, page),
  }),
];
