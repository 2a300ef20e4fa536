import { z } from 'zod';
import type { RowOf } from '@baton/kernel/database/row';
import { FreeObject, type JsonObject, Timestamp, Uuid } from '@baton/values/wire';
import { documentBytesMax } from '../../service/documents.ts';
import type { Tables } from '../../service/schema.ts';
import { Capability, type CapabilityRow, capabilityOf } from '../capabilities/capability.ts';
import { Role, type RoleRow, roleOf } from '../roles/role.ts';
import { Skill, type SkillRow, skillOf } from '../skills/skill.ts';

/**
 * An assignment of a role, capability or skill; it embeds the whole record of the assigned object. See
 * docs/reference/workspaces.md#roles.
 */

const common = { id: Uuid, principalId: Uuid, createdAt: Timestamp };

export const RoleAssignment = z
  .strictObject({
    ...common,
    role: Role,
    workspaceId: Uuid.nullable().meta({ description: '`null` when the role applies to the whole tenant.' }),
  })
  .meta({ id: 'RoleAssignment' });
export type RoleAssignment = z.infer<typeof RoleAssignment>;

export const CapabilityAssignment = z
  .strictObject({ ...common, capability: Capability, metadata: FreeObject })
  .meta({ id: 'CapabilityAssignment' });
export type CapabilityAssignment = z.infer<typeof CapabilityAssignment>;

export const SkillAssignment = z
  .strictObject({ ...common, skill: Skill, metadata: FreeObject })
  .meta({ id: 'SkillAssignment' });
export type SkillAssignment = z.infer<typeof SkillAssignment>;

/** The body schema doesn't even check the type of the document, so that a 422 can describe the error. */
const metadata = z.unknown().meta({ type: 'object', 'x-maxBytes': documentBytesMax }).default({});

export const RoleAssignmentRequest = z
  .strictObject({ roleId: Uuid, workspaceId: Uuid.nullish() })
  .meta({ id: 'RoleAssignmentRequest' });
export const CapabilityAssignmentRequest = z
  .strictObject({ capabilityId: Uuid, metadata })
  .meta({ id: 'CapabilityAssignmentRequest' });
export const SkillAssignmentRequest = z
  .strictObject({ skillId: Uuid, metadata })
  .meta({ id: 'SkillAssignmentRequest' });

export type RoleAssignmentRow = RowOf<Tables['role_assignments']>;
export type CapabilityAssignmentRow = RowOf<Tables['capability_assignments'], { metadata: JsonObject }>;
export type SkillAssignmentRow = RowOf<Tables['skill_assignments'], { metadata: JsonObject }>;

const commonOf = (row: { id: string; principal_id: string; created_at: string }) => ({
  id: row.id,
  principalId: row.principal_id,
  createdAt: row.created_at,
});

export function roleAssignmentOf(row: RoleAssignmentRow, role: RoleRow): RoleAssignment {
  return { ...commonOf(row), role: roleOf(role), workspaceId: row.workspace_id };
}

export function capabilityAssignmentOf(
  row: CapabilityAssignmentRow,
  capability: CapabilityRow,
): CapabilityAssignment {
  return { ...commonOf(row), capability: capabilityOf(capability), metadata: row.metadata };
}

/** @param showsConfig whether the reader may see the skill's config */
export function skillAssignmentOf(
  row: SkillAssignmentRow,
  skill: SkillRow,
  showsConfig: boolean,
): SkillAssignment {
  const shown = showsConfig ? skill : { ...skill, config: {} };
  return { ...commonOf(row), skill: skillOf(shown), metadata: row.metadata };
}
