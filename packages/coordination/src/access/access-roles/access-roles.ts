import { isDeepStrictEqual } from 'node:util';
import { eventText } from '@baton/values/event-text';
import { newId } from '@baton/values/ids';
import { emit } from '../../ledger/journal/journal.ts';
import { requireVersionOf } from '../../service/changes.ts';
import {
  humanOnlyPermissions,
  type Permission,
  permissionNames,
  permissions as texts,
} from '../../service/permissions.ts';
import type { Context } from '../context.ts';
import { fail } from '../errors.ts';
import { permissionsFor } from '../grants/granted-access.ts';
import { findPreset, presets } from '../grants/presets.ts';
import { takesAdmin } from '../iam-bindings/administrators.ts';
import {
  applyRole,
  applyRoleWithoutAdmin,
  forgetRole,
  listUsesOfRole,
} from '../iam-bindings/role-bindings.ts';
import { parsePermissions, refuseEscalation, refuseForKind, refuseWiderSight } from '../permission-list.ts';
import { countAdmissionRulesOfRole } from '../principals/admissions/admission-rules.ts';
import {
  type AccessRole,
  type AccessRoleChange,
  type AccessRoleRequest,
  type AccessRoleRow,
  accessRoleOf,
  accessRoleOfPreset,
  type ListedPermission,
} from './access-role.ts';
import { accessRoleCreated, accessRoleDeleted, accessRoleUpdated } from './access-roles.events.ts';
import {
  type AccessRoleValues,
  countAccessRoles,
  deleteAccessRole as deleteRole,
  findAccessRole,
  findAccessRoles,
  insertAccessRole,
  lockAccessRole,
  takeAccessRolesLock,
  updateAccessRole as updateRole,
} from './access-roles.sql.ts';

/** The tenant's own roles, which all fit on one page. */
const ownRolesMax = 100;

/** Every permission with what it allows. */
export function listPermissions(): ListedPermission[] {
  return permissionNames.map((name) => ({
    name,
    allows: texts[name],
    peopleOnly: humanOnlyPermissions.includes(name),
  }));
}

/** Built-in roles from the fewest to the most permissions, then the tenant's own by key. */
export async function listAccessRoles({ db, tenantId }: Context): Promise<AccessRole[]> {
  const own = await db.rows(findAccessRoles(tenantId));
  return [...presets.map(accessRoleOfPreset), ...own.map(accessRoleOf)];
}

/** @throws Refusal `not_found` */
export async function getAccessRole({ db, tenantId }: Context, ref: string): Promise<AccessRole> {
  const preset = findPreset(ref);
  if (preset !== undefined) return accessRoleOfPreset(preset);
  return accessRoleOf(
    (await db.row(findAccessRole(tenantId, ref))) ?? fail('not_found', { accessRole: ref }),
  );
}

/**
 * Creates one of the tenant's own roles. See docs/reference/access.md#access-roles.
 * @throws Refusal `invalid_permissions`, `permission_escalation`, `access_role_key_conflict`, `access_role_limit`
 */
export async function createAccessRole(context: Context, request: AccessRoleRequest): Promise<AccessRole> {
  const { db, tenantId } = context;
  const { key, name, description } = request;
  const permissions = parsePermissions(request.permissions);
  refuseEscalation(context.caller.permissions, permissions);
  if (findPreset(key) !== undefined) fail('access_role_key_conflict', { key });
  await db.run(takeAccessRolesLock(tenantId));
  const row = await db.row(
    insertAccessRole({ id: newId(), tenantId, key, name, description, permissions: [...permissions] }),
  );
  if (row === undefined) return fail('access_role_key_conflict', { key });
  const roles = (await db.row(countAccessRoles(tenantId)))?.roles ?? 0;
  if (roles > ownRolesMax) fail('access_role_limit', { max: ownRolesMax });
  emit(context, accessRoleCreated, { entityId: row.id }, { key, name: eventText(name), permissions });
  return accessRoleOf(row);
}

/**
 * Changes one of the tenant's own roles, and the permissions of all bindings that name it. The caller needs its current
 * and its new permissions. Values equal to the stored ones change nothing.
 * @throws Refusal `not_found`, `access_role_built_in`, `version_conflict`, `empty_update`, `invalid_permissions`,
 * `permission_escalation`, `visibility_escalation`, `permissions_not_allowed_for_kind`, `last_administrator`
 */
export async function updateAccessRole(
  context: Context,
  ref: string,
  ifMatch: number,
  change: AccessRoleChange,
): Promise<AccessRole> {
  const { db, tenantId, caller } = context;
  const before = await lockOwnRole(context, ref);
  requireVersionOf('access_role', before, ifMatch);
  if (Object.keys(change).length === 0) fail('empty_update');
  const permissions = parsePermissions(change.permissions ?? before.permissions);
  refuseEscalation(caller.permissions, [...new Set([...before.permissions, ...permissions])].sort());
  await refuseWiderSight(context, before.permissions, permissions);
  const after: AccessRoleValues = {
    name: change.name ?? before.name,
    description: change.description ?? before.description,
    permissions: [...permissions],
  };
  const names = ['name', 'description', 'permissions'] as const;
  const changes = names.filter((name) => !isDeepStrictEqual(after[name], before[name]));
  if (changes.length === 0) return accessRoleOf(before);
  const row = (await db.row(updateRole(tenantId, before.id, after))) as AccessRoleRow;
  const bindings = await updateBindings(context, before, permissions);
  const { key, version } = row;
  emit(
    context,
    accessRoleUpdated,
    { entityId: row.id },
    { key, version, changes, permissions: row.permissions, bindings },
  );
  return accessRoleOf(row);
}

/**
 * @returns how many bindings got different permissions
 */
async function updateBindings(
  context: Context,
  { key, permissions: before }: AccessRoleRow,
  permissions: readonly Permission[],
): Promise<number> {
  for (const { kind } of await listUsesOfRole(context, key))
    refuseForKind(kind, permissionsFor(kind, permissions));
  const people = permissionsFor('human', permissions);
  const role = { key, people, others: permissionsFor('agent', permissions) };
  return takesAdmin(before, permissions) ? applyRoleWithoutAdmin(context, role) : applyRole(context, role);
}

/**
 * Deletes one of the tenant's own roles that neither a live binding nor an admission rule names: otherwise the
 * rule would apply to a later role with the same key, and strangers would get its permissions.
 * @throws Refusal `not_found`, `access_role_built_in`, `access_role_in_use`
 */
export async function deleteAccessRole(context: Context, ref: string): Promise<undefined> {
  const { db, tenantId } = context;
  const { id, key } = await lockOwnRole(context, ref);
  const used = await listUsesOfRole(context, key);
  const bindings = used.reduce((sum, { bindings: count }) => sum + count, 0);
  const admissionRules = await countAdmissionRulesOfRole(context, key);
  if (bindings + admissionRules > 0)
    fail('access_role_in_use', { accessRole: key, bindings, admissionRules });
  await forgetRole(context, key);
  await db.run(deleteRole(tenantId, id));
  emit(context, accessRoleDeleted, { entityId: id }, { key });
  return undefined;
}

/** @throws Refusal `not_found`, `access_role_built_in` */
async function lockOwnRole({ db, tenantId }: Context, ref: string): Promise<AccessRoleRow> {
  if (findPreset(ref) !== undefined) fail('access_role_built_in', { accessRole: ref });
  return (await db.row(lockAccessRole(tenantId, ref))) ?? fail('not_found', { accessRole: ref });
}
