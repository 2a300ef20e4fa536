import type { z } from 'zod';
import type { Db } from '@baton/kernel/database/db';
import type { Statement } from '@baton/kernel/database/sql';
import type { EventDeclaration } from '@baton/kernel/http/service';
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
  type NewAssignment,
  shareCapabilityAssignment,
  shareRoleAssignment,
  shareSkillAssignment,
} from './assignments.sql.ts';

/** How often an assignment is retried if concurrent requests grant and revoke it. */
const attemptsMax = 3;

/**
 * Assigns a role to a principal, in the whole tenant or in a workspace and its descendants. Repeating the request
 * returns the existing assignment.
 * @throws Refusal `not_found`, `workspace_archived`
 */
export function assignRole(
  context: Context,
  principalId: string,
  { roleId, workspaceId = null }: { roleId: string; workspaceId?: string | null | undefined },
): Promise<RoleAssignment> {
  return assign(context, principalId, {
    async find() {
      const role = await getRoleRow(context, roleId);
      if (workspaceId !== null) await enterWorkspace(context, workspaceId);
      return role;
    },
    insert: (ids) => insertRoleAssignment({ ...ids, roleId, workspaceId }),
    share: shareRoleAssignment(principalId, roleId, workspaceId),
    event: roleAssigned,
    details: { roleId, workspaceId },
    workspaceId,
    itemOf: roleAssignmentOf,
  });
}

/**
 * @throws Refusal `not_found`, `invalid_document`, `payload_too_large`, `payload_too_deep`, `secret_material_rejected`
 */
export function assignCapability(
  context: Context,
  principalId: string,
  { capabilityId, metadata }: { capabilityId: string; metadata: unknown },
): Promise<CapabilityAssignment> {
  return assign(context, principalId, {
    find: () => getCapabilityRow(context, capabilityId),
    insert: (ids) => insertCapabilityAssignment({ ...ids, capabilityId, metadata: parseMetadata(metadata) }),
    share: shareCapabilityAssignment(principalId, capabilityId),
    event: capabilityAssigned,
    details: { capabilityId },
    itemOf: capabilityAssignmentOf,
  });
}

/**
 * @throws Refusal `not_found`, `skill_disabled`, `invalid_document`, `payload_too_large`, `payload_too_deep`,
 * `secret_material_rejected`
 */
export function assignSkill(
  context: Context,
  principalId: string,
  { skillId, metadata }: { skillId: string; metadata: unknown },
): Promise<SkillAssignment> {
  return assign(context, principalId, {
    async find() {
      const skill = await holdSkill(context, skillId);
      return skill.status === 'disabled' ? fail('skill_disabled', { skillId }) : skill;
    },
    insert: (ids) => insertSkillAssignment({ ...ids, skillId, metadata: parseMetadata(metadata) }),
    share: shareSkillAssignment(principalId, skillId),
    event: skillAssigned,
    details: { skillId },
    itemOf: (row, skill) => skillAssignmentOf(row, skill, true),
  });
}

/**
 * Revokes a role in the scope of its assignment: the tenant or one workspace. An assignment that the caller may not see
 * is treated as missing: nothing is revoked.
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
  const statement = deleteRoleAssignment(context.tenantId, principalId, roleId, workspaceId);
  return revoke(context, statement, roleRevoked, principalId, { roleId, workspaceId }, workspaceId);
}

/** @throws Refusal `not_found` */
export async function revokeCapability(
  context: Context,
  principalId: string,
  capabilityId: string,
): Promise<undefined> {
  await getPrincipalRow(context, principalId);
  await getCapabilityRow(context, capabilityId);
  const statement = deleteCapabilityAssignment(context.tenantId, principalId, capabilityId);
  return revoke(context, statement, capabilityRevoked, principalId, { capabilityId });
}

/** @throws Refusal `not_found` */
export async function revokeSkill(
  context: Context,
  principalId: string,
  skillId: string,
): Promise<undefined> {
  await getPrincipalRow(context, principalId);
  await getSkillRow(context, skillId);
  const statement = deleteSkillAssignment(context.tenantId, principalId, skillId);
  return revoke(context, statement, skillRevoked, principalId, { skillId });
}

function parseMetadata(metadata: unknown): JsonObject {
  checkDocument(metadata, { field: 'metadata' });
  refuseSecretKeys(metadata, 'metadata');
  return metadata;
}

/** The parts that differ between the assignments of roles, of capabilities and of skills. */
interface AssignmentParts<Subject, Row extends object, Payload extends z.ZodType, Item> {
  /** Finds the assigned object, and validates the request. */
  find(): Promise<Subject>;
  insert(ids: NewAssignment): Statement<Row>;
  readonly share: Statement<Row>;
  readonly event: EventDeclaration<Payload>;
  readonly details: z.input<Payload>;
  readonly workspaceId?: string | null;
  itemOf(row: Row, subject: Subject): Item;
}

async function assign<Subject, Row extends object, Payload extends z.ZodType, Item>(
  context: Context,
  principalId: string,
  parts: AssignmentParts<Subject, Row, Payload, Item>,
): Promise<Item> {
  await getPrincipalRow(context, principalId);
  const subject = await parts.find();
  const { workspaceId = null } = parts;
  const insert = parts.insert({ id: newId(), tenantId: context.tenantId, principalId });
  const { row, isNew } = await storeOnce(context.db, insert, parts.share);
  if (isNew) emit(context, parts.event, { entityId: principalId, workspaceId }, parts.details);
  return parts.itemOf(row, subject);
}

async function revoke<Payload extends z.ZodType>(
  context: Context,
  statement: Statement<{ id: string }>,
  event: EventDeclaration<Payload>,
  principalId: string,
  details: z.input<Payload>,
  workspaceId: string | null = null,
): Promise<undefined> {
  const row = await context.db.row(statement);
  if (row !== undefined) emit(context, event, { entityId: principalId, workspaceId }, details);
  return undefined;
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
