import { part, sql } from '@baton/kernel/database/sql';
import type { DayRange, FigureScope } from './range.ts';
import {
  areWritesCounted,
  beginOf,
  boundsOf,
  endOf,
  isApprovalCounted,
  isTaskCounted,
  placesOf,
} from './scope.sql-parts.ts';

/**
 * The figures are computed from the tables (docs/decisions/0236-statistics.md): each statement uses an index to find
 * what ended in the range, and assigns it to a day by `width_bucket` with the days' bounds, so the database's own time
 * zones don't matter. A `day` counts from 1; it is null in the row with the figures of the whole range.
 */

export interface CreatedRow {
  day: number;
  created: number;
}

export function countCreatedTasks(of: FigureScope, range: DayRange) {
  return sql<CreatedRow>`
    with ${placesOf(of)}
    select width_bucket(t.created_at, ${boundsOf(range)}) as day, count(*) as created
    from tasks t
    where t.tenant_id = ${of.tenantId} and t.created_at >= ${beginOf(range)} and t.created_at < ${endOf(range)}
      and ${isTaskCounted(of)}
    group by 1 order by 1`;
}

export interface CompletedRow {
  day: number | null;
  completed: number;
  /** Completed tasks that somebody had claimed. */
  claimed: number;
  lead_p50: number | null;
  lead_p90: number | null;
  cycle_p50: number | null;
  cycle_p90: number | null;
}

/** Completed tasks, with the time since their creation (lead) and since their first claim (cycle). */
export function sumCompletedTasks(of: FigureScope, range: DayRange) {
  return sql<CompletedRow>`
    with ${placesOf(of)}, done as materialized (
      select width_bucket(t.completed_at, ${boundsOf(range)}) as day,
        extract(epoch from t.completed_at - t.created_at) as lead,
        extract(epoch from t.completed_at - (
          select c.acquired_at from claims c where c.task_id = t.id order by c.fencing_token limit 1)) as cycle
      from tasks t
      where t.tenant_id = ${of.tenantId} and t.completed_at >= ${beginOf(range)} and t.completed_at < ${endOf(range)}
        and ${isTaskCounted(of)}
    )
    select day, count(*) as completed, count(cycle) as claimed,
      percentile_disc(0.5) within group (order by lead)::double precision as lead_p50, percentile_disc(0.9) within group (order by lead)::double precision as lead_p90,
      percentile_disc(0.5) within group (order by cycle)::double precision as cycle_p50, percentile_disc(0.9) within group (order by cycle)::double precision as cycle_p90
    from done group by grouping sets ((day), ()) order by day nulls last`;
}

export interface WaitRow {
  day: number;
  waiting_seconds: number;
}

/**
 * The time for which requests for a decision were pending, by day. A request counts from its creation to its decision,
 * its cancellation or the current time. Its days are computed from its bounds, so a short wait reads one day only.
 */
export function sumWaits(of: FigureScope, range: DayRange) {
  return sql<WaitRow>`
    with ${placesOf(of)}, waits as materialized (
      select a.created_at as began, a.decision_at as ended from approvals a left join tasks t on t.id = a.task_id
      where ${wasRequestedBefore(of, range)} and a.decision_at > ${beginOf(range)}
      union all
      select a.created_at, a.updated_at from approvals a left join tasks t on t.id = a.task_id
      where ${wasRequestedBefore(of, range)} and a.status = 'cancelled' and a.updated_at > ${beginOf(range)}
      union all
      select a.created_at, clock_timestamp() from approvals a left join tasks t on t.id = a.task_id
      where ${wasRequestedBefore(of, range)} and a.status = 'pending' and clock_timestamp() > ${beginOf(range)}
    )
    select day, sum(extract(epoch from least(ended, bounds[day + 1]) - greatest(began, bounds[day])))::double precision as waiting_seconds
    from waits cross join (select ${boundsOf(range)} as bounds) as days cross join lateral generate_series(
      greatest(width_bucket(began, bounds), 1), least(width_bucket(ended, bounds), cardinality(bounds) - 1)) as day
    group by day order by day`;
}

