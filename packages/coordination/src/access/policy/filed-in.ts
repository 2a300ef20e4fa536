import { holds, JudgedPermissions, type Permission } from '../../service/permissions.ts';
import type { Context } from '../context.ts';
import { fail } from '../errors.ts';

/**
 * Where a decision point decides, whoever makes something in a workspace, or moves it there, needs the permission on that
 * workspace; on the tenant for what is filed in none. The caller is known to have the permission at all: a key, and a process
 * without a decision point, go by that alone. Every verb that files something calls it, so that no endpoint, rule, process or
 * declared action goes around it.
 * @param places ids of workspaces that there are; null is the tenant itself
 * @throws Refusal `permission_denied`; NeedsDecision when the point was not asked yet
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
  if (permissions instanceof JudgedPermissions) {
    const workspaces = asked.filter((place) => place !== null);
    const isGranted = (type: string, ids: readonly string[]) =>
      permissions.permittedEach(permission, type, ids).length === ids.length;
    if (!isGranted('workspace', workspaces)) fail('permission_denied', { required });
    if (workspaces.length < asked.length && !isGranted('tenant', [caller.tenantId]))
      fail('permission_denied', { required });
    return;
  }
  // What a person decided is done later by their names of then, on what they were judged on; where it files is judged now.
  const { authorities, db } = context;
  if (authorities === undefined || caller.iamPrincipalId === null) return;
  for (const place of asked) {
    const judged = await authorities.judged(db, caller, new Set(required), place);
    if (!holds(judged.permissions, permission)) fail('permission_denied', { required });
  }
}

/**
 * The same for what hangs on a task: the permission is needed on the task, which is in its workspace. A request is asked about
 * it by the task of its path; one that gets there by another way, as a declared comment does, is asked here.
 * @throws as `requireMayFile`
 */
export async function requireMayHangOn(
  context: Context,
  permission: Permission,
  { id, workspaceId }: { readonly id: string; readonly workspaceId: string | null },
): Promise<void> {
  const { permissions } = context.caller;
  if (!(permissions instanceof JudgedPermissions)) return requireMayFile(context, permission, workspaceId);
  if (permissions.permittedEach(permission, 'task', [id]).length === 0)
    fail('permission_denied', { required: [permission] });
}

/**
 * The same for what leaves one place for another: the permission is needed on both. What was filed in no workspace leaves none.
 * The object itself is judged where its endpoint is.
 * @throws as `requireMayFile`
 */
export async function requireMayMove(
  context: Context,
  permission: Permission,
  from: string | null,
  to: string | null,
): Promise<void> {
  await requireMayFile(context, permission, ...(from === null ? [] : [from]), to);
}
