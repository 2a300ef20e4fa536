import { newId } from '@baton/values/ids';
import { emit } from '../../ledger/journal/journal.ts';
import type { Context } from '../context.ts';
import {
  capabilityAssigned,
  capabilityRevoked,
  roleAssigned,
  roleRevoked,
  skillAssigned,
  skillRevoked,
} from './assignments.events.ts';
import {
  deleteCapabilityAssignments,
  deleteRoleAssignments,
  deleteSkillAssignments,
  insertCapabilityAssignments,
  insertRoleAssignments,
  insertSkillAssignments,
} from './assignments.sql.ts';

/** The full set of a principal's assignments by id: roles in the whole tenant, capabilities and skills. */
export interface AssignmentSet {
  readonly roleIds: readonly string[];
  readonly capabilityIds: readonly string[];
  readonly skillIds: readonly string[];
}

export const noAssignments: AssignmentSet = { roleIds: [], capabilityIds: [], skillIds: [] };

/**
 * Assigns what a set contains and revokes what only the previous set contained, each in one statement regardless of
 * size. Existing assignments write no event. The caller has locked the principal and checked permissions.
 */
export async function changeAssignments(
  context: Context,
  principalId: string,
  before: AssignmentSet,
  after: AssignmentSet,
): Promise<void> {
  const { db, tenantId } = context;
  const about = { entityId: principalId };
  const of = { tenantId, principalId };
  const [roles, capabilities, skills] = [
    differenceOf(before.roleIds, after.roleIds),
    differenceOf(before.capabilityIds, after.capabilityIds),
    differenceOf(before.skillIds, after.skillIds),
  ];
  for (const { id: roleId } of await db.rows(insertRoleAssignments(of, roles.added)))
    emit(context, roleAssigned, about, { roleId, workspaceId: null });
  for (const { id: roleId } of await db.rows(deleteRoleAssignments(of, roles.removed)))
    emit(context, roleRevoked, about, { roleId, workspaceId: null });
  for (const { id: capabilityId } of await db.rows(insertCapabilityAssignments(of, capabilities.added)))
    emit(context, capabilityAssigned, about, { capabilityId });
  for (const { id: capabilityId } of await db.rows(deleteCapabilityAssignments(of, capabilities.removed)))
    emit(context, capabilityRevoked, about, { capabilityId });
  for (const { id: skillId } of await db.rows(insertSkillAssignments(of, skills.added)))
    emit(context, skillAssigned, about, { skillId });
  for (const { id: skillId } of await db.rows(deleteSkillAssignments(of, skills.removed)))
    emit(context, skillRevoked, about, { skillId });
}

/** New assignments get their ids here. */
function differenceOf(before: readonly string[], after: readonly string[]) {
  const [old, young] = [new Set(before), new Set(after)];
  return {
    added: after.filter((id) => !old.has(id)).map((subjectId) => ({ id: newId(), subjectId })),
    removed: before.filter((id) => !young.has(id)),
  };
}
