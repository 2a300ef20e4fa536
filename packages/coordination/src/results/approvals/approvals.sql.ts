import { queryBuilder } from '@baton/kernel/db';
import { condition, type ListOrder, matching } from '@baton/kernel/list';
import { sql } from '@baton/kernel/sql';
import type { CredentialSnapshot } from '../../access/authn/acting.ts';
import { type SeenList, seenByTaskOrPlace } from '../../service/sight/places.ts';
import type { ApprovalRow } from '../../work/gates/gates.ts';

export function findApproval(tenantId: string, approvalId: string) {
  return sql<ApprovalRow>`select * from approvals where id = ${approvalId} and tenant_id = ${tenantId}`;
}

/** Locks the task of a gate before the gate itself: in this order a claim meets them. */
export function lockTaskOfGate(tenantId: string, approvalId: string) {
  return sql`
    select from tasks
    where id = (select task_id from approvals where id = ${approvalId} and tenant_id = ${tenantId} and gate)
    for no key update`;
}

export function findTypeOfTask(taskId: string) {
  return sql<{ type_id: string }>`select type_id from tasks where id = ${taskId}`;
}

export function lockApproval(tenantId: string, approvalId: string) {
  return sql<ApprovalRow>`
    select * from approvals where id = ${approvalId} and tenant_id = ${tenantId}
    for no key update`;
}

/** An assignment by which a principal holds a role where it is asked for; it is not revoked before this command ends. */
export function shareHeldRole(of: {
  tenantId: string;
  principalId: string;
  roleId: string;
  workspaceId: string | null;
}) {
  return sql<{ id: string }>`
    select id from role_assignments
    where principal_id = ${of.principalId} and role_id = ${of.roleId} and tenant_id = ${of.tenantId}
      and (workspace_id is null or workspace_id = any (
        (select path from workspaces where id = ${of.workspaceId}::uuid and tenant_id = ${of.tenantId})::uuid[]))
    limit 1
    for share`;
}

/** Whether a principal worked on the task of a verification, or asked for its completion. */
export function isOfParty(tenantId: string, verificationId: string, principalId: string) {
  return sql<{ is_party: boolean }>`
    select coalesce(requester_id = ${principalId}, false) or has_worked_on(task_id, ${principalId}) as is_party
    from verifications where id = ${verificationId} and tenant_id = ${tenantId}`;
}

export interface ApprovalEnd {
  tenantId: string;
  approvalId: string;
  status: 'approved' | 'rejected' | 'cancelled';
  /** Null for a cancellation: nobody decided. */
  decidedBy: string | null;
  comment: string | null;
  outcomeStatus: 'pending' | null;
}

/** Ends a pending approval, which the caller has locked with its task; a gate no longer holds the task back. */
export function updateApprovalToEnded(end: ApprovalEnd) {
  return sql<ApprovalRow>`
    with ended as (
      update approvals
      set status = ${end.status}, decision_by_principal_id = ${end.decidedBy}::uuid,
        decision_at = case when ${end.decidedBy}::uuid is not null then clock_timestamp() end,
        decision_comment = ${end.comment}::text, outcome_status = ${end.outcomeStatus}::text,
        version = version + 1, updated_at = clock_timestamp()
      where id = ${end.approvalId} and tenant_id = ${end.tenantId} and status = 'pending'
      returning *
    ), freed as (
      update tasks t set pending_gates = t.pending_gates - 1 from ended
      where t.id = ended.task_id and ended.gate
    )
    select * from ended`;
}

/** What a decision leads to; the worker does it after the commit. */
export function insertOutcome(outcome: {
  approvalId: string;
  tenantId: string;
  outcome: 'approved' | 'rejected';
  credential: CredentialSnapshot;
  decisionEventId: string;
  declared: readonly object[];
}) {
  return sql`
    insert into approval_outcomes (approval_id, tenant_id, outcome, credential, decision_event_id, declared)
    values (${outcome.approvalId}, ${outcome.tenantId}, ${outcome.outcome}, ${JSON.stringify(outcome.credential)},
      ${outcome.decisionEventId}, ${JSON.stringify(outcome.declared)})`;
}

const build = queryBuilder<{ approvals: ApprovalRow }>();

const newestFirst: ListOrder<ApprovalRow> = {
  cursor: 'approvals',
  columns: { created_at: 'timestamp', id: 'uuid' },
  direction: 'desc',
};

export type ApprovalFilter = { readonly [Column in 'status' | 'task_id']: string | undefined };

export function listOfApprovals(tenantId: string, filter: ApprovalFilter): SeenList<ApprovalRow> {
  const foundIn = (source: 'approvals') =>
    matching(build.selectFrom(source).selectAll().where('tenant_id', '=', tenantId), filter);
  return seenByTaskOrPlace(tenantId, 'approvals', foundIn, newestFirst, condition`task_id = owner.id`);
}
