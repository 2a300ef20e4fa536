import { parsePermissions, refuseEscalation, refuseForKind } from '../../access/granting.ts';
import { holds, type Permission } from '../../service/permissions.ts';
import type { Context } from '../context.ts';
import { fail } from '../errors.ts';
import type { AgentGrants } from './agent.ts';
import type { AgentSpec } from './agent-spec.ts';
import { findFurtherAssignments } from './references.sql.ts';

/**
 * Nobody gives an agent what they could not give a principal themselves (organisation, section 12.2).
 * @returns its permissions, each once, in alphabetical order
 * @throws Refusal `invalid_permissions`, `permissions_not_allowed_for_kind`, `permission_escalation` {missing} or {path}
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
 * Nobody decides what is done with roles, capabilities and skills that they couldn't assign themselves.
 * @param besides what doesn't count, since the caller is asked about it elsewhere
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
