import { endpoint } from '../context.ts';
import { EventPage, eventQuery } from './event.ts';
import { listEvents } from './events.ts';

export const list = endpoint({
  id: 'listEvents',
  method: 'GET',
  path: '/events',
  summary: 'Read the journal of all tenants.',
  description:
    'In the order of `sequence`. A lower sequence never appears after a higher one was returned, so a reader that keeps its last sequence as `after` misses nothing; the header `Journal-Read-To` serves as well, and moves on while nothing is for the reader. Where old events are removed, an `after` below the last removed one is refused, and the header `Journal-Floor` of that answer is the `after` to start from. After a restore or a fail-over of the database, an `after` that this history can not have given out is refused, and `Journal-Read-To` of that answer says where to go on.',
  query: eventQuery,
  returns: { 200: EventPage },
  errors: ['journal_rewound', 'journal_truncated'],
  handle: ({ query }, context) => listEvents(context, query),
});

export const eventsApi = [list];
