import { endpoint } from '../context.ts';
import { EventPage, eventQuery } from './event.ts';
import { listEvents } from './events.ts';

export const list = endpoint({
  id: 'listEvents',
  method: 'GET',
  path: '/events',
  summary: 'Read the journal of all tenants.',
  description:
    'In the order of `sequence`. A lower sequence never appears after a higher one was returned, so a reader that keeps its last sequence as `after` misses nothing; the header `Journal-Read-To` can also be used as `after`, and advances even if no event matches. If old events are removed, an `after` below the last removed one is refused, and the header `Journal-Floor` of that response is the `after` to start from. After a restore or a failover of the database, an `after` that does not belong to this history is refused, and `Journal-Read-To` of that response is the `after` to continue from.',
  query: eventQuery,
  returns: { 200: EventPage },
  errors: ['journal_rewound', 'journal_truncated'],
  handle: ({ query }, context) => listEvents(context, query),
});

export const eventsApi = [list];
