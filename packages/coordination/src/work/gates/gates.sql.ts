import type { RowOf } from '@baton/kernel/database/row';
import { sql } from '@baton/kernel/database/sql';
import type { Tables } from '../../service/schema.ts';
import type { StoredSubject, Subject } from './subject.ts';

export type ApprovalRow = RowOf<
  Tables['approvals'],
  { subject: StoredSubject | null; requested_subject: StoredSubject | null }
>;

export type NewApproval = Pick<
  ApprovalRow,
  | 'id'
  | 'tenant_id'
  | 'workspace_id'
  | 'task_id'
  | 'artifact_id'
  | 'requested_by_principal_id'
  | 'gate'
  | 'required_role_id'
  | 'assigned_principal_id'
  | 'excluded_principals'
  | 'comment'
  | 'supersedes_approval_id'
  | 'verification_id'
  | 'check_key'
> & { subject: Subject };

/** Inserts the request. A gate takes effect on its task, which the caller has locked. */
export function insertApproval({ subject: { digest, ...subject }, ...approval }: NewApproval) {
  return sql<ApprovalRow>`
    with made as (
      insert into approvals (id, tenant_id, workspace_id, task_id, artifact_id, requested_by_principal_id, gate,
        required_role_id, assigned_principal_id, excluded_principals, comment, subject, subject_digest,
        supersedes_approval_id, verification_id, check_key)
      values (${approval.id}, ${approval.tenant_id}, ${approval.workspace_id}, ${approval.task_id}, ${approval.artifact_id},
        ${approval.requested_by_principal_id}, ${approval.gate}, ${approval.required_role_id},
        ${approval.assigned_principal_id}, ${approval.excluded_principals}, ${approval.comment}, ${JSON.stringify(subject)}, ${digest},
        ${approval.supersedes_approval_id}, ${approval.verification_id}, ${approval.check_key})
      returning *
    ), held as (
      update tasks t set pending_gates = t.pending_gates + 1 from made
      where t.id = made.task_id and made.gate
    )
    select * from made`;
}

/** The pending gates of a locked task, the oldest 50. */
export function findPendingGates(taskId: string) {
  return sql<{ ids: string[] }>`select pending_gates_of(${taskId}) as ids`;
}

/**
 * The approved gates of a locked task: for each group of deciders the newest one, unless it is being requested again.
 * Other pending requests don't exclude an approved gate, because their requesters may cancel them. An approval that
 * belongs to an ended verification has no effect. Each gate required a person's decision, so there are few of them.
 */
export function findApprovedGates(tenantId: string, taskId: string) {
  return sql<ApprovalRow>`
    select a.* from (
      select distinct on (required_role_id, assigned_principal_id, workspace_id, excluded_principals, verification_id, check_key) id
      from approvals asked
      where task_id = ${taskId} and gate and status = 'approved' and tenant_id = ${tenantId}
        and not exists (
          select from verifications v
          where v.task_id = asked.task_id and v.finished_at is not null
            -- For approvals from before 0094, only the results record which verification requested them.
            and (v.id = asked.verification_id or asked.verification_id is null
              and v.results @> jsonb_build_array(jsonb_build_object('evidence', jsonb_build_array('approval:' || asked.id)))))
      order by required_role_id, assigned_principal_id, workspace_id, excluded_principals, verification_id, check_key,
        created_at desc, id desc
    ) newest join approvals a on a.id = newest.id
    where not exists (
      select from approvals renewal where renewal.supersedes_approval_id = a.id and renewal.status = 'pending')
    order by a.created_at, a.id`;
}

/**
 * An assignment of the required role in the required place, with a share lock, so that it can't be revoked before this
 * command ends.
 */
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

/** Whether a principal worked on the task of a verification, or requested its completion. */
export function isInvolvedInVerification(tenantId: string, verificationId: string, principalId: string) {
  return sql<{ is_party: boolean }>`
    select coalesce(requester_id = ${principalId}, false) or has_worked_on(task_id, ${principalId}) as is_party
    from verifications where id = ${verificationId} and tenant_id = ${tenantId}`;
}
