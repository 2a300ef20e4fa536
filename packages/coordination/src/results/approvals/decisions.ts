import { eventText } from '@baton/values/event-text';
import { getCorePrincipalId } from '../../access/principals/principals.ts';
import type { DeclaredGate } from '../../definitions/declared-actions/approval-schema.ts';
import { rulesOf } from '../../definitions/task-types/type-rules.ts';
import { emit } from '../../ledger/journal/journal.ts';
import { requireVersionOf } from '../../service/changes.ts';
import { holds } from '../../service/permissions.ts';
import type { ApprovalRow } from '../../work/gates/gates.ts';
import { changedFields, type PresentSubject, subjectBytesMax } from '../../work/gates/subject.ts';
import { wakeOpenAttempt } from '../../work/verifications/attempts.ts';
import type { Context } from '../context.ts';
import { fail } from '../errors.ts';
import { type Approval, type ApprovalDecision, approvalOf } from './approval.ts';
import { approvalApproved, approvalCancelled, approvalRejected } from './approvals.events.ts';
import {
  type ApprovalEnd,
  findTypeOfTask,
  insertOutcome,
  lockApproval,
  lockTaskOfApproval,
  updateApprovalToEnded,
} from './approvals.sql.ts';
import { shownApproval } from './approvals.ts';
import { credentialOfDecider, requireMayDecide, requirePersonWhoDecides } from './deciders.ts';
import { requirePreconditions } from './preconditions.ts';
import { presentSubjectOf } from './present-subjects.ts';

/**
 * Approves or rejects: of two deciders one wins, and a gate opens in either case. The approved subject is the requested
 * one or the one with `subjectDigest`, so that a person approves what they saw. It is compared under the task's lock.
 * See docs/reference/approvals.md#approve-and-reject.
 * @param ifMatch the version that the decider saw; -1 for any
 * @throws Refusal `permission_denied`, `not_found`, `version_conflict`, `approval_already_decided`,
 * `separation_of_duties_violation`, `not_eligible`, `approval_subject_changed`, `payload_too_large`,
 * `approval_precondition_failed`
 */
export async function decideApproval(
  context: Context,
  approvalId: string,
  status: 'approved' | 'rejected',
  decision: ApprovalDecision,
  ifMatch: number,
): Promise<Approval> {
  requirePersonWhoDecides(context.caller);
  const { comment = null, subjectDigest = null } = decision;
  const approval = await lockApprovalRow(context, approvalId);
  if (ifMatch !== -1) requireVersionOf('approval', approval, ifMatch);
  requirePending(approval);
  await requireMayDecide(context, approval);
  const present = await presentSubjectOf(context, approval);
  if (status === 'approved') requireSubject(approval, present, subjectDigest);
  const decidedBy = context.caller.principalId;
  const gate = await declaredGateOf(context, approval);
  if (status === 'approved')
    await requirePreconditions(context, approval, gate?.preconditions?.approved ?? []);
  const declared = gate?.outcomes[status] ?? [];
  const outcomeStatus = declared.length > 0 ? 'pending' : null;
  // Only a subject with the decider's digest replaces the requested one.
  const named = present.subject?.digest === subjectDigest ? present.subject : undefined;
  const otherSubject = named?.digest === approval.subject_digest ? undefined : named;
  const row = await end(context, approval, { status, decidedBy, comment, outcomeStatus, otherSubject });
  const decisionEventId = note(context, row, status);
  if (declared.length > 0) {
    const credential = credentialOfDecider(context.caller);
    const led = { approvalId: row.id, tenantId: context.tenantId, outcome: status, declared };
    // The values of the requested subject. If the subject is unchanged, its values are the same, because its digest is;
    // if it has changed, its rejection triggers the outcome of the requested subject.
    const values = row.subject?.values ?? present.subject?.values ?? {};
    await context.db.run(insertOutcome({ ...led, values, credential, decisionEventId }));
  }
  return approvalOf(row, present);
}

/**
 * Refuses to approve a changed subject, unless its digest shows that the decider saw it.
 * @throws Refusal `payload_too_large` for a subject too large to be shown, `approval_subject_changed`
 */
function requireSubject(
  { id, subject, subject_digest: requestedDigest }: ApprovalRow,
  present: PresentSubject,
  decidedDigest: string | null,
): void {
  if (present.subject === undefined)
    return fail('payload_too_large', { field: 'subject', maxBytes: subjectBytesMax });
  const { digest: currentDigest } = present.subject;
  if ((decidedDigest ?? requestedDigest) === currentDigest) return;
  const changed = currentDigest === requestedDigest ? [] : changedFields(subject, present);
  fail('approval_subject_changed', {
    approvalId: id,
    requestedDigest,
    currentDigest,
    changedFields: changed,
  });
}

