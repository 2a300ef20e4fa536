import { queryBuilder } from '@baton/kernel/database/db';
import {
  condition,
  fragment,
  type ListOrder,
  ownedPageQuery,
  pageQuery,
  rowsWhere,
} from '@baton/kernel/database/list';
import { sql } from '@baton/kernel/database/sql';
import type { Page } from '@baton/kernel/http/paging';
import type { JsonObject } from '@baton/values/wire';
import { placesSeenBy, type SeenList, workspacesSeenBy } from '../../service/sight/places.ts';
import type { CapabilityRow } from '../capabilities/capability.ts';
import type { RoleRow } from '../roles/role.ts';
import type { SkillRow } from '../skills/skill.ts';
import type { CapabilityAssignmentRow, RoleAssignmentRow, SkillAssignmentRow } from './assignment.ts';

export interface NewAssignment {
  id: string;
  tenantId: string;
  principalId: string;
}

/** Returns no row when the principal already has the role; likewise for the other two kinds. */
export function insertRoleAssignment(given: NewAssignment & { roleId: string; workspaceId: string | null }) {
  return sql<RoleAssignmentRow>`
    insert into role_assignments (id, tenant_id, principal_id, role_id, workspace_id)
    values (${given.id}, ${given.tenantId}, ${given.principalId}, ${given.roleId}, ${given.workspaceId})
    on conflict (principal_id, role_id, workspace_id) do nothing
    returning *`;
}

export function insertCapabilityAssignment(
  given: NewAssignment & { capabilityId: string; metadata: JsonObject },
) {
  return sql<CapabilityAssignmentRow>`
    insert into capability_assignments (id, tenant_id, principal_id, capability_id, metadata)
    values (${given.id}, ${given.tenantId}, ${given.principalId}, ${given.capabilityId}, ${JSON.stringify(given.metadata)})
    on conflict (principal_id, capability_id) do nothing
    returning *`;
}

export function insertSkillAssignment(given: NewAssignment & { skillId: string; metadata: JsonObject }) {
  return sql<SkillAssignmentRow>`
    insert into skill_assignments (id, tenant_id, principal_id, skill_id, metadata)
    values (${given.id}, ${given.tenantId}, ${given.principalId}, ${given.skillId}, ${JSON.stringify(given.metadata)})
    on conflict (principal_id, skill_id) do nothing
    returning *`;
}

/**
 * Locks the assignment, so that a concurrent revoke is either visible or follows the response; likewise for the other
 * two kinds.
 */
export function shareRoleAssignment(principalId: string, roleId: string, workspaceId: string | null) {
  return sql<RoleAssignmentRow>`
    select * from role_assignments
    where principal_id = ${principalId} and role_id = ${roleId}
      and workspace_id is not distinct from ${workspaceId}::uuid
    for share`;
}

export function shareCapabilityAssignment(principalId: string, capabilityId: string) {
  return sql<CapabilityAssignmentRow>`
    select * from capability_assignments where principal_id = ${principalId} and capability_id = ${capabilityId}
    for share`;
}

export function shareSkillAssignment(principalId: string, skillId: string) {
  return sql<SkillAssignmentRow>`
    select * from skill_assignments where principal_id = ${principalId} and skill_id = ${skillId} for share`;
}

/** Returns no row when there is nothing to revoke; likewise for the other two kinds. */
export function deleteRoleAssignment(
  tenantId: string,
  principalId: string,
  roleId: string,
  workspaceId: string | null,
) {
  return sql<{ id: string }>`
    delete from role_assignments
    where tenant_id = ${tenantId} and principal_id = ${principalId} and role_id = ${roleId}
      and workspace_id is not distinct from ${workspaceId}::uuid
    returning id`;
}

export function deleteCapabilityAssignment(tenantId: string, principalId: string, capabilityId: string) {
  return sql<{ id: string }>`
    delete from capability_assignments
    where tenant_id = ${tenantId} and principal_id = ${principalId} and capability_id = ${capabilityId}
    returning id`;
}

export function deleteSkillAssignment(tenantId: string, principalId: string, skillId: string) {
  return sql<{ id: string }>`
    delete from skill_assignments
    where tenant_id = ${tenantId} and principal_id = ${principalId} and skill_id = ${skillId}
    returning id`;
}

/** Locks the principal whose whole set of assignments changes. */
export interface Holder {
  readonly tenantId: string;
  readonly principalId: string;
}

/** New assignments, each with its own id and that of the role, capability or skill. */
export type Added = readonly { readonly id: string; readonly subjectId: string }[];

const idsOf = (added: Added) => [added.map(({ id }) => id), added.map(({ subjectId }) => subjectId)] as const;

/** Inserts the roles that are new in the whole tenant; likewise for the other two kinds. */
export function insertRoleAssignments({ tenantId, principalId }: Holder, added: Added) {
  const [ids, roleIds] = idsOf(added);
  return sql<{ id: string }>`
    insert into role_assignments (id, tenant_id, principal_id, role_id)
    select given.id, ${tenantId}, ${principalId}, role_id from unnest(${ids}::uuid[], ${roleIds}::uuid[]) as given (id, role_id)
    order by role_id
    on conflict (principal_id, role_id, workspace_id) do nothing
    returning role_id as id`;
}

