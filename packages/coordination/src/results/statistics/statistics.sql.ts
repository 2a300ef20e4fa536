import { part, type SqlPart, sql } from '@baton/kernel/database/sql';
import type { DayRange, FigureScope } from './range.ts';
import { isCounted, placesOf } from './scope.sql-parts.ts';

/**
 * The figures are computed from the tables (docs/decisions/0234-statistics.md): each statement finds by an index what
 * ended in the range, and assigns it to a day by `width_bucket` with the days' bounds, so the database's own time zones
 * don't matter. A `day` counts from 1; it is null in the row with the figures of the whole range.
 */

const boundsOf = ({ bounds }: DayRange) => part`${bounds}::timestamptz[]`;
const beginOf = ({ bounds }: DayRange) => part`${bounds[0]}::timestamptz`;
const endOf = ({ bounds }: DayRange) => part`${bounds.at(-1)}::timestamptz`;

/** A nearest-rank percentile: a value that occurred. */
const percentileOf = (fraction: number, seconds: SqlPart) =>
  part`percentile_disc(${fraction}::double precision) within group (order by ${seconds})::double precision`;

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
      and ${isCounted(of, part`t.workspace_id`)}
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
        and ${isCounted(of, part`t.workspace_id`)}
    )
    select day, count(*) as completed, count(cycle) as claimed,
      ${percentileOf(0.5, part`lead`)} as lead_p50, ${percentileOf(0.9, part`lead`)} as lead_p90,
      ${percentileOf(0.5, part`cycle`)} as cycle_p50, ${percentileOf(0.9, part`cycle`)} as cycle_p90
    from done group by grouping sets ((day), ()) order by day nulls last`;
}

/** The place of an approval: its task's workspace or, without a task, its own. */
const placeOfApproval = part`case when a.task_id is null then a.workspace_id else t.workspace_id end`;

export interface WaitRow {
  day: number;
  waiting_seconds: number;
}

/**
 * The time for which requests for a decision were pending, by day. A request counts from its creation to its decision,
 * its cancellation or the current time. Its days are computed from its bounds, so a short wait reads one day only.
 */
export function sumWaits(of: FigureScope, range: DayRange) {
  const columns = part`a.created_at as began, t.workspace_id as place_of_task, a.workspace_id, a.task_id`;
  const begin = beginOf(range);
  const end = endOf(range);
  const ofTenant = part`a.tenant_id = ${of.tenantId} and a.created_at < ${end}`;
  return sql<WaitRow>`
    with ${placesOf(of)}, found as (
      select ${columns}, a.decision_at as ended from approvals a left join tasks t on t.id = a.task_id
      where ${ofTenant} and a.decision_at > ${begin}
      union all
      select ${columns}, a.updated_at from approvals a left join tasks t on t.id = a.task_id
      where ${ofTenant} and a.status = 'cancelled' and a.updated_at > ${begin}
      union all
      select ${columns}, clock_timestamp() from approvals a left join tasks t on t.id = a.task_id
      where ${ofTenant} and a.status = 'pending'
    ), waits as materialized (
      select began, ended from found
      where ended > began and ended > ${begin}
        and ${isCounted(of, part`(case when task_id is null then workspace_id else place_of_task end)`)}
    )
    select day, sum(extract(epoch from least(ended, bounds[day + 1]) - greatest(began, bounds[day])))::double precision as waiting_seconds
    from waits cross join (select ${boundsOf(range)} as bounds) as days cross join lateral generate_series(
      greatest(width_bucket(began, bounds), 1), least(width_bucket(ended, bounds), cardinality(bounds) - 1)) as day
    group by day order by day`;
}

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
      and ${isCounted(of, part`(${placeOfApproval})`)}
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
        and ${isCounted(of, part`(${placeOfApproval})`)}
    )
    select day, count(*) as decided,
      ${percentileOf(0.5, part`seconds`)} as decision_p50, ${percentileOf(0.9, part`seconds`)} as decision_p90
    from decided group by grouping sets ((day), ()) order by day nulls last`;
}

export function countPendingDecisions(of: FigureScope) {
  return sql<{ pending: number }>`
    with ${placesOf(of)}
    select count(*) as pending from approvals a left join tasks t on t.id = a.task_id
    where a.tenant_id = ${of.tenantId} and a.status = 'pending' and ${isCounted(of, part`(${placeOfApproval})`)}`;
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
        and c.released_at >= ${beginOf(range)} and c.released_at < ${endOf(range)}
        and ${isCounted(of, part`t.workspace_id`)}
      union all
      select w.at, w.principal_id, 0, w.count
      from refused_writes w
      where w.tenant_id = ${of.tenantId} and w.at >= ${beginOf(range)} and w.at < ${endOf(range)}
        and ${isCounted(of, part`w.workspace_id`)}
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
