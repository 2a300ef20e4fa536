import { Timestamp, Uuid } from '@baton/kernel/wire';
import { z } from 'zod';
import { NextAfter, pagesByCreation } from '../../service/paging.ts';
import { PrincipalKind } from '../principals/principals.events.ts';
import { endpoint } from '../context.ts';
import { addGroupMember, listGroupMembers, removeGroupMember } from './group-members.ts';
import { groupParams, Source } from './groups.api.ts';
import { groupMembershipAdded, groupMembershipRemoved } from './groups.events.ts';

const Member = z.strictObject({ id: Uuid, tenant_id: Uuid, group_id: Uuid, principal_id: Uuid });

const ListedMember = z.strictObject({
  principal_id: Uuid,
  kind: PrincipalKind,
  display_name: z.string(),
  status: z.enum(['active', 'paused', 'disabled']).describe('Of the principal.'),
  source: Source.describe('Who brought the membership.'),
  created_at: Timestamp.describe('When the membership began.'),
});

const pages = pagesByCreation('group-members');

export const add = endpoint({
  id: 'addGroupMember',
  method: 'POST',
  path: '/tenants/{tenantId}/groups/{groupId}/members',
  summary: 'Add a principal to a local group.',
  params: groupParams,
  body: z.strictObject({ principalId: Uuid }),
  returns: { 201: Member },
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
  summary: 'List the members of a group, of any source, in the order in which they came.',
  params: groupParams,
  query: pages.query,
  returns: { 200: z.strictObject({ items: z.array(ListedMember), next_after: NextAfter }) },
  errors: ['group_not_found'],
  async handle({ params, query }, { db }) {
    const rows = await listGroupMembers(db, params.tenantId, params.groupId, query);
    const { items, next_after } = pages.cut(rows, query.limit);
    return { items: items.map(({ id, ...member }) => ({ principal_id: id, ...member })), next_after };
  },
});

export const remove = endpoint({
  id: 'removeGroupMember',
  method: 'DELETE',
  path: '/tenants/{tenantId}/groups/{groupId}/members/{principalId}',
  summary: 'Remove a principal from a local group; repeated, the membership is absent.',
  description:
    'A membership that an identity provider brought into a local group comes back at the next sign-in that names it.',
  params: { ...groupParams, principalId: Uuid },
  returns: { 204: null },
  errors: ['group_not_found', 'group_is_federated', 'group_membership_not_found'],
  emits: [groupMembershipRemoved],
  handle: ({ params }, context) =>
    removeGroupMember(context, params.tenantId, params.groupId, params.principalId),
});

export const groupMembersApi = [add, list, remove];