/** The requests of a scope that were made before the end of a range. */
const wasRequestedBefore = (of: FigureScope, range: DayRange) => part`
  a.tenant_id = ${of.tenantId} and a.created_at < ${endOf(range)} and ${isApprovalCounted(of)}`;

export interface RequestedRow {
  day: number;
  requested: number;
}

export function countRequestedDecisions(of: FigureScope, range: DayRange) {
  return sql<RequestedRow>`
    with ${placesOf(of)}
    select width_bucket(a.created_at, ${boundsOf(range)}) as day, count(*) as requested
    from approvals a left join tasks t on t.id = a.task_id
    where a.tenant_id = ${of.tenantId} and a.created_at >= ${beginOf(range)} and a.created_at < ${endOf(range)}
      and ${isApprovalCounted(of)}
    group by 1 order by 1`;
}

export interface DecidedRow {
  day: number | null;
  decided: number;
  decision_p50: number | null;
  decision_p90: number | null;
}

export function sumDecisions(of: FigureScope, range: DayRange) {
  return sql<DecidedRow>`
    with ${placesOf(of)}, decided as materialized (
      select width_bucket(a.decision_at, ${boundsOf(range)}) as day,
        extract(epoch from a.decision_at - a.created_at) as seconds
      from approvals a left join tasks t on t.id = a.task_id
      where a.tenant_id = ${of.tenantId} and a.decision_at >= ${beginOf(range)} and a.decision_at < ${endOf(range)}
        and ${isApprovalCounted(of)}
    )
    select day, count(*) as decided,
      percentile_disc(0.5) within group (order by seconds)::double precision as decision_p50, percentile_disc(0.9) within group (order by seconds)::double precision as decision_p90
    from decided group by grouping sets ((day), ()) order by day nulls last`;
}

export function countPendingDecisions(of: FigureScope) {
  return sql<{ pending: number }>`
    with ${placesOf(of)}
    select count(*) as pending from approvals a left join tasks t on t.id = a.task_id
    where a.tenant_id = ${of.tenantId} and a.status = 'pending' and ${isApprovalCounted(of)}`;
}

/** Either a day or a holder; both are null in the row of the whole range. */
export interface LeaseRow {
  day: number | null;
  holder_id: string | null;
  lost: number;
  refused_writes: number;
}

/**
 * Leases that ended because they, or their session, expired, and refused late writes: by day, by holder, and of the
 * whole range. The holders are those with the most, up to a maximum.
 */
export function sumLostLeases(of: FigureScope, range: DayRange, holdersMax: number) {
  return sql<LeaseRow>`
    with ${placesOf(of)}, noted as (
      select c.released_at as at, c.holder_id, 1::bigint as lost, 0::bigint as refused_writes
      from claims c join tasks t on t.id = c.task_id
      where c.tenant_id = ${of.tenantId} and c.release_reason in ('expired', 'session_inactive', 'session_expired')
        and (c.status = 'stale' or c.release_reason = 'session_expired')
        and c.released_at >= ${beginOf(range)} and c.released_at < ${endOf(range)}
        and ${isTaskCounted(of)}
      union all
      select w.at, w.principal_id, 0, w.count
      from refused_writes w
      where w.tenant_id = ${of.tenantId} and w.at >= ${beginOf(range)} and w.at < ${endOf(range)}
        and ${areWritesCounted(of)}
    ), dated as materialized (
      select width_bucket(at, ${boundsOf(range)}) as day, holder_id, lost, refused_writes from noted
    ), summed as (
      select day, holder_id, sum(lost)::bigint as lost, sum(refused_writes)::bigint as refused_writes,
        row_number() over (
          partition by grouping(holder_id) order by sum(lost) desc, sum(refused_writes) desc, holder_id) as place
      from dated group by grouping sets ((day), (holder_id), ())
    )
    select day, holder_id, coalesce(lost, 0) as lost, coalesce(refused_writes, 0) as refused_writes
    from summed where holder_id is null or place <= ${holdersMax}
    order by place`;
}
