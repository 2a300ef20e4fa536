import { pageOf, Uuid } from '@baton/values/wire';
import { endpoint } from '../context.ts';
import { dropEvent, listUndelivered, redriveEvent } from './operating.ts';
import { outboxDropped, outboxRedriven } from './outbox.events.ts';
import { OutboxDrop, OutboxRedrive, Status, UndeliveredEvent } from './undelivered-event.ts';

export const outboxApi = [
  endpoint({
    id: 'listUndeliveredEvents',
    method: 'GET',
    path: '/operations/outbox',
    summary: 'List what waits for a sink, or was set aside after its last attempt.',
    description:
      'The newest first. An event is listed for each sink, once a worker has handed it over, which takes about a second.',
    permission: ['operations.read', 'operations.manage'],
    query: { status: Status.optional().meta({ description: 'Without it both.' }) },
    paging: true,
    returns: { 200: pageOf(UndeliveredEvent) },
    errors: ['invalid_cursor'],
    handle: ({ query, page }, context) => listUndelivered(context, query.status, page),
  }),
  endpoint({
    id: 'redriveUndeliveredEvent',
    method: 'POST',
    path: '/operations/outbox/{id}:redrive',
    summary: 'Have an event that was set aside delivered again.',
    description: 'Its attempts begin anew. One that waits for its next attempt stays as it is.',
    permission: 'operations.manage',
    params: { id: Uuid },
    body: OutboxRedrive,
    bodyOptional: true,
    returns: { 200: UndeliveredEvent },
    errors: ['not_found'],
    emits: [outboxRedriven],
    example: { reason: 'the receiver takes it now' },
    handle: ({ params, body }, context) => redriveEvent(context, params.id, body.reason),
  }),
  endpoint({
    id: 'dropUndeliveredEvent',
    method: 'POST',
    path: '/operations/outbox/{id}:drop',
    summary: 'Give up the delivery of an event to a sink.',
    description: 'The event stays in the journal, and no longer holds back its archiving.',
    permission: 'operations.manage',
    params: { id: Uuid },
    body: OutboxDrop,
    returns: { 200: UndeliveredEvent },
    errors: ['not_found'],
    emits: [outboxDropped],
    example: { reason: 'nobody needs it any more' },
    handle: ({ params, body }, context) => dropEvent(context, params.id, body.reason),
  }),
];
