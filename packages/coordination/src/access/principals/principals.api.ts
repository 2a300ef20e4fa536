import { z } from 'zod';
import { NameSearch, pageOf, QueryWord, Uuid } from '@baton/values/wire';
import { refuseNulls } from '../../service/changes.ts';
import { endpoint } from '../context.ts';
import { disableEvents, disablePrincipal, enablePrincipal } from './disable-principal.ts';
import { EnabledPrincipal, Principal, PrincipalChange, PrincipalRequest } from './principal.ts';
import { principalCreated, principalEnabled, principalUpdated } from './principals.events.ts';
import { createPrincipal, getPrincipal, listPrincipals, requireKind, updatePrincipal } from './principals.ts';

const Reason = z
  .strictObject({ reason: z.string().max(500).optional() })
  .meta({ id: 'PrincipalStatusReason' });
const params = { id: Uuid };

export const principalsApi = [
  endpoint({
    id: 'createPrincipal',
    method: 'POST',
    path: '/principals',
    summary: 'Create a principal.',
    description: 'It can act once an identity is bound to it, or with an API key of its own.',
    permission: 'principals.write',
    body: PrincipalRequest,
    returns: { 201: Principal },
    errors: [
      'invalid_kind',
      'invalid_status',
      'invalid_display_name',
      'invalid_document',
      'payload_too_large',
      'payload_too_deep',
      'secret_material_rejected',
    ],
    emits: [principalCreated],
    example: { kind: 'agent', displayName: 'Reviewer', metadata: { team: 'core' } },
    handle: ({ body }, context) => createPrincipal(context, body),
  }),
  endpoint({
    id: 'listPrincipals',
    method: 'GET',
    path: '/principals',
    summary: 'List principals, newest first.',
    permission: 'principals.read',
    query: {
      kind: QueryWord.optional(),
      q: NameSearch.optional().describe(
        'Words, case-insensitive; each must be a prefix of a word in the display name or e-mail address. At most ' +
          '200 characters and 10 words. Blank: all.',
      ),
    },
    paging: true,
    returns: { 200: pageOf(Principal) },
    errors: ['invalid_kind', 'invalid_cursor'],
    checkFilters: ({ kind }) => {
      if (kind !== undefined) requireKind(kind);
    },
    handle: ({ query, page }, context) => listPrincipals(context, query, page),
  }),
  endpoint({
    id: 'getPrincipal',
    method: 'GET',
    path: '/principals/{id}',
    summary: 'Read a principal.',
    permission: 'principals.read',
    params,
    returns: { 200: Principal },
    etag: 'principal',
    errors: ['not_found'],
    handle: (input, context) => getPrincipal(context, input.params.id),
  }),
  endpoint({
    id: 'updatePrincipal',
    method: 'PATCH',
    path: '/principals/{id}',
    summary: 'Change the display name and profile of a principal.',
    description: 'The profile is replaced as a whole. Unchanged values have no effect.',
    permission: 'principals.write',
    permissionFirst: true,
    ifMatch: 'principal',
    etag: 'principal',
    params,
    body: PrincipalChange,
    returns: { 200: Principal },
    errors: [
      'invalid_field',
      'not_found',
      'version_conflict',
      'principal_managed_by_registry',
      'empty_update',
      'invalid_display_name',
      'invalid_document',
      'payload_too_large',
      'payload_too_deep',
      'secret_material_rejected',
    ],
    emits: [principalUpdated],
    example: { displayName: 'Ada', profile: { jobTitle: 'Engineer', email: 'ada@example.com' } },
    precheck: ({ body }) => refuseNulls(body),
    handle: (input, context) => updatePrincipal(context, input.params.id, input.ifMatch, input.body),
  }),
  endpoint({
    id: 'disablePrincipal',
    method: 'POST',
    path: '/principals/{id}:disable',
    summary: 'Disable a principal and end everything that belongs to it.',
    description:
      'Its bindings and delegations are revoked, its sessions closed, its claims released and their runs failed. Disabling a disabled principal changes nothing.',
    permission: 'principals.write',
    params,
    body: Reason,
    bodyOptional: true,
    returns: { 200: Principal },
    errors: [
      'not_found',
      'principal_kind_not_disableable',
      'cannot_disable_self',
      'permission_escalation',
      'use_agent_retire',
    ],
    emits: disableEvents,
    example: { reason: 'left the company' },
    handlerLocksCaller: true,
    handle: (input, context) => disablePrincipal(context, input.params.id, input.body.reason),
  }),
  endpoint({
    id: 'enablePrincipal',
    method: 'POST',
    path: '/principals/{id}:enable',
    summary: 'Enable a principal.',
    description:
      'Only the status is restored; `liveApiKeys` is the number of keys that are accepted again. Enabling an active principal changes nothing.',
    permission: 'principals.write',
    params,
    body: Reason,
    bodyOptional: true,
    returns: { 200: EnabledPrincipal },
    errors: ['not_found', 'principal_kind_not_enableable', 'permission_escalation', 'use_agent_publish'],
    emits: [principalEnabled],
    example: { reason: 'back again' },
    handlerLocksCaller: true,
    handle: (input, context) => enablePrincipal(context, input.params.id, input.body.reason),
  }),
];
