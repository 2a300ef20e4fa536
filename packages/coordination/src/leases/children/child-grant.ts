import { holds, type Permission } from '../../service/permissions.ts';
import type { Context } from '../context.ts';
import { requireDelegated, standingRights } from '../delegated/delegated-rights.ts';
import { fail } from '../errors.ts';
import type { ChildHandleOfParentRow } from './child-handle-row.ts';
import { findGrantOfRun, findLaunchedRun, lockHandle } from './children.sql.ts';

/**
 * The ceiling of a launched run (core, sections 12 and 23, W23). A run that another run launched does no more than its
 * handle grants, whatever its principal may do. Every write that names a run asks here (an artifact or a comment with
 * runId), after it has found the run. A grant never changes, so nothing is locked. Checkpoints and actions need
 * `tasks.claim` alone, without which a launched run can't start.
 * The delegation that the run's session acts under narrows the same writes.
 * @throws Refusal `permission_denied`, `child_grant_exceeded`
 */
export async function requireRunGrant(
  context: Context,
  runId: string,
  permission: Permission,
): Promise<void> {
  await requireDelegated(context, { runId }, permission);
  const { db, tenantId } = context;
  const grant = await db.row(findGrantOfRun(tenantId, runId));
  if (grant !== undefined && !holds(new Set(grant.permissions), permission))
    fail('child_grant_exceeded', { runId, required: [permission] });
}

/** The id of a running run of the caller that another run launched; undefined where there is none. */
export async function launchedRunOf({ db, tenantId, caller }: Context): Promise<string | undefined> {
  return (await db.row(findLaunchedRun(tenantId, caller.principalId)))?.id;
}

/**
 * For what goes on acting in the caller's name when the run and the session are over, such as a rule. It names neither, so
 * inside of a launched run it is refused whatever the handle grants, and a session that acts for a person narrows it, if
 * sessions do (core, section 23, W6 and W23).
 * @returns what narrows it: each set says which permissions it may have at most
 * @throws Refusal `child_grant_exceeded`, `permission_denied`
 */
export async function requireStanding(
  context: Context,
  permission: Permission,
): Promise<ReadonlySet<string>[]> {
  const runId = await launchedRunOf(context);
  if (runId !== undefined) fail('child_grant_exceeded', { runId, required: [permission] });
  return standingRights(context, permission);
}

/**
 * Locks the handle of a launched task, after its task and run, for what a revocation of the launch must not overtake.
 * @throws Refusal `child_handle_revoked`, `child_handle_expired`, `child_grant_exceeded` without the permission
 */
export async function lockGrantingHandle(
  { db, tenantId }: Context,
  childHandleId: string,
  permission: Permission,
): Promise<ChildHandleOfParentRow> {
  const handle = await db.row(lockHandle(tenantId, childHandleId));
  if (handle === undefined) throw new Error('a launched task has no handle');
  if (handle.revoked_at !== null) fail('child_handle_revoked', { childHandleId });
  if (handle.is_over) fail('child_handle_expired', { childHandleId, expiresAt: handle.expires_at });
  if (!holds(new Set(handle.permissions), permission))
    fail('child_grant_exceeded', { childHandleId, required: [permission] });
  return handle;
}
