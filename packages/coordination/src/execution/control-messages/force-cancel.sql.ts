import { sql } from '@baton/kernel/database/sql';
import type { ChildHandleOfParentRow } from '../../leases/children/child-handle-row.ts';
import type { EndedRunRow } from '../../leases/lease-rows.ts';
import type { ControlMessageRow } from './control-message.ts';

/** Serializes the cancellations of run trees in a tenant, until the commit. */
export function lockCascades(tenantId: string) {
  return sql`select pg_advisory_xact_lock(hashtextextended(${`run_cascades/${tenantId}`}, 0))`;
}

/**
 * Finds the tasks below a task, at any depth, that have something to end: a running run, or a pending launch that must
 * not outlive its parent. Launched tasks are found by their handles, which can't be removed. Each task is visited once,
 * so cycles terminate. The subselect in an array makes each step an index lookup, as in the relation traversals.
 * @param rootTaskId the task at which the traversal starts, which is excluded
 * @param of.followsRelations whether tasks that are only related by `spawned_by` are included
 */
export function findTasksToCancel(
  tenantId: string,
  rootTaskId: string,
  of: { followsRelations: boolean; rowsMax: number; except: readonly string[] },
) {
  const { followsRelations, rowsMax, except } = of;
  return sql<{ id: string }>`
    with recursive below (id) as (
      select ${rootTaskId}::uuid
      union
      select unnest(array(
        select child_task_id from child_handles where parent_task_id = below.id and tenant_id = ${tenantId}
        union all
        select from_task_id from task_relations
        where to_task_id = below.id and type = 'spawned_by' and tenant_id = ${tenantId} and ${followsRelations}))
      from below
    )
    select below.id from below
    where below.id <> ${rootTaskId} and below.id <> all (${except}::uuid[]) and (
      exists (select from runs r where r.task_id = below.id and r.status = 'running')
      or exists (
        select from tasks t join child_handles h on h.id = t.child_handle_id
        where t.id = below.id and t.category not in ('terminal_success', 'terminal_cancelled')
          and h.child_run_id is null and h.revoked_at is null and h.expires_at > clock_timestamp()
          and h.cancellation_policy = 'cascade_cooperative'))
    order by below.id limit ${rowsMax}`;
}

/** Locks a task, and waits for the lock. */
export function lockTask(tenantId: string, taskId: string) {
  return sql<{ id: string }>`
    select id from tasks where id = ${taskId} and tenant_id = ${tenantId} for no key update`;
}

/** Locks those tasks that no other transaction has locked. */
export function lockFreeTasks(tenantId: string, taskIds: readonly string[]) {
  return sql<{ id: string }>`
    select id from tasks where id = any (${taskIds}::uuid[]) and tenant_id = ${tenantId}
    order by id for no key update skip locked`;
}

/** Locks the running runs of locked tasks. */
export function lockRunsOfTasks(tenantId: string, taskIds: readonly string[]) {
  return sql<EndedRunRow>`
    select r.*, t.workspace_id from runs r join tasks t on t.id = r.task_id
    where r.task_id = any (${taskIds}::uuid[]) and r.tenant_id = ${tenantId} and r.status = 'running'
    order by r.id
    for no key update of r`;
}

/** Supersedes the open messages of cancelled runs. */
export function updateOpenToSuperseded(tenantId: string, runIds: readonly string[], safeBoundary: string) {
  return sql<ControlMessageRow>`
    with superseded as (
      update run_control_messages
      set status = 'superseded', safe_boundary = ${safeBoundary}, resolved_at = clock_timestamp(), version = version + 1
      where run_id = any (${runIds}::uuid[]) and tenant_id = ${tenantId} and status = 'accepted'
      returning *
    )
    select * from superseded order by run_id, seq`;
}

export interface NewForceCancel {
  tenantId: string;
  causalPosition: string;
  reason: string;
  safeBoundary: string;
  requestedBy: string;
  requestId: string;
  correlationId: string;
  causationId: string | null;
  targets: readonly { message_id: string; run_id: string; key: string }[];
}

/** Inserts one message per run, already applied; the runs are locked. */
export function insertForceCancels(messages: NewForceCancel) {
  return sql<ControlMessageRow>`
    insert into run_control_messages (id, tenant_id, run_id, task_id, seq, operation, status, causal_position, reason,
      safe_boundary, idempotency_key, requested_by_principal_id, request_id, correlation_id, causation_id, version, resolved_at)
    select t.message_id, ${messages.tenantId}, r.id, r.task_id,
      1 + coalesce((select max(m.seq) from run_control_messages m where m.run_id = r.id), 0),
      'force_cancel', 'applied', ${messages.causalPosition}, ${messages.reason}, ${messages.safeBoundary}, t.key,
      ${messages.requestedBy}, ${messages.requestId}, ${messages.correlationId}, ${messages.causationId}, 2, clock_timestamp()
    from jsonb_to_recordset(${JSON.stringify(messages.targets)}::jsonb) as t(message_id uuid, run_id uuid, key text)
    join runs r on r.id = t.run_id
    returning *`;
}

/** Ends running runs, which are locked. The message and its effect count as two versions. */
export function updateRunsToCancelled(tenantId: string, runIds: readonly string[], reason: string) {
  return sql<EndedRunRow>`
    with cancelled as (
      update runs r
      set status = 'cancelled', failure_reason = ${reason}, finished_at = now(), version = r.version + 2, updated_at = now()
      from tasks t
      where r.id = any (${runIds}::uuid[]) and r.tenant_id = ${tenantId} and r.status = 'running' and t.id = r.task_id
      returning r.*, t.workspace_id
    )
    select * from cancelled order by id`;
}

/** Revokes the pending launches of locked tasks that must not outlive their parents. */
export function updatePendingToRevoked(tenantId: string, taskIds: readonly string[], reason: string) {
  return sql<ChildHandleOfParentRow>`
    with revoked as (
      update child_handles h
      set revoked_at = clock_timestamp(), revoke_reason = ${reason}, handle_version = h.handle_version + 1
      where h.child_task_id = any (${taskIds}::uuid[]) and h.tenant_id = ${tenantId} and h.child_run_id is null
        and h.revoked_at is null and h.cancellation_policy = 'cascade_cooperative'
      returning h.*
    )
    select revoked.*, t.workspace_id as parent_workspace_id
    from revoked join tasks t on t.id = revoked.parent_task_id order by revoked.id`;
}
