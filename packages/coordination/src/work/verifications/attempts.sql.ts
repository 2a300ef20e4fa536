import { sql } from '@baton/kernel/database/sql';
import type { CredentialSnapshot } from '../../access/authn/credential-snapshot.ts';
import type { AttemptCheck, AttemptRow, AttemptTrigger } from './attempt.ts';

export interface NewAttempt {
  id: string;
  tenantId: string;
  taskId: string;
  credential: CredentialSnapshot;
  trigger: AttemptTrigger;
  triggerRef: string | null;
  checks: readonly AttemptCheck[];
  /**
   * The principal that requested the completion and may not take part in its checks; null if a declaration requested
   * it.
   */
  requesterId: string | null;
}

/** Gives the attempt the task's next number; this is safe because the task is locked. */
export function insertAttempt(attempt: NewAttempt) {
  return sql<AttemptRow>`
    insert into verifications (id, tenant_id, task_id, authority_principal_id, requester_id, credential, trigger, trigger_ref, checks,
      attempt, next_check_at)
    select ${attempt.id}, ${attempt.tenantId}, ${attempt.taskId}, ${attempt.credential.principalId},
      ${attempt.requesterId}::uuid,
      ${JSON.stringify(attempt.credential)}, ${attempt.trigger}, ${attempt.triggerRef}, ${JSON.stringify(attempt.checks)},
      coalesce(max(v.attempt), 0) + 1, now()
    from verifications v where v.task_id = ${attempt.taskId}
    returning *`;
}

/**
 * Cancels the open attempt of a task, if it has one; the task is locked. The worker later withdraws the attempt's
 * requests.
 */
export function updateOpenAttemptToCancelled(tenantId: string, taskId: string) {
  return sql`
    update verifications set status = 'cancelled', finished_at = now(), updated_at = now(),
      next_check_at = case when owns_approval or skill_invocation_id is not null then now() end
    where task_id = ${taskId} and tenant_id = ${tenantId} and finished_at is null`;
}

/** Makes the open attempt of a task due immediately for the worker. */
export function updateOpenAttemptToDue(tenantId: string, taskId: string) {
  return sql`
    update verifications set next_check_at = now()
    where task_id = ${taskId} and tenant_id = ${tenantId} and finished_at is null`;
}
