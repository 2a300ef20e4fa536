import type { RowOf } from '@baton/kernel/row';
import { sql } from '@baton/kernel/sql';
import type { Tables } from '../../service/schema.ts';

export type ApprovalRow = RowOf<Tables['approvals']>;

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
  | 'verification_id'
  | 'check_key'
>;

/** Writes the request; a gate counts on its task, which the caller has locked. */
export function insertApproval(approval: NewApproval) {
  return sql<ApprovalRow>`
    with made as (
      insert into approvals (id, tenant_id, workspace_id, task_id, artifact_id, requested_by_principal_id, gate,
        required_role_id, assigned_principal_id, excluded_principals, comment, verification_id, check_key)
      values (${approval.id}, ${approval.tenant_id}, ${approval.workspace_id}, ${approval.task_id}, ${approval.artifact_id},
        ${approval.requested_by_principal_id}, ${approval.gate}, ${approval.required_role_id},
        ${approval.assigned_principal_id}, ${approval.excluded_principals}, ${approval.comment},
        ${approval.verification_id}, ${approval.check_key})
      returning *
    ), held as (
      update tasks t set pending_gates = t.pending_gates + 1 from made
      where t.id = made.task_id and made.gate
    )
    select * from made`;
}

/** The gates that hold a locked task back, the oldest 50. */
export function findPendingGates(taskId: string) {
  return sql<{ ids: string[] }>`select pending_gates_of(${taskId}) as ids`;
}
