import { eventText } from '@baton/values/event-text';
import { newId } from '@baton/values/ids';
import { getCorePrincipalId } from '../../access/principals/principals.ts';
import { emit } from '../../ledger/journal/journal.ts';
import type { Context } from '../context.ts';
import { fail } from '../errors.ts';
import { approvalRequested } from './gates.events.ts';
import { type ApprovalRow, findApprovedGates, findPendingGates, insertApproval } from './gates.sql.ts';
import {
  type CheckOfSubject,
  checkOfApproval,
  findArtifactOfSubject,
  subjectBytesMax,
  type TaskOfSubject,
  takeSubjectSnapshot,
} from './subject.ts';

export type { ApprovalRow } from './gates.sql.ts';

/** The maximum length of an approval's comment. */
const commentCharactersMax = 4000;

/** A request for a person's decision; all references are validated. */
export interface NewApprovalRequest {
  /** The id of the new request, if the caller has already allocated it. */
  readonly id?: string;
  /** Locked if the request is a gate. */
  readonly task: TaskOfSubject | null;
  readonly artifactId: string | null;
  readonly workspaceId: string | null;
  /** Exactly one of `requiredRoleId` and `assignedPrincipalId` must be set. */
  readonly requiredRoleId: string | null;
  readonly assignedPrincipalId: string | null;
  readonly excludedPrincipals: readonly string[];
  readonly comment: string;
  readonly gate: boolean;
  /**
   * Whether a type, a rule, a process or a verification declares the approval. If so, the service is the requester: the
   * caller that triggers the request could otherwise cancel it.
   */
  readonly isDeclared: boolean;
  /** The approval of an earlier subject that this one renews. */
  readonly supersedesApprovalId?: string;
  /** The check for which a verification attempt requests the approval. */
  readonly check?: CheckOfSubject | null;
}

/**
 * Requests an approval and records its subject (docs/reference/relations.md#gates). A gate blocks its task until it is
 * decided or cancelled: claims and completions are refused with `approval_required`.
 * @throws Refusal `payload_too_large` if the subject is too large to be shown to a person
 */
export async function writeApprovalRequest(
  context: Context,
  request: NewApprovalRequest,
): Promise<ApprovalRow> {
  const { task, artifactId, workspaceId, requiredRoleId, assignedPrincipalId, gate } = request;
  if ((requiredRoleId === null) === (assignedPrincipalId === null))
    throw new Error('an approval needs either a principal or a role');
  const requestedBy = request.isDeclared ? await getCorePrincipalId(context) : context.caller.principalId;
  const artifact = await findArtifactOfSubject(context, artifactId);
  const { supersedesApprovalId = null, check = null } = request;
  const { subject } = await takeSubjectSnapshot(context, { task, artifact, gate, check });
  if (subject === undefined)
    return fail('payload_too_large', { field: 'subject', maxBytes: subjectBytesMax });
  const row = (await context.db.row(
    insertApproval({
      id: request.id ?? newId(),
      tenant_id: context.tenantId,
      workspace_id: workspaceId,
      task_id: task?.id ?? null,
      artifact_id: artifactId,
      requested_by_principal_id: requestedBy,
      gate,
      required_role_id: requiredRoleId,
      assigned_principal_id: assignedPrincipalId,
      excluded_principals: [...request.excludedPrincipals],
      comment: request.comment,
      subject,
      supersedes_approval_id: supersedesApprovalId,
      verification_id: check?.verificationId ?? null,
      check_key: check?.key ?? null,
    }),
  )) as ApprovalRow;
  emit(
    context,
    approvalRequested,
    { entityId: row.id, workspaceId },
    {
      taskId: row.task_id,
      artifactId,
      requiredRoleId,
      assignedPrincipalId,
      gate,
      workspaceId,
      taskPublicId: task?.publicId ?? null,
      taskTitle: task === null ? null : eventText(task.title),
      requestedBy,
      comment: eventText(request.comment),
      subjectDigest: subject.digest,
      supersedesApprovalId,
    },
  );
  return row;
}

/**
 * Renews an approval with the same deciders. The service is the requester.
 * @param why the reason, which is put before the question @param check the check of the new approval; by default
 * that of the renewed one
 * @throws Refusal `payload_too_large`
 */
export async function renewApproval(
  context: Context,
  task: TaskOfSubject,
  approved: ApprovalRow,
  why: string,
  check = checkOfApproval(approved),
): Promise<ApprovalRow> {
  return writeApprovalRequest(context, {
    task,
    artifactId: approved.artifact_id,
    workspaceId: approved.workspace_id,
    requiredRoleId: approved.required_role_id,
    assignedPrincipalId: approved.assigned_principal_id,
    excludedPrincipals: approved.excluded_principals,
    comment: `${why} ${approved.comment}`.trim().slice(0, commentCharactersMax).toWellFormed(),
    gate: true,
    isDeclared: true,
    supersedesApprovalId: approved.id,
    check,
  });
}

/** Refuses an operation that a pending gate of a locked task blocks. @throws Refusal `approval_required` */
export async function requireNoGate(
  { db }: Context,
  { id, pending_gates: pendingGates }: { readonly id: string; readonly pending_gates: number },
): Promise<void> {
  if (pendingGates === 0) return;
  const gates = await db.row(findPendingGates(id));
  fail('approval_required', { taskId: id, pendingApprovals: gates?.ids ?? [] });
}

/** The approvals that keep the gates of a locked task open, the newest of each addressee. */
export async function listApprovedGates(
  { db, tenantId }: Context,
  taskId: string,
): Promise<readonly ApprovalRow[]> {
  return db.rows(findApprovedGates(tenantId, taskId));
}
