import { holds, type Permission } from '../../service/permissions.ts';
import type { Context } from '../context.ts';
import { requireDelegated, requireStandingRights } from '../delegated/delegated-rights.ts';
import { fail } from '../errors.ts';
import type { ChildHandleOfParentRow } from './child-handle-row.ts';
import { findGrantOfRun, findLaunchedRun, lockHandle } from './children.sql.ts';

/**
 * Enforces the ceiling of a launched run: it may do no more than its handle grants, even if its principal may. Every
 * write that refers to a run calls this function after finding the run, including an artifact or a comment with
 * `runId`. A grant never changes, so nothing is locked. Checkpoints and actions need `tasks.claim` alone, without which
 * a launched run can't start. The delegation of the run's session limits the same writes. See
 * docs/reference/actions-and-usage.md#grants.
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

/** The id of a running run of the caller that another run launched. */
export async function launchedRunOf({ db, tenantId, caller }: Context): Promise<string | undefined> {
  return (await db.row(findLaunchedRun(tenantId, caller.principalId)))?.id;
}

/**
 * Limits work that continues in the caller's name after the run and the session have ended, such as a rule. It
 * refers to neither, so inside a launched run it is refused regardless of the grant, and a session that acts for a
 * person limits it if CP_DELEGATION_NARROWS is set. See docs/reference/actions-and-usage.md#grants.
 * @returns the limits: each is a set of permissions that the work may not exceed
 * @throws Refusal `child_grant_exceeded`, `permission_denied`
 */
export async function requireStanding(
  context: Context,
  permission: Permission,
): Promise<ReadonlySet<string>[]> {
  const runId = await launchedRunOf(context);
  if (runId !== undefined) fail('child_grant_exceeded', { runId, required: [permission] });
  return requireStandingRights(context, permission);
}

/**
 * Locks the handle of a launched task, after its task and run, so that no revocation of the launch can intervene.
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
