import { sql } from '@baton/kernel/database/sql';
import type { CredentialSnapshot } from '../../access/authn/credential-snapshot.ts';
import type { QueuePosition } from '../../service/queue-walk.ts';
import type { ActionResult } from '../../work/declared-actions/declared-actions.ts';
import type { TaskRow } from '../../work/tasks/task.ts';
import type { OutcomeOfApprovalRow, OutcomeRow } from './outcome.ts';

export function findOutcome(tenantId: string, approvalId: string) {
  return sql<OutcomeOfApprovalRow>`
    select o.*, a.task_id, a.workspace_id, a.outcome_status, a.decision_by_principal_id, a.decision_at, a.decision_comment
    from approval_outcomes o join approvals a on a.id = o.approval_id
    where o.approval_id = ${approvalId} and o.tenant_id = ${tenantId}`;
}

export function lockOutcome(tenantId: string, approvalId: string) {
  return sql<OutcomeOfApprovalRow & { is_overdue: boolean }>`
    select o.*, a.task_id, a.workspace_id, a.outcome_status, a.decision_by_principal_id, a.decision_at, a.decision_comment,
      coalesce(o.next_attempt_at <= clock_timestamp() - interval '10 minutes', false) as is_overdue
    from approvals a join approval_outcomes o on a.id = o.approval_id
    where o.approval_id = ${approvalId} and o.tenant_id = ${tenantId}
    for no key update`;
}

export type DueOutcomeRow = Pick<OutcomeRow, 'approval_id' | 'tenant_id'> & { next_attempt_at: string };

/** Pending outcomes, longest due first; each is checked again under its lock. */
export function findDueOutcomes([nextAttemptAt, approvalId]: QueuePosition, rowsMax: number) {
  return sql<DueOutcomeRow>`
    select approval_id, tenant_id, next_attempt_at from approval_outcomes
    where next_attempt_at is not null and next_attempt_at <= now()
      and (next_attempt_at, approval_id) > (${nextAttemptAt}::timestamptz, ${approvalId}::uuid)
    order by next_attempt_at, approval_id limit ${rowsMax}`;
}

/** Locks an outcome if it is due and not already locked. */
export function lockDueOutcome(tenantId: string, approvalId: string) {
  return sql<OutcomeOfApprovalRow>`
    select o.*, a.task_id, a.workspace_id, a.outcome_status, a.decision_by_principal_id, a.decision_at, a.decision_comment
    from approvals a join approval_outcomes o on a.id = o.approval_id
    where o.approval_id = ${approvalId} and o.tenant_id = ${tenantId} and o.next_attempt_at <= clock_timestamp()
    for no key update skip locked`;
}

/** Locks tasks in the order of their ids; skips those that another transaction has locked. */
export function lockFreeTasks(tenantId: string, taskIds: readonly string[]) {
  return sql<TaskRow>`
    select t.*, tt.key as type_key, tt.version as type_version,
      (select project_id from workspaces where id = t.workspace_id) as project_id
    from tasks t join task_types tt on tt.id = t.type_id
    where t.id = any (${taskIds}::uuid[]) and t.tenant_id = ${tenantId}
    order by t.id
    for no key update of t skip locked`;
}

/** Whether a later request in the chain of renewals of an approval was rejected. */
export function hasRejectedRenewal(tenantId: string, approvalId: string) {
  return sql<{ has: boolean }>`
    with recursive renewal as (
      select id, status from approvals where supersedes_approval_id = ${approvalId} and tenant_id = ${tenantId}
      union all
      select a.id, a.status from renewal join approvals a on a.supersedes_approval_id = renewal.id
    )
    select exists (select from renewal where status = 'rejected') as has`;
}

/** The state of an outcome after an attempt. */
export interface OutcomeProgress {
  status: 'pending' | 'deferred' | 'executed' | 'failed';
  actions: readonly ActionResult[];
  /** Whether this counts as an attempt. Merely checking whether a claim is still live doesn't. */
  isAttempt: boolean;
  /** Consecutive unexpected failures. */
  failures: number;
  lastError: ActionResult['error'];
  /** Seconds until the next attempt; null for an outcome that ends. */
  againSeconds: number | null;
  failureTaskId: string | null;
}

/** Writes the state to the outcome and to its approval, which are both locked. */
export function updateOutcome(tenantId: string, approvalId: string, progress: OutcomeProgress) {
  const isOver = progress.againSeconds === null;
  return sql`
    with outcome as (
      update approval_outcomes
      set actions = ${JSON.stringify(progress.actions)}, attempts = attempts + ${progress.isAttempt ? 1 : 0}::integer,
        failures = ${progress.failures}, failure_task_id = ${progress.failureTaskId},
        last_error = ${progress.lastError === null ? null : JSON.stringify(progress.lastError)},
        next_attempt_at = case when not ${isOver}::boolean
          then clock_timestamp() + make_interval(secs => ${progress.againSeconds ?? 0}) end
      where approval_id = ${approvalId} and tenant_id = ${tenantId}
      returning approval_id
    )
    update approvals a set outcome_status = ${progress.status}, updated_at = clock_timestamp()
    from outcome where a.id = outcome.approval_id`;
}

/** Makes the outcome due now and resets its failures. */
export function updateOutcomeToReplay(tenantId: string, approvalId: string, credential: CredentialSnapshot) {
  return sql`
    with outcome as (
      update approval_outcomes
      set credential = ${JSON.stringify(credential)}, failures = 0, last_error = null, next_attempt_at = clock_timestamp()
      where approval_id = ${approvalId} and tenant_id = ${tenantId}
      returning approval_id
    )
    update approvals a set outcome_status = 'pending', updated_at = clock_timestamp()
    from outcome where a.id = outcome.approval_id`;
}
