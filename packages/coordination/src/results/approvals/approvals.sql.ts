import { queryBuilder } from '@baton/kernel/database/db';
import { condition, type ListOrder, matching } from '@baton/kernel/database/list';
import { sql } from '@baton/kernel/database/sql';
import type { CredentialSnapshot } from '../../access/authn/credential-snapshot.ts';
import type { ExpressionValues } from '../../definitions/declared-actions/filled-actions.ts';
import { type SeenList, seenByTaskOrPlace } from '../../service/sight/places.ts';
import type { ApprovalRow } from '../../work/gates/gates.ts';
import type { Subject } from '../../work/gates/subject.ts';
import type { TaskRow } from '../../work/tasks/task.ts';

export function findApproval(tenantId: string, approvalId: string) {
  return sql<ApprovalRow>`select * from approvals where id = ${approvalId} and tenant_id = ${tenantId}`;
}

/** The task of an approval, even if the caller may not see it: a decider is shown the subject of the request. */
export function findTasksOfSubjects(tenantId: string, ids: readonly string[]) {
  return sql<TaskRow>`
    select t.*, tt.key as type_key, tt.version as type_version,
      (select project_id from workspaces where id = t.workspace_id) as project_id
    from tasks t join task_types tt on tt.id = t.type_id
    where t.id = any (${ids}::uuid[]) and t.tenant_id = ${tenantId}`;
}

/** Locks the task of an approval before the approval itself, in the lock order of claims and changes. */
export function lockTaskOfApproval(tenantId: string, approvalId: string) {
  return sql`
    select from tasks
    where id = (select task_id from approvals where id = ${approvalId} and tenant_id = ${tenantId})
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

export interface ApprovalEnd {
  tenantId: string;
  approvalId: string;
  status: 'approved' | 'rejected' | 'cancelled';
  /** Null for a cancellation, which has no decider. */
  decidedBy: string | null;
  comment: string | null;
  outcomeStatus: 'pending' | null;
  /** The decided subject, if it differs from the requested one. */
  otherSubject: Subject | undefined;
}

/**
 * Ends a pending approval, which the caller has locked together with its task; a gate no longer puts the task on hold.
 */
export function updateApprovalToEnded(end: ApprovalEnd) {
  const { digest = null, ...subject } = end.otherSubject ?? {};
  return sql<ApprovalRow>`
    with ended as (
      update approvals
      set status = ${end.status}, decision_by_principal_id = ${end.decidedBy}::uuid,
        decision_at = case when ${end.decidedBy}::uuid is not null then clock_timestamp() end,
        decision_comment = ${end.comment}::text, outcome_status = ${end.outcomeStatus}::text,
        requested_subject = case when ${digest}::text is not null then subject end,
        subject = case when ${digest}::text is not null then ${JSON.stringify(subject)}::jsonb else subject end,
        subject_digest = coalesce(${digest}::text, subject_digest),
        version = version + 1, updated_at = clock_timestamp()
      where id = ${end.approvalId} and tenant_id = ${end.tenantId} and status = 'pending'
      returning *
    ), freed as (
      update tasks t set pending_gates = t.pending_gates - 1 from ended
      where t.id = ended.task_id and ended.gate
    )
    select * from ended`;
}

/** The outcome of a decision; a worker executes it after the commit. */
export function insertOutcome(outcome: {
  approvalId: string;
  tenantId: string;
  outcome: 'approved' | 'rejected';
  credential: CredentialSnapshot;
  decisionEventId: string;
  declared: readonly object[];
  values: ExpressionValues;
}) {
  return sql`
    insert into approval_outcomes (approval_id, tenant_id, outcome, credential, decision_event_id, declared, expression_values)
    values (${outcome.approvalId}, ${outcome.tenantId}, ${outcome.outcome}, ${JSON.stringify(outcome.credential)},
      ${outcome.decisionEventId}, ${JSON.stringify(outcome.declared)}, ${JSON.stringify(outcome.values)})`;
}

/** A row in a list, without the documents of its subject. */
export type ListedApprovalRow = Omit<ApprovalRow, 'subject' | 'requested_subject'>;

const build = queryBuilder<{ approvals: ListedApprovalRow }>();

const newestFirst: ListOrder<ListedApprovalRow> = {
  cursor: 'approvals',
  columns: { created_at: 'timestamp', id: 'uuid' },
  direction: 'desc',
};

const listedColumns = [
  'id',
  'tenant_id',
  'workspace_id',
  'task_id',
  'artifact_id',
  'requested_by_principal_id',
  'status',
  'gate',
  'verification_id',
  'check_key',
  'required_role_id',
  'assigned_principal_id',
  'excluded_principals',
  'comment',
  'decision_by_principal_id',
  'decision_at',
  'decision_comment',
  'outcome_status',
  'supersedes_approval_id',
  'subject_digest',
  'version',
  'created_at',
  'updated_at',
] as const;

export type ApprovalFilter = { readonly [Column in 'status' | 'task_id']: string | undefined };

export function listOfApprovals(tenantId: string, filter: ApprovalFilter): SeenList<ListedApprovalRow> {
  const foundIn = (source: 'approvals') =>
    matching(build.selectFrom(source).select(listedColumns).where('tenant_id', '=', tenantId), filter);
  return seenByTaskOrPlace(tenantId, 'approvals', foundIn, newestFirst, condition`task_id = owner.id`);
}
