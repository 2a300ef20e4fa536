import { parsePermissions, refuseEscalation, refuseForKind } from '../../access/permission-list.ts';
import { holds, type Permission } from '../../service/permissions.ts';
import type { Context } from '../context.ts';
import { fail } from '../errors.ts';
import type { AgentGrants } from './agent.ts';
import type { AgentSpec } from './agent-spec.ts';
import { findFurtherAssignments } from './references.sql.ts';

/**
 * A caller can't grant an agent more than it could grant a principal. See docs/reference/agents.md#publish. @returns
 * the permissions without duplicates, in alphabetical order
 * @throws Refusal `invalid_permissions`, `permissions_not_allowed_for_kind`, `permission_escalation` {missing} or
 * {path}
 */
export function requireMayGrant({ caller }: Context, spec: AgentSpec): Permission[] {
  const { identity, skills, connections } = spec;
  const permissions = parsePermissions(identity.permissions);
  refuseForKind(identity.kind, permissions);
  refuseEscalation(caller.permissions, permissions);
  const given: [string, readonly unknown[], Permission][] = [
    ['/identity/roles', identity.roles, 'org.manage'],
    ['/identity/capabilities', identity.capabilities, 'org.manage'],
    ['/skills/invoke', skills?.invoke ?? [], 'org.manage'],
    ['/connections', connections, 'connections.manage'],
  ];
  for (const [path, names, needed] of given)
    if (names.length > 0 && !holds(caller.permissions, needed)) fail('permission_escalation', { path });
  return permissions;
}

/**
 * Requires that the caller could itself assign the roles, capabilities and skills.
 * @param besides exempt items, which are checked elsewhere
 * @throws Refusal `permission_escalation` {path}
 */
export async function requireMayUseAssignments(
  { db, tenantId, caller }: Context,
  principalId: string,
  besides: AgentGrants,
): Promise<void> {
  const found = await db.row(findFurtherAssignments(tenantId, principalId, besides));
  if (found !== undefined && !holds(caller.permissions, 'org.manage'))
    fail('permission_escalation', { path: found.path });
}