/** @returns the id of the event that caused the outcome of the decision */
function note(context: Context, row: ApprovalRow, status: 'approved' | 'rejected'): string {
  const { decision_comment: comment } = row;
  return emit(
    context,
    status === 'approved' ? approvalApproved : approvalRejected,
    { entityId: row.id, workspaceId: row.workspace_id },
    {
      taskId: row.task_id,
      artifactId: row.artifact_id,
      outcomeStatus: row.outcome_status,
      decisionBy: context.caller.principalId,
      comment: comment === null ? null : eventText(comment),
      channel: context.caller.channel ?? null,
      subjectDigest: row.subject_digest,
    },
  );
}

/**
 * Cancels a request, which opens its gate. A gate of another requester, and every request that a type, a rule, a
 * process or a verification declares, can be cancelled only by a person who may decide it; a declared one also by a
 * person with `claims.manage`. Cancelling again changes nothing.
 * @throws Refusal `not_found`, `approval_already_decided`, `permission_denied`, `separation_of_duties_violation`,
 * `not_eligible`
 */
export async function cancelApproval(
  context: Context,
  approvalId: string,
  comment: string | null,
): Promise<Approval> {
  const approval = await lockApprovalRow(context, approvalId);
  if (approval.status === 'cancelled') return shownApproval(context, approval);
  requirePending(approval);
  await requireMayCancel(context, approval);
  return shownApproval(context, await cancelLockedApproval(context, approval, comment));
}

async function requireMayCancel(context: Context, approval: ApprovalRow): Promise<void> {
  const { caller } = context;
  const { gate, requested_by_principal_id: requestedBy } = approval;
  const isDeclared = requestedBy === (await getCorePrincipalId(context));
  if (isDeclared && caller.kind === 'human' && holds(caller.permissions, 'claims.manage')) return;
  const isOwn = requestedBy === caller.principalId;
  if (isDeclared || (gate && !isOwn)) await requireMayDecide(context, approval);
}

/** Cancels a pending request on behalf of the core when its origin has ended. */
export async function withdrawApproval(context: Context, approvalId: string): Promise<void> {
  const approval = await lockApprovalRow(context, approvalId);
  if (approval.status !== 'pending') return;
  await cancelLockedApproval(context, approval, null, await getCorePrincipalId(context));
}

async function cancelLockedApproval(
  context: Context,
  approval: ApprovalRow,
  comment: string | null,
  cancelledBy = context.caller.principalId,
): Promise<ApprovalRow> {
  const row = await end(context, approval, {
    status: 'cancelled',
    decidedBy: null,
    comment,
    outcomeStatus: null,
    otherSubject: undefined,
  });
  emit(
    context,
    approvalCancelled,
    { entityId: row.id, workspaceId: row.workspace_id },
    { taskId: row.task_id, cancelledBy },
  );
  return row;
}

/** The gates that the task's type declares; gates don't have names yet, so all of them are the default gate. */
async function declaredGateOf(
  context: Context,
  { gate, task_id: taskId }: ApprovalRow,
): Promise<DeclaredGate | undefined> {
  const task = gate && taskId !== null ? await context.db.row(findTypeOfTask(taskId)) : undefined;
  if (task === undefined) return undefined;
  const { approvalSchema } = await rulesOf(context, task.type_id);
  return approvalSchema.gates?.['default'];
}

/** The approval, locked together with its task. */
async function lockApprovalRow({ db, tenantId }: Context, approvalId: string): Promise<ApprovalRow> {
  await db.run(lockTaskOfApproval(tenantId, approvalId));
  return (await db.row(lockApproval(tenantId, approvalId))) ?? fail('not_found');
}

function requirePending({ id, status }: ApprovalRow): void {
  if (status !== 'pending') fail('approval_already_decided', { approvalId: id, status });
}

async function end(
  context: Context,
  { id }: ApprovalRow,
  as: Pick<ApprovalEnd, 'status' | 'decidedBy' | 'comment' | 'outcomeStatus' | 'otherSubject'>,
): Promise<ApprovalRow> {
  const { db, tenantId } = context;
  const row = await db.row(updateApprovalToEnded({ tenantId, approvalId: id, ...as }));
  if (row === undefined) throw new Error('a pending approval under its lock could not be ended');
  if (row.gate && row.task_id !== null) await wakeOpenAttempt(context, row.task_id);
  return row;
}
