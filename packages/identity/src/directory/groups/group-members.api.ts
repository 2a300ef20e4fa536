import { Uuid } from '@baton/values/wire';
import { endpoint } from '../context.ts';
import { groupParams } from './group.ts';
import { GroupMembership, memberPages, NewGroupMember } from './group-member.ts';
import { addGroupMember, listGroupMembers, removeGroupMember } from './group-members.ts';
import { groupMembershipAdded, groupMembershipRemoved } from './groups.events.ts';

export const add = endpoint({
  id: 'addGroupMember',
  method: 'POST',
  path: '/tenants/{tenantId}/groups/{groupId}/members',
  summary: 'Add a principal to a local group.',
  params: groupParams,
  body: NewGroupMember,
  returns: { 201: GroupMembership },
  errors: ['group_not_found', 'group_is_federated', 'principal_not_found', 'group_membership_exists'],
  emits: [groupMembershipAdded],
  example: { principalId: '0190b2c4-0000-4000-8000-000000000001' },
  handle: ({ params, body }, context) =>
    addGroupMember(context, params.tenantId, params.groupId, body.principalId),
});

export const list = endpoint({
  id: 'listGroupMembers',
  method: 'GET',
  path: '/tenants/{tenantId}/groups/{groupId}/members',
  summary: 'List the members of a group, from any source, in the order in which they joined.',
  params: groupParams,
  query: memberPages.query,
  returns: { 200: memberPages.form },
  errors: ['group_not_found'],
  handle: ({ params, query }, { db }) => listGroupMembers(db, params.tenantId, params.groupId, query),
});

export const remove = endpoint({
  id: 'removeGroupMember',
  method: 'DELETE',
  path: '/tenants/{tenantId}/groups/{groupId}/members/{principalId}',
  summary: 'Remove a principal from a local group. Removing it again returns 404.',
  description:
    'A membership that an identity provider added to a local group is restored by the next sign-in with that group.',
  params: { ...groupParams, principalId: Uuid },
  returns: { 204: null },
  errors: ['group_not_found', 'group_is_federated', 'group_membership_not_found'],
  emits: [groupMembershipRemoved],
  handle: ({ params }, context) =>
    removeGroupMember(context, params.tenantId, params.groupId, params.principalId),
});

export const groupMembersApi = [add, list, remove];
