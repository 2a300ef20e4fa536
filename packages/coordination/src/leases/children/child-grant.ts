import { holds, type Permission } from '../../service/permissions.ts';
import type { Context } from '../context.ts';
import { requireDelegated } from '../delegated/delegated-rights.ts';
import { fail } from '../errors.ts';
import { findGrantOfRun } from './children.sql.ts';

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
