import { sql } from '@baton/kernel/database/sql';
import type { EndedRunRow, RunRow } from '../../leases/lease-rows.ts';
import type { ControlMessageRow, ControlOperation } from './control-message.ts';

/** Locks a run, in any status, and returns it with the workspace of its task. */
export function lockRun(tenantId: string, runId: string) {
  return sql<EndedRunRow>`
    select r.*, t.workspace_id from runs r join tasks t on t.id = r.task_id
    where r.id = ${runId} and r.tenant_id = ${tenantId}
    for no key update of r`;
}

/** The principal and the task of a run, which never change, with its current status. */
export function findRunHead(tenantId: string, runId: string) {
  return sql<Pick<RunRow, 'principal_id' | 'task_id' | 'status'>>`
    select principal_id, task_id, status from runs where id = ${runId} and tenant_id = ${tenantId}`;
}

export function findMessageByKey(tenantId: string, runId: string, key: string) {
  return sql<ControlMessageRow>`
    select * from run_control_messages
    where run_id = ${runId} and idempotency_key = ${key} and tenant_id = ${tenantId}`;
}

export function findMessage(tenantId: string, runId: string, messageId: string) {
  return sql<ControlMessageRow>`
    select * from run_control_messages
    where id = ${messageId} and run_id = ${runId} and tenant_id = ${tenantId}`;
}

/** The number of open messages of a run, and the next one to be resolved. */
export function findOpenMessages(tenantId: string, runId: string) {
  return sql<{ open: number; earliest_id: string | null }>`
    select count(*) as open, (array_agg(id order by seq))[1] as earliest_id from run_control_messages
    where run_id = ${runId} and tenant_id = ${tenantId} and status = 'accepted'`;
}

/** Lists a run's messages after a number, in order. */
export function findMessages(tenantId: string, runId: string, afterSeq: number, rowsMax: number) {
  return sql<ControlMessageRow>`
    select * from run_control_messages
    where run_id = ${runId} and tenant_id = ${tenantId} and seq > ${afterSeq}
    order by seq limit ${rowsMax}`;
}

export interface NewMessages {
  tenantId: string;
  operation: ControlOperation;
  causalPosition: string;
  directive: string | null;
  reason: string;
  requestedBy: string;
  requestId: string;
  correlationId: string;
  causationId: string | null;
  /** One message per run, with its key. */
  targets: readonly { message_id: string; run_id: string; key: string }[];
}

/** A message, with the fields of its run that the events need. */
export type AddedMessageRow = ControlMessageRow & {
  run_version: number;
  attempt: number;
  session_id: string;
  workspace_id: string | null;
  child_handle_id: string | null;
  /** Whether it is the run's first cancel request. */
  is_first: boolean;
};

/**
 * Adds an open message to each running run, which is locked and gets its next version. A cancel request is also
 * recorded on the run; the first one is kept.
 */
export function insertMessages(messages: NewMessages) {
  const cancels = messages.operation === 'request_cancel';
  return sql<AddedMessageRow>`
    with target as materialized (
      select * from jsonb_to_recordset(${JSON.stringify(messages.targets)}::jsonb) as t(message_id uuid, run_id uuid, key text)
    ), locked as materialized (
      select r.id, r.cancel_requested_at is null as is_first, target.message_id, target.key
      from runs r join target on target.run_id = r.id
      where r.tenant_id = ${messages.tenantId} and r.status = 'running'
      order by r.id
      for no key update of r
    ), run as (
      update runs r
      set version = r.version + 1, updated_at = now(),
        cancel_requested_at = case when ${cancels} then coalesce(r.cancel_requested_at, now()) else r.cancel_requested_at end,
        cancel_requested_by = case when ${cancels} then coalesce(r.cancel_requested_by, ${messages.requestedBy}) else r.cancel_requested_by end
      from locked where r.id = locked.id
      returning r.id, r.task_id, r.version, r.attempt, r.session_id, r.child_handle_id, locked.is_first, locked.message_id,
        locked.key
    ), made as (
      insert into run_control_messages (id, tenant_id, run_id, task_id, seq, operation, status, causal_position, directive,
        reason, idempotency_key, requested_by_principal_id, request_id, correlation_id, causation_id)
      select run.message_id, ${messages.tenantId}, run.id, run.task_id,
        1 + coalesce((select max(m.seq) from run_control_messages m where m.run_id = run.id), 0),
        ${messages.operation}, 'accepted', ${messages.causalPosition}, ${messages.directive}, ${messages.reason}, run.key,
        ${messages.requestedBy}, ${messages.requestId}, ${messages.correlationId}, ${messages.causationId}
      from run
      returning *
    )
    select made.*, run.version as run_version, run.attempt, run.session_id, run.child_handle_id, run.is_first, t.workspace_id
    from made join run on run.message_id = made.id join tasks t on t.id = made.task_id
    order by made.run_id`;
}
