import { tenantParam } from '../../service/fields.ts';
import { endpoint } from '../context.ts';
import { CreatedGroup, Group, GroupChange, groupPages, groupParams, groupQuery, NewGroup } from './group.ts';
import { groupCreated, groupDeleted, groupMembershipRemoved, groupUpdated } from './groups.events.ts';
import { createGroup, deleteGroup, getGroup, listGroups, updateGroup } from './groups.ts';

export const create = endpoint({
  id: 'createGroup',
  method: 'POST',
  path: '/tenants/{tenantId}/groups',
  summary: 'Create a local group.',
  params: tenantParam,
  body: NewGroup,
  returns: { 201: CreatedGroup },
  errors: ['tenant_not_found', 'group_exists'],
  emits: [groupCreated],
  example: { key: 'people-admins', name: 'People administrators' },
  handle: ({ params, body }, context) => createGroup(context, params.tenantId, body),
});

export const list = endpoint({
  id: 'listGroups',
  method: 'GET',
  path: '/tenants/{tenantId}/groups',
  summary: 'List the groups of a tenant in the order of their creation.',
  params: tenantParam,
  query: groupQuery,
  returns: { 200: groupPages.form },
  errors: ['tenant_not_found'],
  handle: ({ params, query }, { db }) => listGroups(db, params.tenantId, query),
});

export const get = endpoint({
  id: 'getGroup',
  method: 'GET',
  path: '/tenants/{tenantId}/groups/{groupId}',
  summary: 'Read a group.',
  params: groupParams,
  returns: { 200: Group },
  errors: ['group_not_found'],
  handle: ({ params }, { db }) => getGroup(db, params.tenantId, params.groupId),
});

export const update = endpoint({
  id: 'updateGroup',
  method: 'PATCH',
  path: '/tenants/{tenantId}/groups/{groupId}',
  summary: 'Rename, disable or enable a local group; equal values change nothing.',
  params: groupParams,
  body: GroupChange,
  returns: { 200: Group },
  errors: ['group_not_found', 'group_is_federated'],
  emits: [groupUpdated],
  example: { status: 'disabled' },
  handle: ({ params, body }, context) => updateGroup(context, params.tenantId, params.groupId, body),
});

export const remove = endpoint({
  id: 'deleteGroup',
  method: 'DELETE',
  path: '/tenants/{tenantId}/groups/{groupId}',
  summary: 'Delete a local group with its memberships. Deleting it again returns 404.',
  params: groupParams,
  returns: { 204: null },
  errors: ['group_not_found', 'group_is_federated'],
  emits: [groupMembershipRemoved, groupDeleted],
  handle: ({ params }, context) => deleteGroup(context, params.tenantId, params.groupId),
});

export const groupsApi = [create, list, get, update, remove];
