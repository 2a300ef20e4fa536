import { pageOf, Uuid } from '@baton/values/wire';
import { endpoint } from '../context.ts';
import { Delegation, DelegationRequest } from './delegation.ts';
import { delegationCreated, delegationRevoked } from './delegations.events.ts';
import { createDelegation, listDelegations, revokeDelegation } from './delegations.ts';

export const delegationsApi = [
  endpoint({
    id: 'createDelegation',
    method: 'POST',
    path: '/delegations',
    summary: 'Create a delegation from a human to an agent.',
    description:
      'Only the delegating human and humans with `admin` may do this. Other callers get 403 `permission_denied`, ' +
      'even with `delegations.manage`.',
    permission: 'delegations.manage',
    body: DelegationRequest,
    returns: { 201: Delegation },
    errors: ['permission_denied', 'not_found', 'invalid_delegation', 'invalid_permissions'],
    emits: [delegationCreated],
    example: {
      humanPrincipalId: '0190b2c4-0000-7000-8000-000000000001',
      agentPrincipalId: '0190b2c4-0000-7000-8000-000000000002',
      permissions: ['tasks.claim'],
      expiresAt: '2099-12-31T00:00:00Z',
    },
    handle: ({ body }, context) => createDelegation(context, body),
  }),
  endpoint({
    id: 'listDelegations',
    method: 'GET',
    path: '/delegations',
    summary: 'List delegations, newest first.',
    permission: 'delegations.manage',
    paging: true,
    returns: { 200: pageOf(Delegation) },
    errors: ['invalid_cursor'],
    handle: ({ page }, context) => listDelegations(context, page),
  }),
  endpoint({
    id: 'revokeDelegation',
    method: 'POST',
    path: '/delegations/{id}:revoke',
    summary: 'Revoke a delegation.',
    description: 'Its sessions end at their next use. Revoking a revoked delegation changes nothing.',
    permission: 'delegations.manage',
    params: { id: Uuid },
    returns: { 200: Delegation },
    errors: ['not_found'],
    emits: [delegationRevoked],
    handle: (input, context) => revokeDelegation(context, input.params.id),
  }),
];
