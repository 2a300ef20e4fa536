import { sql } from '@baton/kernel/database/sql';
import type { TaskRow } from '../../work/tasks/task.ts';

/** How a claim ended, read under its task's lock. */
export interface EndOfClaimRow {
  /** Whether its lease or its session expired, which in itself counts as a failed attempt. */
  is_expired: boolean;
  /** Whether the failure has already been counted. */
  is_noted: boolean;
  /** Whether the attempts at its task have already ended; a comment on the task then already records this. */
  is_reported: boolean;
}

export function findEndOfClaim(tenantId: string, claimId: string) {
  return sql<EndOfClaimRow>`
    select c.status = 'stale' or coalesce(c.release_reason = 'session_expired', false) as is_noted,
      c.status = 'stale' or coalesce(c.release_reason = 'session_expired', false)
        or c.status = 'active' and (c.expires_at <= clock_timestamp() or s.expires_at <= clock_timestamp()) as is_expired,
      coalesce(t.retry_at = attempts_are_over(), false)
        and not exists (select from exhausted_tasks e where e.task_id = t.id) as is_reported
    from claims c join sessions s on s.id = c.session_id join tasks t on t.id = c.task_id
    where c.id = ${claimId} and c.tenant_id = ${tenantId}`;
}

export interface FailedAttempt {
  readonly tenantId: string;
  readonly taskId: string;
  /** 0 if the failure has already been counted. */
  readonly attempts: 0 | 1;
  readonly backoffSeconds: number;
  readonly maxBackoffSeconds: number;
  readonly retryAfterSeconds: number;
  /** Whether the reason rules out a retry. */
  readonly isFinal: boolean;
}

/** Limits the exponent: after this many failures, every pause has its maximum length, which is less than 2^40 s. */
const doublingsMax = 40;

/**
 * Counts a failed attempt of a locked task and starts its pause. If it was the last attempt, the table's trigger puts
 * the task on hold (\`attempts_are_over\`). A longer existing pause is kept.
 */
export function updateTaskToFailed(failed: FailedAttempt) {
  return sql<TaskRow & { is_exhausted: boolean; is_paused: boolean }>`
    update tasks t
    set failed_attempts = t.failed_attempts + ${failed.attempts}::integer,
      retry_at = case when ${failed.isFinal} then attempts_are_over() else greatest(t.retry_at,
        clock_timestamp() + make_interval(secs => nullif(greatest(${failed.retryAfterSeconds}::double precision, least(
          ${failed.backoffSeconds}::double precision
            * power(2, least(greatest(t.failed_attempts + ${failed.attempts}::integer - 1, 0), ${doublingsMax}::integer)),
          ${failed.maxBackoffSeconds}::double precision)), 0))) end,
      version = t.version + 1, updated_at = now()
    from task_types tt
    where t.id = ${failed.taskId} and t.tenant_id = ${failed.tenantId} and tt.id = t.type_id
    returning t.*, tt.key as type_key, tt.version as type_version,
      (select project_id from workspaces where id = t.workspace_id) as project_id,
      coalesce(t.retry_at = attempts_are_over(), false) as is_exhausted,
      coalesce(t.retry_at > clock_timestamp(), false) as is_paused`;
}

/** Resets the failure count and the pause of a locked task after a successful attempt. */
export function updateTaskToSucceeded(tenantId: string, taskId: string) {
  return sql<TaskRow>`
    update tasks t set failed_attempts = 0, retry_at = null, version = t.version + 1, updated_at = now()
    from task_types tt
    where t.id = ${taskId} and t.tenant_id = ${tenantId} and tt.id = t.type_id
    returning t.*, tt.key as type_key, tt.version as type_version,
      (select project_id from workspaces where id = t.workspace_id) as project_id`;
}

/**
 * Moves a locked task without remaining attempts to a status. If the status doesn't put it on hold, its pause has no
 * end.
 */
export function updateTaskToExhausted(
  tenantId: string,
  taskId: string,
  { key, category, isOnHold }: { key: string; category: string; isOnHold: boolean },
) {
  return sql<TaskRow>`
    with forgotten as (
      delete from exhausted_tasks where task_id = ${taskId} and tenant_id = ${tenantId}
    )
    update tasks t
    set status = ${key}, category = ${category}, version = t.version + 1, updated_at = now(),
      retry_at = case when ${isOnHold} then null else attempts_are_over() end
    from task_types tt
    where t.id = ${taskId} and t.tenant_id = ${tenantId} and tt.id = t.type_id
    returning t.*, tt.key as type_key, tt.version as type_version,
      (select project_id from workspaces where id = t.workspace_id) as project_id`;
}

export interface ExhaustedRow {
  task_id: string;
  tenant_id: string;
  noted_at: string;
}

/** Tasks whose last allowed attempt ended with an expired lease, oldest first. */
export function findExhausted([notedAt, taskId]: readonly [string, string], rowsMax: number) {
  return sql<ExhaustedRow>`
    select task_id, tenant_id, noted_at from exhausted_tasks
    where (noted_at, task_id) > (${notedAt}::timestamptz, ${taskId}::uuid)
    order by noted_at, task_id limit ${rowsMax}`;
}

/**
 * Locks an exhausted task unless it is already locked; `is_exhausted` is false if it has been allowed further attempts
 * in the meantime.
 */
export function lockExhausted(tenantId: string, taskId: string) {
  return sql<TaskRow & { is_exhausted: boolean }>`
    with locked as materialized (
      select t.* from tasks t where t.id = ${taskId} and t.tenant_id = ${tenantId} for no key update skip locked
    )
    select locked.*, tt.key as type_key, tt.version as type_version,
      (select project_id from workspaces where id = locked.workspace_id) as project_id,
      coalesce(locked.retry_at = attempts_are_over(), false) as is_exhausted
    from locked join task_types tt on tt.id = locked.type_id`;
}

export function deleteExhausted(tenantId: string, taskId: string) {
  return sql`delete from exhausted_tasks where task_id = ${taskId} and tenant_id = ${tenantId}`;
}
