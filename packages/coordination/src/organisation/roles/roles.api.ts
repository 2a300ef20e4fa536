import { idParams } from '@baton/values/keys';
import { pageOf, Uuid } from '@baton/values/wire';
import { refuseNulls } from '../../service/changes.ts';
import { endpoint } from '../context.ts';
import { PackageFilter } from '../package-link.ts';
import { Role, RoleChange, RoleHolder, RoleRequest } from './role.ts';
import { roleCreated, roleUpdated } from './roles.events.ts';
import { createRole, getRole, listRoleHolders, listRoles, updateRole } from './roles.ts';

export const rolesApi = [
  endpoint({
    id: 'createRole',
    method: 'POST',
    path: '/roles',
    summary: 'Create a role of the tenant or of a workspace.',
    description: 'A role grants no permission; tasks and approvals may require it.',
    permission: 'org.manage',
    body: RoleRequest,
    returns: { 201: Role },
    etag: 'role',
    errors: ['not_found', 'workspace_archived', 'role_slug_conflict'],
    emits: [roleCreated],
    example: { slug: 'reviewer', name: 'Reviewer', description: 'Reads what others wrote.' },
    handle: ({ body }, context) => createRole(context, body),
  }),
  endpoint({
    id: 'listRoles',
    method: 'GET',
    path: '/roles',
    summary: 'List roles, newest first.',
    permission: 'org.read',
    query: { workspaceId: Uuid.optional(), package: PackageFilter },
    paging: true,
    returns: { 200: pageOf(Role) },
    errors: ['invalid_cursor'],
    handle: ({ query, page }, context) => listRoles(context, query, page),
  }),
  endpoint({
    id: 'getRole',
    method: 'GET',
    path: '/roles/{id}',
    summary: 'Read a role.',
    permission: 'org.read',
    params: idParams,
    returns: { 200: Role },
    etag: 'role',
    errors: ['not_found'],
    handle: ({ params }, context) => getRole(context, params.id),
  }),
  endpoint({
    id: 'updateRole',
    method: 'PATCH',
    path: '/roles/{id}',
    summary: 'Change a role.',
    description: 'Tasks that require the role still require it under its new slug.',
    permission: 'org.manage',
    ifMatch: 'role',
    etag: 'role',
    params: idParams,
    body: RoleChange,
    returns: { 200: Role },
    errors: ['invalid_field', 'not_found', 'version_conflict', 'role_slug_conflict', 'empty_update'],
    emits: [roleUpdated],
    example: { name: 'Peer reviewer' },
    precheck: ({ body }) => refuseNulls(body),
    handle: ({ params, ifMatch, body }, context) => updateRole(context, params.id, ifMatch, body),
  }),
  endpoint({
    id: 'listRolePrincipals',
    method: 'GET',
    path: '/roles/{id}/principals',
    summary: 'List the principals that have a role, newest first.',
    description: 'With a workspace: principals with the role in it, in an ancestor, or in the whole tenant.',
    permission: ['org.read', 'principals.read'],
    params: idParams,
    query: { workspaceId: Uuid.optional() },
    paging: true,
    returns: { 200: pageOf(RoleHolder) },
    errors: ['not_found', 'invalid_cursor'],
    handle: ({ params, query, page }, context) =>
      listRoleHolders(context, params.id, query.workspaceId, page),
  }),
];
