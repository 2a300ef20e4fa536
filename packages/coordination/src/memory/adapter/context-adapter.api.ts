import { Uuid } from '@baton/values/wire';
import { endpoint } from '../context.ts';
import { getAdapterState, rebuildAdapter, redriveAdapter } from './adapter-operations.ts';
import { adapterRebuilt, adapterRedriven } from './context-adapter.events.ts';
import { AdapterRebuild, AdapterRedrive, AdapterState } from './context-adapter.ts';

const params = { tenantId: Uuid };

export const contextAdapterApi = [
  endpoint({
    id: 'getContextAdapter',
    method: 'GET',
    path: '/operations/context-adapter',
    summary: "Read the progress of the delivery of the tenant's journal to the memory service.",
    description:
      "If a tenant's events could not be delivered, only that tenant is on hold, and the delivery is " +
      'retried automatically; `Retry-After` then gives the delay in seconds.',
    permission: ['operations.read', 'operations.manage'],
    returns: { 200: AdapterState },
    handle: (_input, context) => getAdapterState(context),
  }),
  endpoint({
    id: 'redriveContextAdapter',
    method: 'POST',
    path: '/operations/context-adapter/{tenantId}:redrive',
    summary: 'Immediately retry the event at which the tenant is on hold.',
    description:
      'The cursor does not move. Returns 404 before the first cycle, when no event can be retried.',
    permission: 'operations.manage',
    params,
    body: AdapterRedrive,
    bodyOptional: true,
    returns: { 200: AdapterState },
    errors: ['not_found'],
    emits: [adapterRedriven],
    example: { reason: 'the memory service accepts it now' },
    handle: (input, context) => redriveAdapter(context, input.params.tenantId, input.body.reason),
  }),
  endpoint({
    id: 'rebuildContextAdapter',
    method: 'POST',
    path: '/operations/context-adapter/{tenantId}:rebuild',
    summary: "Deliver the tenant's journal again from an earlier position.",
    description:
      'Without a cursor, delivery restarts at the oldest existing event. The memory service recognizes events that it ' +
      'already has. A running delivery no longer moves the cursor.',
    permission: 'operations.manage',
    params,
    body: AdapterRebuild,
    bodyOptional: true,
    returns: { 200: AdapterState },
    errors: [
      'not_found',
      'unsupported_cursor_version',
      'invalid_cursor',
      'cursor_must_not_advance',
      'cursor_below_journal_floor',
    ],
    emits: [adapterRebuilt],
    example: { reason: 'the memory service was replaced' },
    handle: (input, context) => rebuildAdapter(context, input.params.tenantId, input.body),
  }),
];
