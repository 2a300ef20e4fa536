import { z } from 'zod';
import { idParams } from '@baton/values/keys';
import { pageOf, Uuid } from '@baton/values/wire';
import { endpoint } from '../context.ts';
import { WorkspaceMember } from './member.ts';
import { workspaceMemberAdded, workspaceMemberRemoved } from './members.events.ts';
import { addWorkspaceMember, listWorkspaceMembers, removeWorkspaceMember } from './members.ts';

export const membersApi = [
  endpoint({
    id: 'addWorkspaceMember',
    method: 'POST',
    path: '/workspaces/{id}/members',
    summary: 'Add a principal to the members of a workspace.',
    description: 'Adding a member again returns the existing membership.',
    permission: 'workspaces.manage',
    params: idParams,
    body: z.strictObject({ principalId: Uuid }).meta({ id: 'WorkspaceMemberRequest' }),
    returns: { 201: WorkspaceMember },
    errors: ['not_found', 'workspace_archived'],
    emits: [workspaceMemberAdded],
    example: { principalId: '0190b2c4-0000-7000-8000-000000000001' },
    handle: ({ params, body }, context) => addWorkspaceMember(context, params.id, body.principalId),
  }),
  endpoint({
    id: 'listWorkspaceMembers',
    method: 'GET',
    path: '/workspaces/{id}/members',
    summary: 'List the members of a workspace, newest first.',
    permission: 'workspaces.read',
    params: idParams,
    paging: true,
    returns: { 200: pageOf(WorkspaceMember) },
    errors: ['not_found', 'invalid_cursor'],
    handle: ({ params, page }, context) => listWorkspaceMembers(context, params.id, page),
  }),
  endpoint({
    id: 'removeWorkspaceMember',
    method: 'POST',
    path: '/workspaces/{id}/members/{principalId}:remove',
    summary: 'Remove a principal from the members of a workspace.',
    description: 'Removing a principal that is not a member changes nothing.',
    permission: 'workspaces.manage',
    params: { id: Uuid, principalId: Uuid },
    returns: { 204: null },
    errors: ['not_found'],
    emits: [workspaceMemberRemoved],
    handle: ({ params }, context) => removeWorkspaceMember(context, params.id, params.principalId),
  }),
];
