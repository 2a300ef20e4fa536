import { sql } from '@baton/kernel/database/sql';
import type { ClaimRow } from '../../leases/lease-rows.ts';
import { writeEvents } from '../../ledger/journal/write-events.sql-parts.ts';
import type { TaskRow } from '../../work/tasks/task.ts';

export interface NewClaims {
  tenantId: string;
  principalId: string;
  iamPrincipalId: string | null;
  sessionId: string;
  /** In the order of assignment. */
  taskIds: readonly string[];
  /** At most one for each task to claim. */
  claimIds: readonly string[];
  claimedEventIds: readonly string[];
  expiredEventIds: readonly string[];
  ttlSeconds: number;
  intent: string;
  correlationId: string;
  requestId: string;
  traceRunId: string;
  /** Whether the events are also written to the outbox. */
  writesOutbox: boolean;
}

/** A new claim, with the payloads of its events. */
export type NextClaimRow = ClaimRow & { claimed_payload: unknown; expired_payload: unknown };

/**
 * Claims the first of these tasks that are free and not locked, as many as there are claim ids, writes their journal
 * and outbox rows and removes them from the queue.
 *
 * Each task is checked as in `insertClaim`, on its row and under its lock. Tasks locked by rivals are skipped (`skip
 * locked`), so no request waits or is refused. Claims and events are computed from the task's new row alone: with 100
 * tasks, joins with the rows that the statement has written doubled its cost.
 */
