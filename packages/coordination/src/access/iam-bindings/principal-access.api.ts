import { Uuid } from '@baton/values/wire';
import { endpoint } from '../context.ts';
import { iamBindingUpdated } from './iam-bindings.events.ts';
import {
  getPrincipalAccess,
  PrincipalAccess,
  PrincipalAccessRequest,
  setPrincipalAccess,
} from './principal-access.ts';

const params = { id: Uuid };

export const principalAccessApi = [
  endpoint({
    id: 'getPrincipalAccess',
    method: 'GET',
    path: '/principals/{id}/access',
    summary: 'Read what a principal is allowed to do, also in words.',
    permission: 'principals.read',
    params,
    returns: { 200: PrincipalAccess },
    etag: 'principal_access',
    errors: ['not_found'],
    handle: (input, context) => getPrincipalAccess(context, input.params.id),
  }),
  endpoint({
    id: 'setPrincipalAccess',
    method: 'PUT',
    path: '/principals/{id}/access',
    summary: 'Change what a principal is allowed to do.',
    description:
      'All bindings that are not revoked get exactly one of an access role and permissions, in one transaction. API keys keep theirs.',
    permission: 'principals.write',
    ifMatch: 'principal_access',
    etag: 'principal_access',
    params,
    body: PrincipalAccessRequest,
    returns: { 200: PrincipalAccess },
    errors: [
      'not_found',
      'principal_managed_by_registry',
      'invalid_permissions',
      'permission_escalation',
      'permissions_not_allowed_for_kind',
      'principal_not_bound',
      'version_conflict',
      'visibility_escalation',
      'last_administrator',
    ],
    emits: [iamBindingUpdated],
    example: { accessRole: 'member' },
    handle: (input, context) => setPrincipalAccess(context, input.params.id, input.ifMatch, input.body),
  }),
];
