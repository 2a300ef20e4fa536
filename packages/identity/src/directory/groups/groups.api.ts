import { Timestamp, Uuid } from '@baton/kernel/wire';
import { z } from 'zod';
import { Key, Name, Status, tenantParam } from '../../service/fields.ts';
import { NextAfter, pagesByCreation } from '../../service/paging.ts';
import { endpoint } from '../context.ts';
import { groupCreated, groupDeleted, groupMembershipRemoved, groupUpdated } from './groups.events.ts';
import { changeGroup, createGroup, endGroup, listGroups, readGroup } from './groups.ts';

export const Source = z.enum(['local', 'federated', 'scim']);

const Group = z.strictObject({
  id: Uuid,
  tenant_id: Uuid,
  key: z.string(),
  name: z.string(),
  status: Status,
});

const FullGroup = Group.extend({
  source: Source.describe('Who keeps it: the admin, an identity provider, or a directory.'),
  created_at: Timestamp,
});

const GroupRequest = z.strictObject({ key: Key, name: Name });
export type GroupRequest = z.infer<typeof GroupRequest>;

/** The key stays: scopes and mappings hang on it. */
const GroupChanges = z.strictObject({
  name: Name.optional(),
  status: Status.optional().describe('A `disabled` group entitles nobody to a privileged scope.'),
});
export type GroupChanges = z.infer<typeof GroupChanges>;

const pages = pagesByCreation('groups');
export const groupParams = { ...tenantParam, groupId: Uuid };

export const create = endpoint({
  id: 'createGroup',
  method: 'POST',
  path: '/tenants/{tenantId}/groups',
  summary: 'Create a local group.',
  params: tenantParam,
  body: GroupRequest,
  returns: { 201: Group },
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
  query: { ...pages.query, source: Source.optional(), status: Status.optional() },
  returns: { 200: z.strictObject({ items: z.array(FullGroup), next_after: NextAfter }) },
  errors: ['tenant_not_found'],
  handle: async ({ params, query: { limit, after, ...filter } }, { db }) =>
    pages.cut(await listGroups(db, params.tenantId, filter, { limit, after }), limit),
});

export const read = endpoint({
  id: 'getGroup',
  method: 'GET',
  path: '/tenants/{tenantId}/groups/{groupId}',
  summary: 'Read a group.',
  params: groupParams,
  returns: { 200: FullGroup },
  errors: ['group_not_found'],
  handle: ({ params }, { db }) => readGroup(db, params.tenantId, params.groupId),
});

export const change = endpoint({
  id: 'updateGroup',
  method: 'PATCH',
  path: '/tenants/{tenantId}/groups/{groupId}',
  summary: 'Rename, disable or enable a local group; equal values change nothing.',
  params: groupParams,
  body: GroupChanges,
  returns: { 200: FullGroup },
  errors: ['group_not_found', 'group_is_federated'],
  emits: [groupUpdated],
  example: { status: 'disabled' },
  handle: ({ params, body }, context) => changeGroup(context, params.tenantId, params.groupId, body),
});

export const remove = endpoint({
  id: 'deleteGroup',
  method: 'DELETE',
  path: '/tenants/{tenantId}/groups/{groupId}',
  summary: 'Delete a local group with its memberships; repeated, it is absent.',
  params: groupParams,
  returns: { 204: null },
  errors: ['group_not_found', 'group_is_federated'],
  emits: [groupMembershipRemoved, groupDeleted],
  handle: ({ params }, context) => endGroup(context, params.tenantId, params.groupId),
});

export const groupsApi = [create, list, read, change, remove];
