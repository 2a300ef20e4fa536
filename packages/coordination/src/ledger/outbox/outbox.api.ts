import { pageOf, Uuid } from '@baton/values/wire';
import { endpoint } from '../context.ts';
import { dropEvent, listUndelivered, redriveEvent } from './operate-outbox.ts';
import { outboxDropped, outboxRedriven } from './outbox.events.ts';
import { OutboxDrop, OutboxRedrive, Status, UndeliveredEvent } from './undelivered-event.ts';

export const outboxApi = [
  endpoint({
    id: 'listUndeliveredEvents',
    method: 'GET',
    path: '/operations/outbox',
    summary: 'List undelivered events and dead letters.',
    description:
      'Newest first. An event is listed once per sink, after a worker has distributed it, which takes about a second.',
    permission: ['operations.read', 'operations.manage'],
    query: { status: Status.optional().meta({ description: 'Both if absent.' }) },
    paging: true,
    returns: { 200: pageOf(UndeliveredEvent) },
    errors: ['invalid_cursor'],
    handle: ({ query, page }, context) => listUndelivered(context, query.status, page),
  }),
  endpoint({
    id: 'redriveUndeliveredEvent',
    method: 'POST',
    path: '/operations/outbox/{id}:redrive',
    summary: 'Redrive a dead letter: deliver the event again.',
    description: 'Its attempts start at zero. An event that is still pending is left unchanged.',
    permission: 'operations.manage',
    params: { id: Uuid },
    body: OutboxRedrive,
    bodyOptional: true,
    returns: { 200: UndeliveredEvent },
    errors: ['not_found'],
    emits: [outboxRedriven],
    example: { reason: 'the receiver is fixed' },
    handle: ({ params, body }, context) => redriveEvent(context, params.id, body.reason),
  }),
  endpoint({
    id: 'dropUndeliveredEvent',
    method: 'POST',
    path: '/operations/outbox/{id}:drop',
    summary: 'Drop the delivery of an event to a sink.',
    description: 'The event remains in the journal and no longer blocks its archiving.',
    permission: 'operations.manage',
    params: { id: Uuid },
    body: OutboxDrop,
    returns: { 200: UndeliveredEvent },
    errors: ['not_found'],
    emits: [outboxDropped],
    example: { reason: 'no longer needed' },
    handle: ({ params, body }, context) => dropEvent(context, params.id, body.reason),
  }),
];