export function insertCapabilityAssignments({ tenantId, principalId }: Holder, added: Added) {
  const [ids, capabilityIds] = idsOf(added);
  return sql<{ id: string }>`
    insert into capability_assignments (id, tenant_id, principal_id, capability_id, metadata)
    select given.id, ${tenantId}, ${principalId}, capability_id, '{}'
    from unnest(${ids}::uuid[], ${capabilityIds}::uuid[]) as given (id, capability_id)
    order by capability_id
    on conflict (principal_id, capability_id) do nothing
    returning capability_id as id`;
}

export function insertSkillAssignments({ tenantId, principalId }: Holder, added: Added) {
  const [ids, skillIds] = idsOf(added);
  return sql<{ id: string }>`
    insert into skill_assignments (id, tenant_id, principal_id, skill_id, metadata)
    select given.id, ${tenantId}, ${principalId}, skill_id, '{}'
    from unnest(${ids}::uuid[], ${skillIds}::uuid[]) as given (id, skill_id)
    order by skill_id
    on conflict (principal_id, skill_id) do nothing
    returning skill_id as id`;
}

/** Deletes the tenant-wide roles that the set no longer contains; likewise for the other two kinds. */
export function deleteRoleAssignments({ tenantId, principalId }: Holder, roleIds: readonly string[]) {
  return sql<{ id: string }>`
    delete from role_assignments
    where tenant_id = ${tenantId} and principal_id = ${principalId} and role_id = any (${roleIds}::uuid[])
      and workspace_id is null
    returning role_id as id`;
}

export function deleteCapabilityAssignments(
  { tenantId, principalId }: Holder,
  capabilityIds: readonly string[],
) {
  return sql<{ id: string }>`
    delete from capability_assignments
    where tenant_id = ${tenantId} and principal_id = ${principalId} and capability_id = any (${capabilityIds}::uuid[])
    returning capability_id as id`;
}

export function deleteSkillAssignments({ tenantId, principalId }: Holder, skillIds: readonly string[]) {
  return sql<{ id: string }>`
    delete from skill_assignments
    where tenant_id = ${tenantId} and principal_id = ${principalId} and skill_id = any (${skillIds}::uuid[])
    returning skill_id as id`;
}

const build = queryBuilder<{
  role_assignments: RoleAssignmentRow;
  capability_assignments: CapabilityAssignmentRow;
  skill_assignments: SkillAssignmentRow;
}>();

const orderOf = <Row>(cursor: string): ListOrder<Row> =>
  ({ cursor, columns: { created_at: 'timestamp', id: 'uuid' }, direction: 'desc' }) as ListOrder<Row>;

/** Omits assignments in a workspace, and assignments of a workspace's role, that the viewer may not see. */
export function listOfRoleAssignments(tenantId: string, principalId: string): SeenList<RoleAssignmentRow> {
  const foundIn = (source: 'role_assignments') =>
    build
      .selectFrom(source)
      .selectAll()
      .where('tenant_id', '=', tenantId)
      .where('principal_id', '=', principalId);
  const order = orderOf<RoleAssignmentRow>('role_assignments');
  const rolesSeenBy = (viewerId: string) => fragment`
    select role.id from (${placesSeenBy(tenantId, viewerId)}) as place (id) cross join lateral (
      select id from roles where coalesce(workspace_id, tenant_id) = place.id offset 0) as role`;
  return {
    all: (page) => pageQuery(foundIn('role_assignments'), order, page),
    filedBy: 'workspaceAndRole',
    seen: (viewerId, page) => {
      const ofRole = condition`role_id = owner.id and principal_id = ${principalId}::uuid`;
      const source = rowsWhere('role_assignments', ofRole).as('role_assignments');
      const part = foundIn(source as unknown as 'role_assignments').where(
        condition`(workspace_id is null or workspace_id in (${workspacesSeenBy(viewerId)}))`,
      );
      return ownedPageQuery([{ owners: rolesSeenBy(viewerId), part, headsFirst: false }], order, page);
    },
    lookups: rolesSeenBy,
  };
}

export function findCapabilityAssignments(tenantId: string, principalId: string, page: Page) {
  const query = build.selectFrom('capability_assignments').selectAll();
  const own = query.where('tenant_id', '=', tenantId).where('principal_id', '=', principalId);
  return pageQuery(own, orderOf<CapabilityAssignmentRow>('capability_assignments'), page);
}

export function findSkillAssignments(tenantId: string, principalId: string, page: Page) {
  const query = build.selectFrom('skill_assignments').selectAll();
  const own = query.where('tenant_id', '=', tenantId).where('principal_id', '=', principalId);
  return pageQuery(own, orderOf<SkillAssignmentRow>('skill_assignments'), page);
}

export function findRolesById(tenantId: string, ids: readonly string[]) {
  return sql<RoleRow>`select * from roles where tenant_id = ${tenantId} and id = any (${ids}::uuid[])`;
}

export function findCapabilitiesById(tenantId: string, ids: readonly string[]) {
  return sql<CapabilityRow>`
    select * from capabilities where tenant_id = ${tenantId} and id = any (${ids}::uuid[])`;
}

export function findSkillsById(tenantId: string, ids: readonly string[]) {
  return sql<SkillRow>`select * from skills where tenant_id = ${tenantId} and id = any (${ids}::uuid[])`;
}
