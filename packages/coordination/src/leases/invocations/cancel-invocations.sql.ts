import { sql } from '@baton/kernel/database/sql';

export interface CancelledCallRow {
  id: string;
  skill_id: string;
  skill: string;
  version: string;
  attempt: number;
  task_id: string | null;
  run_id: string | null;
  workspace_id: string | null;
  was_running: boolean;
}

/** Locks the live invocations in the order of their ids, ends them, and notifies requests that wait for one. */
export function updateCallsToCancelled(
  tenantId: string,
  ids: readonly string[],
  { code, reason, initiator }: { code: string; reason: string; initiator: string },
) {
  return sql<CancelledCallRow>`
    with live as materialized (
      select id, status from skill_invocations
      where id = any (${ids}::uuid[]) and tenant_id = ${tenantId} and status in ('pending', 'running')
      order by id for no key update
    ), cancelled as (
      update skill_invocations i
      set status = 'cancelled', lease_expires_at = null, finished_at = clock_timestamp(), updated_at = clock_timestamp(),
        error = jsonb_build_object('code', ${code}::text, 'message', ${reason}::text,
          'details', jsonb_build_object('initiator', ${initiator}::text, 'wasRunning', live.status = 'running'))
      from live where i.id = live.id
      returning i.id, i.skill_id, i.attempt, i.task_id, i.run_id, i.workspace_id, i.requested_by_kind, i.requested_by_ref,
        live.status = 'running' as was_running
    ), woken as (
      update verifications v set next_check_at = clock_timestamp()
      from cancelled where v.skill_invocation_id = cancelled.id and v.finished_at is null
    ), woken_outcomes as (
      update approval_outcomes o set next_attempt_at = clock_timestamp()
      from cancelled where cancelled.requested_by_kind = 'approval' and o.approval_id = cancelled.requested_by_ref::uuid
        and o.next_attempt_at is not null
    )
    select cancelled.id, cancelled.skill_id, s.name as skill, s.version, cancelled.attempt, cancelled.task_id,
      cancelled.run_id, cancelled.workspace_id, cancelled.was_running
    from cancelled join skills s on s.id = cancelled.skill_id order by cancelled.id`;
}

export function countCallsOf(tenantId: string, principalId: string) {
  return sql<{ count: number }>`
    select count(*) as count from skill_invocations
    where authority_principal_id = ${principalId} and tenant_id = ${tenantId} and status in ('pending', 'running')`;
}

/** Invocations of a principal that no other transaction has locked. */
export function lockFreeCallsOf(tenantId: string, principalId: string, rowsMax: number) {
  return sql<{ id: string }>`
    select id from skill_invocations
    where authority_principal_id = ${principalId} and tenant_id = ${tenantId} and status in ('pending', 'running')
    order by id limit ${rowsMax} for no key update skip locked`;
}
