import type { Db } from '@baton/kernel/database/db';
import type { Context } from '../context.ts';
import { requireAdministrator } from './administrators.ts';
import { noteBindingUpdated } from './iam-bindings.ts';
import {
  clearAccessRole,
  countBindingsOfRole,
  findTenantsBehind,
  type PermissionsOfRole,
  updateBindingsOfRole,
} from './role-bindings.sql.ts';

export type { PermissionsOfRole } from './role-bindings.sql.ts';

/** How many live bindings name a role, by the kind of their principals. */
export function listUsesOfRole({ db, tenantId }: Context, key: string) {
  return db.rows(countBindingsOfRole(tenantId, key));
}

/**
 * Gives the live bindings that name a role its permissions. The caller must lock the role first.
 * @returns how many had other permissions
 */
export async function applyRole(context: Context, role: PermissionsOfRole): Promise<number> {
  const changed = await context.db.rows(updateBindingsOfRole(context.tenantId, role));
  for (const binding of changed) noteBindingUpdated(context, binding);
  return changed.length;
}

/**
 * Gives the bindings the role's permissions, after a change that removed `admin` from the role.
 * @throws Refusal `last_administrator`
 */
export async function applyRoleWithoutAdmin(context: Context, role: PermissionsOfRole): Promise<number> {
  const changed = await applyRole(context, role);
  if (changed > 0) await requireAdministrator(context);
  return changed;
}

/** Revoked bindings no longer name a role that is being deleted. */
export async function forgetRole({ db, tenantId }: Context, key: string): Promise<void> {
  await db.run(clearAccessRole(tenantId, key));
}

/** Tenants with bindings whose permissions differ from those of the role that they name. */
export async function listTenantsBehind(
  db: Db,
  roles: readonly PermissionsOfRole[],
  limit: number,
): Promise<string[]> {
  return (await db.rows(findTenantsBehind(roles, limit))).map(({ tenant_id: tenantId }) => tenantId);
}
