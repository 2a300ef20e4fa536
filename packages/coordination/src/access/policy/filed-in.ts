import { DecidedPermissions, holds, type Permission } from '../../service/permissions.ts';
import type { Context } from '../context.ts';
import { fail } from '../errors.ts';

/**
 * In mode `policy`, creating an object in a workspace or moving it there needs the permission on that workspace, or on
 * the tenant for an object without a workspace. The caller already holds the permission in general; that suffices for
 * keys and in other modes. Every verb that files an object calls this function, so that no endpoint, rule, process or
 * declared action bypasses it. See docs/reference/authorization.md#place-of-new-objects.
 * @param places ids of existing workspaces; null is the tenant itself
 * @throws Refusal `permission_denied`; NeedsDecision when a decision is missing
 */
export async function requireMayFile(
  context: Context,
  permission: Permission,
  ...places: readonly (string | null)[]
): Promise<void> {
  const { caller } = context;
  const { permissions } = caller;
  const required = [permission];
  const asked = [...new Set(places)];
  if (permissions instanceof DecidedPermissions) {
    const workspaces = asked.filter((place) => place !== null);
    const isGranted = (type: string, ids: readonly string[]) =>
      permissions.permittedEach(permission, type, ids).length === ids.length;
    if (!isGranted('workspace', workspaces)) fail('permission_denied', { required });
    if (workspaces.length < asked.length && !isGranted('tenant', [caller.tenantId]))
      fail('permission_denied', { required });
    return;
  }
  // For the consequences of an earlier decision, the permissions at that time apply; only the new location is decided
  // now.
  const { authorities, db } = context;
  if (authorities === undefined || caller.iamPrincipalId === null) return;
  for (const place of asked) {
    const granted = await authorities.authorize(db, caller, new Set(required), place);
    if (!holds(granted.permissions, permission)) fail('permission_denied', { required });
  }
}

/**
 * Like `requireMayFile`, for parts of a task: the permission is needed on the task. A request on the task's own path
 * was already authorized there; other callers, such as a declared comment, are authorized here.
 * @throws like `requireMayFile`
 */
export async function requireMayHangOn(
  context: Context,
  permission: Permission,
  { id, workspaceId }: { readonly id: string; readonly workspaceId: string | null },
): Promise<void> {
  const { permissions } = context.caller;
  if (!(permissions instanceof DecidedPermissions)) return requireMayFile(context, permission, workspaceId);
  if (permissions.permittedEach(permission, 'task', [id]).length === 0)
    fail('permission_denied', { required: [permission] });
}

/**
 * Like `requireMayFile`, for a move: the permission is needed on the old and the new workspace. An object without a
 * workspace needs only the permission on the new one. The endpoint authorizes the object itself.
 * @throws like `requireMayFile`
 */
export async function requireMayMove(
  context: Context,
  permission: Permission,
  from: string | null,
  to: string | null,
): Promise<void> {
  await requireMayFile(context, permission, ...(from === null ? [] : [from]), to);
}
