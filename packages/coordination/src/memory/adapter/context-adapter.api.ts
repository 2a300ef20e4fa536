import { Uuid } from '@baton/values/wire';
import { endpoint } from '../context.ts';
import { adapterRebuilt, adapterRedriven } from './context-adapter.events.ts';
import { AdapterRebuild, AdapterRedrive, AdapterState } from './context-adapter.ts';
import { getAdapterState, rebuildAdapter, redriveAdapter } from './operating.ts';

const params = { tenantId: Uuid };

export const contextAdapterApi = [
  endpoint({
    id: 'getContextAdapter',
    method: 'GET',
    path: '/operations/context-adapter',
    summary: "How far the delivery to the memory service has come in the tenant's journal.",
    description:
      'A tenant whose events could not be delivered is parked alone and tried again by itself; `Retry-After` then says in how many seconds.',
    permission: ['operations.read', 'operations.manage'],
    returns: { 200: AdapterState },
    handle: (_input, context) => getAdapterState(context),
  }),
  endpoint({
    id: 'redriveContextAdapter',
    method: 'POST',
    path: '/operations/context-adapter/{tenantId}:redrive',
    summary: 'Have the event at which the tenant is parked tried again at once.',
    description: 'The cursor does not move. There is nothing to be tried before the first cycle: 404.',
    permission: 'operations.manage',
    params,
    body: AdapterRedrive,
    bodyOptional: true,
    returns: { 200: AdapterState },
    errors: ['not_found'],
    emits: [adapterRedriven],
    example: { reason: 'the memory service takes it now' },
    handle: (input, context) => redriveAdapter(context, input.params.tenantId, input.body.reason),
  }),
  endpoint({
    id: 'rebuildContextAdapter',
    method: 'POST',
    path: '/operations/context-adapter/{tenantId}:rebuild',
    summary: "Deliver the tenant's journal again from an earlier place.",
    description:
      'Without a cursor, from the beginning of what still exists. The memory service recognises what it has. A delivery that is under way moves the cursor no more.',
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
