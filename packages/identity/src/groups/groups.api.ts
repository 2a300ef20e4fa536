import { Uuid } from '@baton/kernel/wire';
import { z } from 'zod';
import { Key, Name, tenantParam } from '../fields.ts';
import { endpoint } from '../service.ts';
import { groupCreated, groupMembershipAdded } from './groups.events.ts';
import { addGroupMember, createGroup } from './groups.ts';

const Group = z.strictObject({
  id: Uuid,
  tenant_id: Uuid,
  key: z.string(),
  name: z.string(),
  status: z.enum(['active', 'disabled']),
});

const Member = z.strictObject({ id: Uuid, tenant_id: Uuid, group_id: Uuid, principal_id: Uuid });

const GroupRequest = z.strictObject({ key: Key, name: Name });
export type GroupRequest = z.infer<typeof GroupRequest>;

export const create = endpoint({
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

export const addMember = endpoint({
  method: 'POST',
  path: '/tenants/{tenantId}/groups/{groupId}/members',
  summary: 'Add a principal to a local group.',
  params: { ...tenantParam, groupId: Uuid },
  body: z.strictObject({ principalId: Uuid }),
  returns: { 201: Member },
  errors: ['group_not_found', 'group_is_federated', 'principal_not_found', 'group_membership_exists'],
  emits: [groupMembershipAdded],
  example: { principalId: '0190b2c4-0000-4000-8000-000000000001' },
  handle: ({ params, body }, context) =>
    addGroupMember(context, params.tenantId, params.groupId, body.principalId),
});

export const groupsApi = [create, addMember];