export function insertNextClaims(request: NewClaims) {
  return sql<NextClaimRow>`
    with locked as materialized (
      select t.id, t.active_claim_id as dead_claim_id, asked.n
      from unnest((select ${request.taskIds}::uuid[])) with ordinality asked (id, n) join tasks t on t.id = asked.id
      where t.tenant_id = ${request.tenantId} and t.category not in ('terminal_success', 'terminal_cancelled')
        -- A dead claim that began after this statement is invisible and so can't be ended here. Its task is skipped.
        and (t.active_claim_id is null or exists (
          select from claims c join sessions s on s.id = c.session_id
          where c.id = t.active_claim_id
            and (t.lease_expires_at <= clock_timestamp() or s.status <> 'active' or s.expires_at <= statement_timestamp())))
        and t.open_prerequisites = 0 and t.pending_gates = 0 and t.open_verification_id is null
        and (t.category <> 'blocked' or is_claimable_blocked(t.type_id, t.status))
        and (t.available_at is null or t.available_at <= clock_timestamp())
        and (t.active_claim_id is null or not (is_last_attempt(t.type_id, t.failed_attempts) and is_expired(t.active_claim_id)))
        and (not t.is_restricted or may_claim(t.id, ${request.principalId}))
        and (not t.is_addressed or is_addressee(t.id, ${request.principalId}))
      order by asked.n
      limit (select cardinality(${request.claimIds}::uuid[]))
      for no key update of t skip locked
    ), free as materialized (
      select id, dead_claim_id, row_number() over (order by n) as n, clock_timestamp()::timestamptz(3) as at from locked
    ), taken as (
      update tasks t
      set claim_epoch = t.claim_epoch + 1, active_claim_id = (${request.claimIds}::uuid[])[free.n],
        lease_expires_at = free.at + make_interval(secs => ${request.ttlSeconds}),
        status = case when t.status = any (tt.claim_from) then tt.claim_status else t.status end,
        category = case when t.status = any (tt.claim_from) then tt.claim_category else t.category end,
        failed_attempts = t.failed_attempts + (free.dead_claim_id is not null and is_expired(free.dead_claim_id))::integer,
        version = t.version + 1, updated_at = now()
      from free, task_types tt
      where t.id = free.id and tt.id = t.type_id
      returning t.id, t.workspace_id, t.claim_epoch, t.active_claim_id, t.lease_expires_at, free.dead_claim_id, free.at,
        free.n, jsonb_build_object('publicId', t.public_id, 'claimId', t.active_claim_id,
          'sessionId', ${request.sessionId}::uuid, 'holderId', ${request.principalId}::uuid, 'fencingToken', t.claim_epoch,
          'expiresAt', to_char(t.lease_expires_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
          'status', t.status, 'systemStatusCategory', t.category, 'version', t.version) as payload
    ), gone as (
      delete from work_queue where task_id = any (array(select id from taken))
    ), reaped as (
      update claims c set status = 'stale', released_at = clock_timestamp(),
        release_reason = case when c.expires_at <= clock_timestamp() then 'expired' else 'session_inactive' end
      where c.id = any (array(select dead_claim_id from taken where dead_claim_id is not null)) and c.released_at is null
      returning c.id, c.task_id, c.session_id, jsonb_build_object('taskId', c.task_id, 'reason', c.release_reason) as payload
    ), made as (
      insert into claims (id, tenant_id, task_id, session_id, holder_id, fencing_token, intent, lease_seconds,
        acquired_at, heartbeat_at, expires_at, sweep_at)
      select taken.active_claim_id, ${request.tenantId}, taken.id, ${request.sessionId}, ${request.principalId},
        taken.claim_epoch, ${request.intent}, ${request.ttlSeconds}::integer, taken.at, taken.at, taken.lease_expires_at,
        taken.lease_expires_at
      -- joined, so that the dead claim leaves the unique index before the new one enters it
      from taken left join reaped on reaped.task_id = taken.id
    ), new_events as (
      select 2 * taken.n as n, (${request.expiredEventIds}::uuid[])[taken.n] as id, 'claim.expired' as type,
        1 as schema_version, 'claim' as entity_type, reaped.id as entity_id, taken.workspace_id, reaped.session_id, reaped.payload
      from reaped join taken on taken.id = reaped.task_id
      union all
      select 2 * n + 1, (${request.claimedEventIds}::uuid[])[n], 'task.claimed', 1, 'task', id, workspace_id, ${request.sessionId},
        payload
      from taken
    ), ${writeEvents(request)}
    select taken.active_claim_id as id, ${request.tenantId}::uuid as tenant_id, taken.id as task_id,
      ${request.sessionId}::uuid as session_id, ${request.principalId}::uuid as holder_id, 'active' as status,
      taken.claim_epoch as fencing_token, ${request.intent}::text as intent, taken.at as acquired_at,
      taken.at as heartbeat_at, ${request.ttlSeconds}::integer as lease_seconds, taken.lease_expires_at as expires_at,
      null::timestamptz as released_at, null::text as release_reason, taken.lease_expires_at as sweep_at,
      taken.payload as claimed_payload, reaped.payload as expired_payload
    from taken left join reaped on reaped.task_id = taken.id
    order by taken.n`;
}

/** Removes tasks with a live claim from the queue. Locked tasks are skipped and removed later. */
export function deleteHeldFromQueue(tenantId: string, taskIds: readonly string[]) {
  return sql<{ task_id: string }>`
    with held as materialized (
      select t.id from tasks t
      where t.id = any (${taskIds}::uuid[]) and t.tenant_id = ${tenantId}
        and t.active_claim_id is not null and t.lease_expires_at > clock_timestamp()
      for no key update of t skip locked
    )
    delete from work_queue q using held where q.task_id = held.id
    returning q.task_id`;
}

export function findTasksById(tenantId: string, taskIds: readonly string[]) {
  return sql<TaskRow>`
    select t.*, tt.key as type_key, tt.version as type_version,
      (select project_id from workspaces where id = t.workspace_id) as project_id
    -- A subquery, because the plan for an array parameter depends on its length: PostgreSQL would replan each call.
    from unnest((select ${taskIds}::uuid[])) as given (id)
    cross join lateral (select * from tasks where id = given.id offset 0) t join task_types tt on tt.id = t.type_id
    where t.tenant_id = ${tenantId}`;
}
