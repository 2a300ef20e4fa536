import { type ItemPage, listPage } from '@baton/kernel/database/list';
import type { Page } from '@baton/kernel/http/paging';
import { eventText } from '@baton/values/event-text';
import { newId } from '@baton/values/ids';
import { emit } from '../../ledger/journal/journal.ts';
import { requireVersionOf } from '../../service/changes.ts';
import { listSeen } from '../../service/sight/seen-list.ts';
import { requireSight, viewerOf } from '../../service/sight/sight.ts';
import type { Context } from '../context.ts';
import { fail } from '../errors.ts';
import { storeUnique } from '../store-unique.ts';
import { enterWorkspace, getWorkspaceRow } from '../workspaces/workspaces.ts';
import {
  type Role,
  type RoleChange,
  type RoleHolder,
  type RoleRequest,
  type RoleRow,
  roleHolderOf,
  roleOf,
} from './role.ts';
import { roleCreated, roleUpdated } from './roles.events.ts';
import {
  findRole,
  findRoleHolders,
  insertRole,
  listOfRoles,
  lockRole,
  type RoleValues,
  updateRoleValues,
} from './roles.sql.ts';

/**
 * Creates a role for the tenant or for a workspace. See docs/reference/workspaces.md#roles.
 * @throws Refusal `not_found`, `workspace_archived`, `role_slug_conflict`
 */
export async function createRole(context: Context, request: RoleRequest): Promise<Role> {
  const { db, tenantId } = context;
  const { slug, name, description } = request;
  const workspaceId = request.workspaceId ?? null;
  if (workspaceId !== null) await enterWorkspace(context, workspaceId);
  const row = await db.row(insertRole({ id: newId(), tenantId, workspaceId, slug, name, description }));
  if (row === undefined) return fail('role_slug_conflict', { slug });
  emit(context, roleCreated, { entityId: row.id, workspaceId }, { slug, name: eventText(name), workspaceId });
  return roleOf(row);
}

/** @throws Refusal `invalid_cursor` */
export async function listRoles(
  context: Context,
  query: { workspaceId?: string | undefined; package?: string | undefined },
  page: Page,
): Promise<ItemPage<Role>> {
  const { db, tenantId } = context;
  const list = listOfRoles(tenantId, { workspace_id: query.workspaceId, package_key: query.package });
  return listSeen(db, await viewerOf(context), list, page, roleOf);
}

/** @throws Refusal `not_found` */
export async function getRole(context: Context, id: string): Promise<Role> {
  return roleOf(await getRoleRow(context, id));
}

/** @throws Refusal `not_found` */
export async function getRoleRow(context: Context, id: string): Promise<RoleRow> {
  const details = { roleId: id };
  const row = (await context.db.row(findRole(context.tenantId, id))) ?? fail('not_found', details);
  await requireSight(context, row.workspace_id, details);
  return row;
}

/**
 * Changes a role; values equal to the stored ones change nothing.
 * @throws Refusal `not_found`, `version_conflict`, `role_slug_conflict`, `empty_update`
 */
export async function updateRole(
  context: Context,
  id: string,
  ifMatch: number,
  change: RoleChange,
): Promise<Role> {
  const { db, tenantId } = context;
  const before = (await db.row(lockRole(tenantId, id))) ?? fail('not_found', { roleId: id });
  requireVersionOf('role', before, ifMatch);
  const after: RoleValues = {
    name: change.name ?? before.name,
    description: change.description ?? before.description,
    slug: change.slug ?? before.slug,
  };
  if (Object.keys(change).length === 0) fail('empty_update');
  const changes: Record<string, string> = {};
  for (const field of ['name', 'description', 'slug'] as const)
    if (after[field] !== before[field]) changes[field] = eventText(after[field]);
  if (Object.keys(changes).length === 0) return roleOf(before);
  const storing = db.row(updateRoleValues(tenantId, id, after));
  const row = (await storeUnique(storing, () => fail('role_slug_conflict', { slug: after.slug }))) as RoleRow;
  emit(
    context,
    roleUpdated,
    { entityId: id, workspaceId: row.workspace_id },
    { changes, version: row.version },
  );
  return roleOf(row);
}

/**
 * Lists the principals that have a role; with a workspace, only those to whom the role applies there.
 * @throws Refusal `not_found`, `invalid_cursor`
 */
export async function listRoleHolders(
  context: Context,
  roleId: string,
  workspaceId: string | undefined,
  page: Page,
): Promise<ItemPage<RoleHolder>> {
  await getRoleRow(context, roleId);
  const path = workspaceId === undefined ? undefined : (await getWorkspaceRow(context, workspaceId)).path;
  return listPage(context.db, findRoleHolders(context.tenantId, roleId, path, page), roleHolderOf);
}
