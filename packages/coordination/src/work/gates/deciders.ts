import type { Caller } from '../../service/caller.ts';
import { holds } from '../../service/permissions.ts';
import type { Context } from '../context.ts';
import { type ApprovalRow, isInvolvedInVerification, shareHeldRole } from './gates.sql.ts';

/** The fields of an approval that determine who may decide it. */
export type DecidedBy = Pick<
  ApprovalRow,
  | 'id'
  | 'assigned_principal_id'
  | 'required_role_id'
  | 'workspace_id'
  | 'excluded_principals'
  | 'verification_id'
>;

/**
 * Whether the caller is a person who may decide this approval. A rule that acts on behalf of that person doesn't count,
 * because any principal that triggers the rule may influence what it writes.
 */
export async function mayDecideApproval(context: Context, approval: DecidedBy): Promise<boolean> {
  const { caller, endpoint } = context;
  if (endpoint.startsWith('worker ')) return false;
  if (!isHumanDecider(caller) || approval.excluded_principals.includes(caller.principalId)) return false;
  return !(await isOwnWork(context, approval)) && isAddressee(context, approval, caller.principalId);
}

/** Whether the caller would decide a check of their own work, or of a completion that they requested. */
export async function isOwnWork(
  { db, tenantId, caller }: Context,
  { verification_id: verificationId }: DecidedBy,
): Promise<boolean> {
  if (verificationId === null) return false;
  return (
    (await db.row(isInvolvedInVerification(tenantId, verificationId, caller.principalId)))?.is_party === true
  );
}

/** Whether the caller is a person with permission to decide approvals. */
export function isHumanDecider({ kind, permissions }: Caller): boolean {
  return kind === 'human' && holds(permissions, 'approvals.decide');
}

/**
 * Whether a principal is an addressee: the assigned principal, or a holder of the required role in the whole tenant, in
 * the approval's workspace or above it.
 */
export async function isAddressee(
  { db, tenantId }: Context,
  { assigned_principal_id: assignedId, required_role_id: roleId, workspace_id: workspaceId }: DecidedBy,
  principalId: string,
): Promise<boolean> {
  if (roleId === null) return assignedId === principalId;
  const held = await db.row(shareHeldRole({ tenantId, principalId, roleId, workspaceId }));
  return held !== undefined;
}
