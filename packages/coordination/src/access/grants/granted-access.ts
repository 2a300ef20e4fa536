import { z } from 'zod';
import { humanOnlyPermissions, type Permission } from '../../service/permissions.ts';
import type { Context } from '../context.ts';
import { fail } from '../errors.ts';
import { PermissionList, parsePermissions } from '../permission-list.ts';
import { shareAccessRole } from './grants.sql.ts';
import { findPreset } from './presets.ts';

/** The key or the id of an access role. */
export const AccessRoleRef = z.string().min(1).max(63);

/** The members of a body that grants access; `hasOneAccess` requires exactly one of them. */
export const accessMembers = {
  accessRole: AccessRoleRef.optional().meta({
    description: 'The key or the id of an access role; exactly one of accessRole and permissions.',
  }),
  permissions: PermissionList.min(1).optional(),
};

export interface AccessChoice {
  readonly accessRole?: string | undefined;
  readonly permissions?: readonly string[] | undefined;
}

export const oneAccess = 'must have exactly one of accessRole and permissions';
export function hasOneAccess({ accessRole, permissions }: AccessChoice): boolean {
  return (accessRole === undefined) !== (permissions === undefined);
}

/** The access that a binding gets. */
export interface GrantedAccess {
  /** The key of the role that the binding names and follows. */
  readonly accessRole: string | null;
  /** The effective permissions, each once, in alphabetical order. */
  readonly permissions: readonly Permission[];
}

type Kind = 'human' | 'agent' | 'service';

/**
 * Resolves what a request grants to a principal of a kind. A role of the tenant stays locked against changes until the
 * commit: a change either comes first, or finds the binding of this command. Call it before locking a binding, because
 * a change to a role also locks the role first.
 * @throws Refusal `not_found` {accessRole}, `invalid_permissions`
 */
export async function resolveAccess(
  context: Context,
  kind: Kind,
  { accessRole: ref, permissions: names = [] }: AccessChoice,
): Promise<GrantedAccess> {
  if (ref === undefined) return { accessRole: null, permissions: parsePermissions(names) };
  const { db, tenantId } = context;
  const role =
    findPreset(ref) ??
    (await db.row(shareAccessRole(tenantId, ref))) ??
    fail('not_found', { accessRole: ref });
  return { accessRole: role.key, permissions: permissionsFor(kind, role.permissions as Permission[]) };
}

/**
 * What a role allows a kind of principal: agents and services get no decisions. `admin` remains in the list, and a list
 * that would otherwise become empty stays as it is, so that `refuseForKind` rejects the role for them.
 */
export function permissionsFor(kind: Kind, permissions: readonly Permission[]): readonly Permission[] {
  if (kind === 'human') return permissions;
  const left = permissions.filter((name) => name === 'admin' || !humanOnlyPermissions.includes(name));
  return left.length > 0 ? left : permissions;
}
