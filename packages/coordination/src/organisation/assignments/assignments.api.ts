import { z } from 'zod';
import { idParams } from '@baton/values/keys';
import { pageOf, Uuid } from '@baton/values/wire';
import { wholeListQuery } from '../../service/whole-list.ts';
import { endpoint } from '../context.ts';
import {
  CapabilityAssignment,
  CapabilityAssignmentRequest,
  RoleAssignment,
  RoleAssignmentRequest,
  SkillAssignment,
  SkillAssignmentRequest,
} from './assignment.ts';
import {
  assignCapability,
  assignRole,
  assignSkill,
  revokeCapability,
  revokeRole,
  revokeSkill,
} from './assignment-changes.ts';
import {
  capabilityAssigned,
  capabilityRevoked,
  roleAssigned,
  roleRevoked,
  skillAssigned,
  skillRevoked,
} from './assignments.events.ts';
import { listCapabilityAssignments, listRoleAssignments, listSkillAssignments } from './assignments.ts';
import { Participant } from './participant.ts';
import { listParticipants } from './participants.ts';

const exampleId = '0190b2c4-0000-7000-8000-000000000001';
const metadataErrors = [
  'invalid_document',
  'payload_too_large',
  'payload_too_deep',
  'secret_material_rejected',
] as const;

/**
 * The declarations that roles, capabilities and skills share; each adds its path, descriptions, schemas and handler.
 */
const assignment = {
  method: 'POST',
  description: 'Repeating the request returns the existing assignment.',
  permission: 'org.manage',
  params: idParams,
} as const;
const listOfPrincipal = {
  method: 'GET',
  permission: ['org.read', 'principals.read'],
  params: idParams,
  query: wholeListQuery,
  errors: ['invalid_limit', 'not_found', 'invalid_cursor'],
} as const;
const revocation = {
  method: 'POST',
  permission: 'org.manage',
  returns: { 204: null },
  errors: ['not_found'],
} as const;

export const assignmentsApi = [
  endpoint({
    id: 'assignRole',
    ...assignment,
    path: '/principals/{id}/roles',
    summary: 'Assign a role to a principal, in the whole tenant or in a workspace and its descendants.',
    body: RoleAssignmentRequest,
    returns: { 201: RoleAssignment },
    errors: ['not_found', 'workspace_archived'],
    emits: [roleAssigned],
    example: { roleId: exampleId },
    handle: ({ params, body }, context) => assignRole(context, params.id, body),
  }),
  endpoint({
    id: 'listPrincipalRoles',
    ...listOfPrincipal,
    path: '/principals/{id}/roles',
    summary: 'List the roles of a principal, newest first.',
    returns: { 200: pageOf(RoleAssignment) },
    handle: ({ params, query }, context) => listRoleAssignments(context, params.id, query),
  }),
  endpoint({
    id: 'revokeRole',
    ...revocation,
    path: '/principals/{id}/roles/{roleId}:revoke',
    summary: 'Revoke a role from a principal, in the tenant or workspace of its assignment.',
    description: 'Revoking an unassigned role changes nothing.',
    params: { ...idParams, roleId: Uuid },
    body: z.strictObject({ workspaceId: Uuid.nullish() }).meta({ id: 'RoleRevocation' }),
    bodyOptional: true,
    emits: [roleRevoked],
    example: {},
    handle: ({ params, body }, context) =>
      revokeRole(context, params.id, params.roleId, body.workspaceId ?? null),
  }),
  endpoint({
    id: 'assignCapability',
    ...assignment,
    path: '/principals/{id}/capabilities',
    summary: 'Assign a capability to a principal.',
    body: CapabilityAssignmentRequest,
    returns: { 201: CapabilityAssignment },
    errors: ['not_found', ...metadataErrors],
    emits: [capabilityAssigned],
    example: { capabilityId: exampleId, metadata: { level: 'C1' } },
    handle: ({ params, body }, context) => assignCapability(context, params.id, body),
  }),
  endpoint({
    id: 'listPrincipalCapabilities',
    ...listOfPrincipal,
    path: '/principals/{id}/capabilities',
    summary: 'List the capabilities of a principal, newest first.',
    returns: { 200: pageOf(CapabilityAssignment) },
    handle: ({ params, query }, context) => listCapabilityAssignments(context, params.id, query),
  }),
  endpoint({
    id: 'revokeCapability',
    ...revocation,
    path: '/principals/{id}/capabilities/{capabilityId}:revoke',
    summary: 'Revoke a capability from a principal.',
    description: 'Revoking an unassigned capability changes nothing.',
    params: { ...idParams, capabilityId: Uuid },
    emits: [capabilityRevoked],
    handle: ({ params }, context) => revokeCapability(context, params.id, params.capabilityId),
  }),
  endpoint({
    id: 'assignSkill',
    ...assignment,
    path: '/principals/{id}/skills',
    summary: 'Assign a version of a skill to a principal.',
    body: SkillAssignmentRequest,
    returns: { 201: SkillAssignment },
    errors: ['not_found', 'skill_disabled', ...metadataErrors],
    emits: [skillAssigned],
    example: { skillId: exampleId },
    handle: ({ params, body }, context) => assignSkill(context, params.id, body),
  }),
  endpoint({
    id: 'listPrincipalSkills',
    ...listOfPrincipal,
    path: '/principals/{id}/skills',
    summary: 'List the skills of a principal, newest first.',
    returns: { 200: pageOf(SkillAssignment) },
    handle: ({ params, query }, context) => listSkillAssignments(context, params.id, query),
  }),
  endpoint({
    id: 'revokeSkill',
    ...revocation,
    path: '/principals/{id}/skills/{skillId}:revoke',
    summary: 'Revoke a version of a skill from a principal.',
    description: 'Revoking an unassigned skill changes nothing.',
    params: { ...idParams, skillId: Uuid },
    emits: [skillRevoked],
    handle: ({ params }, context) => revokeSkill(context, params.id, params.skillId),
  }),
  endpoint({
    id: 'listWorkspaceParticipants',
    method: 'GET',
    path: '/workspaces/{id}/participants',
    summary: 'List the participants of a workspace: its members, and principals with a role in it.',
    permission: 'workspaces.read',
    alsoOneOf: ['org.read', 'principals.read'],
    params: idParams,
    paging: true,
    returns: { 200: pageOf(Participant) },
    errors: ['not_found', 'invalid_cursor'],
    handle: ({ params, page }, context) => listParticipants(context, params.id, page),
  }),
];
