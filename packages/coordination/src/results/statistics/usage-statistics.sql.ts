import { part, sql } from '@baton/kernel/database/sql';
import type { DayRange, FigureScope } from './range.ts';
import { beginOf, endOf, isTaskCounted, placesOf } from './scope.sql-parts.ts';

export interface UsageGroupRow {
  /** The id of a principal or a workspace, or the number of a week; null for tasks without a workspace. */
  key: string | null;
  /** The sum of all groups beyond the maximum. */
  is_rest: boolean;
  groups: number;
  runs: number;
  input_tokens: number;
  output_tokens: number;
  costs: Record<string, number>;
}

/**
 * Tokens and money by the time of the actions that used them: an action counts when it finished or, until then, when it
 * was recorded. A run within one week of the range is counted by its own sums, which are those of its actions
 * (`checkLeaseInvariants`), so only runs that cross a bound read their actions. A minute on both sides of a run covers
 * the difference between the times of a transaction and of its statements.
 * @param weeks the instants at which the weeks of the range begin, and its end
 * @param groupsMax the number of groups, in the order of their costs, then of their tokens
 */
export function sumUsage(
  of: FigureScope,
  range: DayRange,
  { weeks, groupBy, groupsMax }: { weeks: readonly string[]; groupBy: string; groupsMax: number },
) {
  return sql<UsageGroupRow>`
    with ${placesOf(of)}, found as (
      select ${runColumns} from runs r join tasks t on t.id = r.task_id
      where r.tenant_id = ${of.tenantId} and r.finished_at >= ${beginOf(range)} - interval '1 minute' and r.finished_at is not null
        and r.started_at < ${endOf(range)} and r.action_count > 0 and ${isTaskCounted(of)}
      union all
      select ${runColumns} from runs r join tasks t on t.id = r.task_id
      where r.tenant_id = ${of.tenantId} and r.status = 'running' and r.started_at < ${endOf(range)} and r.action_count > 0
        and ${isTaskCounted(of)}
    ), placed as (
      select found.*, weeks.bounds,
        width_bucket(started_at - interval '1 minute', weeks.bounds) as first_week,
        width_bucket(coalesce(finished_at, 'infinity') + interval '1 minute', weeks.bounds) as last_week
      from found cross join (select ${weeks}::timestamptz[] as bounds) as weeks
    ), used as (
      select *, first_week = last_week and first_week between 1 and cardinality(bounds) - 1 as is_whole from placed
    ), amounts as (
      select id, principal_id, workspace_id, first_week as week, input_tokens, output_tokens, null as currency, 0::numeric as cost
      from used where is_whole
      union all
      select u.id, u.principal_id, u.workspace_id, u.first_week, 0, 0, spent.key, spent.value::numeric
      from used u cross join lateral jsonb_each_text(u.costs) as spent
      where u.is_whole
      union all
      select u.id, u.principal_id, u.workspace_id, width_bucket(coalesce(a.finished_at, a.created_at), u.bounds),
        coalesce(a.input_tokens, 0), coalesce(a.output_tokens, 0), a.currency, coalesce(a.cost_micros, 0)
      from used u join run_actions a on a.run_id = u.id
      where not u.is_whole and coalesce(a.finished_at, a.created_at) >= ${beginOf(range)}
        and coalesce(a.finished_at, a.created_at) < ${endOf(range)}
    ), keyed as materialized (
      select coalesce(case ${groupBy} when 'principal' then principal_id::text when 'workspace' then workspace_id::text
          else week::text end, '') as key,
        id, input_tokens, output_tokens, currency, cost
      from amounts
    ), aggregated as (
      select key, currency, grouping(currency) = 1 as is_total, sum(cost) as cost, sum(input_tokens) as input_tokens,
        sum(output_tokens) as output_tokens, count(distinct id) as runs
      from keyed group by grouping sets ((key, currency), (key))
    ), totalled as (
      select *, max(cost) filter (where is_total) over of_key as key_cost,
        max(input_tokens + output_tokens) filter (where is_total) over of_key as key_tokens
      from aggregated window of_key as (partition by key)
    ), ranked as (
      select *, dense_rank() over (order by key_cost desc, key_tokens desc, key) as place from totalled
    ), spots as materialized (
      select *, least(place, ${groupsMax}::bigint + 1) as spot from ranked
    ), spent as (
      select spot, jsonb_object_agg(currency, least(cost, 9007199254740991)) as costs from (
        select spot, currency, sum(cost) as cost from spots
        where not is_total and currency is not null group by spot, currency) as by_currency
      group by spot
    ), totals as (
      select spot, min(key) as key, count(*) as groups, sum(runs)::bigint as runs,
        least(sum(input_tokens), 9007199254740991)::bigint as input_tokens,
        least(sum(output_tokens), 9007199254740991)::bigint as output_tokens
      from spots where is_total group by spot
    )
    select case when spot <= ${groupsMax} then nullif(totals.key, '') end as key, spot > ${groupsMax} as is_rest,
      totals.groups, totals.runs, totals.input_tokens, totals.output_tokens, coalesce(spent.costs, '{}') as costs
    from totals left join spent using (spot) order by spot`;
}

const runColumns = part`
  r.id, r.principal_id, t.workspace_id, r.started_at, r.finished_at, r.input_tokens, r.output_tokens, r.costs`;
