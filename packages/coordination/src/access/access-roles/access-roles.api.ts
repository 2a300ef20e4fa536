import { pageOf } from '@baton/values/wire';
import { refuseNulls } from '../../service/changes.ts';
import { endpoint } from '../context.ts';
import { AccessRoleRef } from '../grants/granted-access.ts';
import { iamBindingUpdated } from '../iam-bindings/iam-bindings.events.ts';
import { AccessRole, AccessRoleChange, AccessRoleRequest, ListedPermission } from './access-role.ts';
import { accessRoleCreated, accessRoleDeleted, accessRoleUpdated } from './access-roles.events.ts';
import {
  createAccessRole,
  deleteAccessRole,
  getAccessRole,
  listAccessRoles,
  listPermissions,
  updateAccessRole,
} from './access-roles.ts';

const params = { id: AccessRoleRef.meta({ description: 'The key or the id of the role.' }) };

export const accessRolesApi = [
  endpoint({
    id: 'listPermissions',
    method: 'GET',
    path: '/permissions',
    summary: 'List all permissions, with what each allows in words.',
    permission: 'principals.read',
    returns: { 200: pageOf(ListedPermission) },
    handle: () => ({ items: listPermissions(), nextCursor: null }),
  }),
  endpoint({
    id: 'listAccessRoles',
    method: 'GET',
    path: '/access-roles',
    summary: 'List access roles, built-in ones first, with what each allows in words.',
    permission: 'principals.read',
    returns: { 200: pageOf(AccessRole) },
    handle: async (_input, context) => ({ items: await listAccessRoles(context), nextCursor: null }),
  }),
  endpoint({
    id: 'getAccessRole',
    method: 'GET',
    path: '/access-roles/{id}',
    summary: 'Read an access role.',
    permission: 'principals.read',
    params,
    returns: { 200: AccessRole },
    etag: 'access_role',
    errors: ['not_found'],
    handle: (input, context) => getAccessRole(context, input.params.id),
  }),
  endpoint({
    id: 'createAccessRole',
    method: 'POST',
    path: '/access-roles',
    summary: 'Create an access role.',
    description: 'A tenant has at most 100 of its own. Nobody can grant permissions that they lack.',
    permission: 'principals.write',
    body: AccessRoleRequest,
    returns: { 201: AccessRole },
    etag: 'access_role',
    errors: ['invalid_permissions', 'permission_escalation', 'access_role_key_conflict', 'access_role_limit'],
    emits: [accessRoleCreated],
    example: {
      key: 'planner',
      name: 'Planner',
      description: 'Plans tasks, works on none.',
      permissions: ['tasks.read', 'tasks.write', 'workspaces.read'],
    },
    handle: ({ body }, context) => createAccessRole(context, body),
  }),
  endpoint({
    id: 'updateAccessRole',
    method: 'PATCH',
    path: '/access-roles/{id}',
    summary: 'Change an access role, and with it everybody who has it.',
    description:
      'The bindings that name it get its permissions in the same transaction. The caller needs its current and its new permissions.',
    permission: 'principals.write',
    ifMatch: 'access_role',
    etag: 'access_role',
    params,
    body: AccessRoleChange,
    returns: { 200: AccessRole },
    errors: [
      'invalid_field',
      'access_role_built_in',
      'not_found',
      'version_conflict',
      'empty_update',
      'invalid_permissions',
      'permission_escalation',
      'visibility_escalation',
      'permissions_not_allowed_for_kind',
      'last_administrator',
    ],
    emits: [accessRoleUpdated, iamBindingUpdated],
    example: { permissions: ['tasks.read', 'tasks.write', 'workspaces.read', 'goals.read'] },
    precheck: ({ body }) => refuseNulls(body),
    handle: (input, context) => updateAccessRole(context, input.params.id, input.ifMatch, input.body),
  }),
  endpoint({
    id: 'deleteAccessRole',
    method: 'DELETE',
    path: '/access-roles/{id}',
    summary: 'Delete an access role that nobody has.',
    permission: 'principals.write',
    params,
    returns: { 204: null },
    errors: ['access_role_built_in', 'not_found', 'access_role_in_use'],
    emits: [accessRoleDeleted],
    handle: (input, context) => deleteAccessRole(context, input.params.id),
  }),
];
