import type { RowOf } from '@baton/kernel/database/row';
import { sql } from '@baton/kernel/database/sql';
import type { ClaimRow, RunRow } from '../../leases/lease-rows.ts';
import type { QueuePosition } from '../../service/queue-walk.ts';
import type { Tables } from '../../service/schema.ts';

export type DueRow = Pick<ClaimRow, 'id' | 'tenant_id' | 'sweep_at'>;

/** The maximum number of live leases that one query postpones. */
const postponedMax = 1000;

/**
 * Active sessions whose lease has expired, oldest first. Each is checked again when it is ended. Due sessions whose
 * lease is live are postponed to its end.
 */
export function findDueSessions([sweepAt, id]: QueuePosition, rowsMax: number) {
  return sql<DueRow>`
    with living as materialized (
      select id from sessions where status = 'active' and sweep_at <= now() and expires_at > now()
      order by sweep_at, id limit ${postponedMax} for no key update skip locked
    ), postponed as (
      update sessions s set sweep_at = s.expires_at from living where s.id = living.id
    )
    select id, tenant_id, sweep_at from sessions
    where status = 'active' and sweep_at <= now() and expires_at <= now()
      and (sweep_at, id) > (${sweepAt}::timestamptz, ${id}::uuid)
    order by sweep_at, id limit ${rowsMax}`;
}

/** Active claims whose lease has expired, oldest first, under the same rules as sessions. */
export function findDueClaims([sweepAt, id]: QueuePosition, rowsMax: number) {
  return sql<DueRow>`
    with living as materialized (
      select id from claims where status = 'active' and sweep_at <= now() and expires_at > now()
      order by sweep_at, id limit ${postponedMax} for no key update skip locked
    ), postponed as (
      update claims c set sweep_at = c.expires_at from living where c.id = living.id
    )
    select id, tenant_id, sweep_at from claims
    where status = 'active' and sweep_at <= now() and expires_at <= now()
      and (sweep_at, id) > (${sweepAt}::timestamptz, ${id}::uuid)
    order by sweep_at, id limit ${rowsMax}`;
}

export type DueRunRow = Pick<RunRow, 'id' | 'tenant_id'> & { stalls_at: string };

/** Running runs without progress for too long, oldest first, unless the stall is already recorded. */
export function findStalledRuns([stallsAt, id]: QueuePosition, rowsMax: number) {
  return sql<DueRunRow>`
    select id, tenant_id, stalls_at from runs
    where status = 'running' and stalled_at is null and stalls_at is not null and stalls_at <= now()
      and (stalls_at, id) > (${stallsAt}::timestamptz, ${id}::uuid)
    order by stalls_at, id limit ${rowsMax}`;
}

export type StalledRunRow = Pick<RunRow, 'id' | 'task_id' | 'session_id' | 'attempt' | 'last_progress_at'> &
  Pick<RowOf<Tables['tasks']>, 'workspace_id'>;

/** Records the stalls that continue. A locked run is being written to, and is skipped. */
export function updateRunsToStalled(tenantId: string, runIds: readonly string[]) {
  return sql<StalledRunRow>`
    with due as materialized (
      select id from runs
      where id = any (${runIds}::uuid[]) and tenant_id = ${tenantId} and status = 'running' and stalled_at is null
        and stalls_at <= clock_timestamp()
      for no key update skip locked
    )
    update runs r set stalled_at = clock_timestamp()
    from due, tasks t
    where r.id = due.id and t.id = r.task_id
    returning r.id, r.task_id, r.session_id, r.attempt, r.last_progress_at, t.workspace_id`;
}

export type ExpiredClaimRow = Pick<ClaimRow, 'id' | 'task_id' | 'session_id'> &
  Pick<RowOf<Tables['tasks']>, 'workspace_id'> & { task_status: string; task_category: string };

/**
 * Ends the claims whose lease has expired and frees their tasks. The lease is read from the task's row under its lock,
 * because a heartbeat or a take-over may have moved it. Locked tasks are left to the next batch: several sweepers share
 * the work without waiting.
 */
export function updateClaimsToStale(tenantId: string, claimIds: readonly string[]) {
  return sql<ExpiredClaimRow>`
    with due as materialized (
      select t.id, t.type_id, c.id as claim_id
      from claims c join tasks t on t.id = c.task_id
      where c.id = any (${claimIds}::uuid[]) and c.tenant_id = ${tenantId}
        and t.active_claim_id = c.id and t.lease_expires_at <= clock_timestamp()
      for no key update of t skip locked
    ), expired as (
      update claims c set status = 'stale', released_at = clock_timestamp(), release_reason = 'expired'
      from due where c.id = due.claim_id and c.status = 'active'
      returning c.id, c.task_id, c.session_id
    ), freed as (
      update tasks t
      set active_claim_id = null, lease_expires_at = null,
        status = case when t.status = tt.claim_status then coalesce(tt.release_status, t.status) else t.status end,
        category = case when t.status = tt.claim_status then coalesce(tt.release_category, t.category) else t.category end,
        failed_attempts = t.failed_attempts + counts_as_failed(expired.id)::integer,
        version = t.version + 1, updated_at = now()
      from expired join due on due.id = expired.task_id join task_types tt on tt.id = due.type_id
      where t.id = expired.task_id and t.active_claim_id = expired.id
      returning t.id, t.workspace_id, t.status, t.category
    )
    select expired.*, freed.workspace_id, freed.status as task_status, freed.category as task_category
    from expired join freed on freed.id = expired.task_id
    order by expired.id`;
}
