import { type CredentialSnapshot, snapshotOf } from '../../access/authn/credential-snapshot.ts';
import type { Caller } from '../../service/caller.ts';
import { type DecidedBy, isAddressee, isHumanDecider, isOwnWork } from '../../work/gates/deciders.ts';
import type { Context } from '../context.ts';
import { fail } from '../errors.ts';

/**
 * Refuses callers who may not decide an approval. The requester may, unless the request excludes them: a requester
 * could also cancel the gate. A check of a task can't be decided by a person who worked on the task or requested its
 * completion. See docs/reference/approvals.md#deciders.
 * @throws Refusal `permission_denied` for an agent or a service, regardless of its grants,
 * `separation_of_duties_violation`, `not_eligible`
 */
export async function requireMayDecide(context: Context, approval: DecidedBy): Promise<void> {
  requirePersonWhoDecides(context.caller);
  const { principalId } = context.caller;
  if (approval.excluded_principals.includes(principalId) || (await isOwnWork(context, approval)))
    fail('separation_of_duties_violation', { approvalId: approval.id });
  if (!(await isAddressee(context, approval, principalId))) fail('not_eligible', { approvalId: approval.id });
}

/** The caller's credential for later actions; for a decide-only token, the person's own permissions. */
export function credentialOfDecider(caller: Caller): CredentialSnapshot {
  const { permissionsAfter = caller.permissions } = caller;
  return snapshotOf({ ...caller, permissions: permissionsAfter });
}

/** @throws Refusal `permission_denied` */
export function requirePersonWhoDecides(caller: Caller): void {
  if (!isHumanDecider(caller)) fail('permission_denied', { required: ['approvals.decide'] });
}
