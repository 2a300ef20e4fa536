import type { z } from 'zod';
import type { Statement } from '@baton/kernel/database/sql';
import type { EventDeclaration } from '@baton/kernel/http/service';
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
  type Added,
  deleteCapabilityAssignments,
  deleteRoleAssignments,
  deleteSkillAssignments,
  type Holder,
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
 * Assigns everything in a set and revokes everything that only the previous set contained, each in one statement
 * regardless of size. Existing assignments write no event. The caller has locked the principal and checked permissions.
 */
export async function changeAssignments(
  context: Context,
  principalId: string,
  before: AssignmentSet,
  after: AssignmentSet,
): Promise<void> {
  await changeKind(context, principalId, before.roleIds, after.roleIds, {
    insert: insertRoleAssignments,
    remove: deleteRoleAssignments,
    assigned: roleAssigned,
    revoked: roleRevoked,
    detailsOf: (roleId) => ({ roleId, workspaceId: null }),
  });
  await changeKind(context, principalId, before.capabilityIds, after.capabilityIds, {
    insert: insertCapabilityAssignments,
    remove: deleteCapabilityAssignments,
    assigned: capabilityAssigned,
    revoked: capabilityRevoked,
    detailsOf: (capabilityId) => ({ capabilityId }),
  });
  await changeKind(context, principalId, before.skillIds, after.skillIds, {
    insert: insertSkillAssignments,
    remove: deleteSkillAssignments,
    assigned: skillAssigned,
    revoked: skillRevoked,
    detailsOf: (skillId) => ({ skillId }),
  });
}

/** The parts that differ between the sets of roles, of capabilities and of skills. */
interface SetKind<Payload extends z.ZodType> {
  insert(of: Holder, added: Added): Statement<{ id: string }>;
  remove(of: Holder, ids: readonly string[]): Statement<{ id: string }>;
  readonly assigned: EventDeclaration<Payload>;
  readonly revoked: EventDeclaration<Payload>;
  detailsOf(id: string): z.input<Payload>;
}

async function changeKind<Payload extends z.ZodType>(
  context: Context,
  principalId: string,
  before: readonly string[],
  after: readonly string[],
  { insert, remove, assigned, revoked, detailsOf }: SetKind<Payload>,
): Promise<void> {
  const { db, tenantId } = context;
  const about = { entityId: principalId };
  const { added, removed } = differenceOf(before, after);
  for (const { id } of await db.rows(insert({ tenantId, principalId }, added)))
    emit(context, assigned, about, detailsOf(id));
  for (const { id } of await db.rows(remove({ tenantId, principalId }, removed)))
    emit(context, revoked, about, detailsOf(id));
}

/** Compares the two sets, and generates the ids of the new assignments. */
function differenceOf(before: readonly string[], after: readonly string[]) {
  const [old, young] = [new Set(before), new Set(after)];
  return {
    added: after.filter((id) => !old.has(id)).map((subjectId) => ({ id: newId(), subjectId })),
    removed: before.filter((id) => !young.has(id)),
  };
}
