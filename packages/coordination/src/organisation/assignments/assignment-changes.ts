import type { Db } from '@baton/kernel/database/db';
import type { Statement } from '@baton/kernel/database/sql';
import { newId } from '@baton/values/ids';
import type { JsonObject } from '@baton/values/wire';
import { getPrincipalRow } from '../../access/principals/principals.ts';
import { emit } from '../../ledger/journal/journal.ts';
import { checkDocument, refuseSecretKeys } from '../../service/documents.ts';
import { isInSight } from '../../service/sight/sight.ts';
import { getCapabilityRow } from '../capabilities/capabilities.ts';
import type { Context } from '../context.ts';
import { fail } from '../errors.ts';
import { getRoleRow } from '../roles/roles.ts';
import { getSkillRow, holdSkill } from '../skills/skills.ts';
import { enterWorkspace } from '../workspaces/workspaces.ts';
import {
  type CapabilityAssignment,
  capabilityAssignmentOf,
  type RoleAssignment,
  roleAssignmentOf,
  type SkillAssignment,
  skillAssignmentOf,
} from './assignment.ts';
import {
  capabilityAssigned,
  capabilityRevoked,
  roleAssigned,
  roleRevoked,
  skillAssigned,
  skillRevoked,
} from './assignments.events.ts';
import {
  deleteCapabilityAssignment,
  deleteRoleAssignment,
  deleteSkillAssignment,
  insertCapabilityAssignment,
  insertRoleAssignment,
  insertSkillAssignment,
  shareCapabilityAssignment,
  shareRoleAssignment,
  shareSkillAssignment,
} from './assignments.sql.ts';

/** Attempts at an assignment that concurrent requests grant and revoke. */
const attemptsMax = 3;

/**
 * Assigns a role to a principal, in the whole tenant or in a workspace and its descendants. Repeating the request
 * returns the existing assignment.
 * @throws Refusal `not_found`, `workspace_archived`
 */
export async function assignRole(
  context: Context,
  principalId: string,
  { roleId, workspaceId = null }: { roleId: string; workspaceId?: string | null | undefined },
): Promise<RoleAssignment> {
  await getPrincipalRow(context, principalId);
  const role = await getRoleRow(context, roleId);
  if (workspaceId !== null) await enterWorkspace(context, workspaceId);
  const ids = { id: newId(), tenantId: context.tenantId, principalId };
  const { row, isNew } = await storeOnce(
    context.db,
    insertRoleAssignment({ ...ids, roleId, workspaceId }),
    shareRoleAssignment(principalId, roleId, workspaceId),
  );
  if (isNew) emit(context, roleAssigned, { entityId: principalId, workspaceId }, { roleId, workspaceId });
  return roleAssignmentOf(row, role);
}

/** @throws Refusal `not_found`, `invalid_document`, `payload_too_large`, `payload_too_deep`, `secret_material_rejected` */
export async function assignCapability(
  context: Context,
  principalId: string,
  { capabilityId, metadata }: { capabilityId: string; metadata: unknown },
): Promise<CapabilityAssignment> {
  await getPrincipalRow(context, principalId);
  const capability = await getCapabilityRow(context, capabilityId);
  const given = { capabilityId, metadata: parseMetadata(metadata) };
  const ids = { id: newId(), tenantId: context.tenantId, principalId };
  const { row, isNew } = await storeOnce(
    context.db,
    insertCapabilityAssignment({ ...ids, ...given }),
    shareCapabilityAssignment(principalId, capabilityId),
  );
  if (isNew) emit(context, capabilityAssigned, { entityId: principalId }, { capabilityId });
  return capabilityAssignmentOf(row, capability);
}

/**
 * @throws Refusal `not_found`, `skill_disabled`, `invalid_document`, `payload_too_large`, `payload_too_deep`,
 * `secret_material_rejected`
 */
export async function assignSkill(
  context: Context,
  principalId: string,
  { skillId, metadata }: { skillId: string; metadata: unknown },
): Promise<SkillAssignment> {
  await getPrincipalRow(context, principalId);
  const skill = await holdSkill(context, skillId);
  if (skill.status === 'disabled') fail('skill_disabled', { skillId });
  const given = { skillId, metadata: parseMetadata(metadata) };
  const ids = { id: newId(), tenantId: context.tenantId, principalId };
  const { row, isNew } = await storeOnce(
    context.db,
    insertSkillAssignment({ ...ids, ...given }),
    shareSkillAssignment(principalId, skillId),
  );
  if (isNew) emit(context, skillAssigned, { entityId: principalId }, { skillId });
  return skillAssignmentOf(row, skill, true);
}

/**
 * Revokes a role where it was assigned: in the tenant, or in one workspace. An assignment that the caller may not see
 * behaves like a missing one: nothing is revoked.
 * @throws Refusal `not_found`
 */
export async function revokeRole(
  context: Context,
  principalId: string,
  roleId: string,
  workspaceId: string | null,
): Promise<undefined> {
  await getPrincipalRow(context, principalId);
  await getRoleRow(context, roleId);
  if (!(await isInSight(context, workspaceId))) return undefined;
  const { db, tenantId } = context;
  const row = await db.row(deleteRoleAssignment(tenantId, principalId, roleId, workspaceId));
  if (row !== undefined)
    emit(context, roleRevoked, { entityId: principalId, workspaceId }, { roleId, workspaceId });
  return undefined;
}

/** @throws Refusal `not_found` */
export async function revokeCapability(
  context: Context,
  principalId: string,
  capabilityId: string,
): Promise<undefined> {
  await getPrincipalRow(context, principalId);
  await getCapabilityRow(context, capabilityId);
  const row = await context.db.row(deleteCapabilityAssignment(context.tenantId, principalId, capabilityId));
  if (row !== undefined) emit(context, capabilityRevoked, { entityId: principalId }, { capabilityId });
  return undefined;
}

/** @throws Refusal `not_found` */
export async function revokeSkill(
  context: Context,
  principalId: string,
  skillId: string,
): Promise<undefined> {
  await getPrincipalRow(context, principalId);
  await getSkillRow(context, skillId);
  const row = await context.db.row(deleteSkillAssignment(context.tenantId, principalId, skillId));
  if (row !== undefined) emit(context, skillRevoked, { entityId: principalId }, { skillId });
  return undefined;
}

function parseMetadata(metadata: unknown): JsonObject {
  checkDocument(metadata, { field: 'metadata' });
  refuseSecretKeys(metadata, 'metadata');
  return metadata;
}

/** Returns the new assignment or the existing one, which a concurrent revoke may remove between the two statements. */
async function storeOnce<Row extends object>(
  db: Db,
  insert: Statement<Row>,
  share: Statement<Row>,
): Promise<{ row: Row; isNew: boolean }> {
  for (let attempt = 1; attempt <= attemptsMax; attempt += 1) {
    const inserted = await db.row(insert);
    if (inserted !== undefined) return { row: inserted, isNew: true };
    const standing = await db.row(share);
    if (standing !== undefined) return { row: standing, isNew: false };
  }
  throw new Error('an assignment was neither stored nor found');
}
