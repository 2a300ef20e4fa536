import { type CredentialSnapshot, snapshotOf } from '../../access/authn/acting.ts';
import type { Caller } from '../../service/caller.ts';
import { holds } from '../../service/permissions.ts';
import type { ApprovalRow } from '../../work/gates/gates.ts';
import type { Context } from '../context.ts';
import { fail } from '../errors.ts';
import { isOfParty, shareHeldRole } from './approvals.sql.ts';

/** What of an approval says who may decide it. */
export type DecidedBy = Pick<
  ApprovalRow,
  'id' | 'assigned_principal_id' | 'required_role_id' | 'workspace_id' | 'verification_id'
> &
  Pick<ApprovalRow, 'excluded_principals'>;

/**
 * Refuses whoever may not decide an approval (core, section 14). Whoever asked for it may, unless the request excludes
 * them: a requester could cancel the gate as well. A check of a task is not decided by whoever worked on the task or asked
 * for its completion.
 * @throws Refusal `permission_denied` for an agent or a service, whatever was granted to it,
 * `separation_of_duties_violation`, `not_eligible`
 */
export async function requireMayDecide(context: Context, approval: DecidedBy): Promise<void> {
  requirePersonWhoDecides(context.caller);
  const { principalId } = context.caller;
  if (approval.excluded_principals.includes(principalId) || (await isOwnWork(context, approval)))
    fail('separation_of_duties_violation', { approvalId: approval.id });
  if (!(await isEligible(context, approval, principalId))) fail('not_eligible', { approvalId: approval.id });
}

/** Whether the caller would decide a check of what they worked on, or asked to be completed. */
async function isOwnWork(
  { db, tenantId, caller }: Context,
  { verification_id: verificationId }: DecidedBy,
): Promise<boolean> {
  if (verificationId === null) return false;
  return (await db.row(isOfParty(tenantId, verificationId, caller.principalId)))?.is_party === true;
}

/** What the decider acts with later; a token that only decides leaves the person's own rights for that. */
export function credentialOfDecider(caller: Caller): CredentialSnapshot {
  const { permissionsAfter = caller.permissions } = caller;
  return snapshotOf({ ...caller, permissions: permissionsAfter });
}

/** @throws Refusal `permission_denied` */
export function requirePersonWhoDecides({ kind, permissions }: Caller): void {
  if (kind !== 'human' || !holds(permissions, 'approvals.decide'))
    fail('permission_denied', { required: ['approvals.decide'] });
}

/**
 * Whether a principal is the one that is asked: the assigned one, or whoever holds the required role in the whole tenant,
 * in the approval's workspace or above it.
 */
async function isEligible(
  { db, tenantId }: Context,
  { assigned_principal_id: assignedId, required_role_id: roleId, workspace_id: workspaceId }: DecidedBy,
  principalId: string,
): Promise<boolean> {
  if (roleId === null) return assignedId === principalId;
  const held = await db.row(shareHeldRole({ tenantId, principalId, roleId, workspaceId }));
  return held !== undefined;
}
