import type { Usage } from '../../execution/usage/usage.ts';
import { usageOf } from '../../execution/usage/usage.ts';
import type { Context } from '../context.ts';
import { fail } from '../errors.ts';
import { findHoldings } from './holdings.sql.ts';
import {
  type DayRange,
  mondayOf,
  type RangeQuery,
  rangeOf,
  readRange,
  readScope,
  type ScopeFields,
} from './range.ts';
import {
  countCreatedTasks,
  countPendingDecisions,
  countRequestedDecisions,
  sumCompletedTasks,
  sumDecisions,
  sumLostLeases,
  sumWaits,
} from './statistics.sql.ts';
import type {
  Durations,
  Holdings,
  LeaseStatistics,
  UsageStatistics,
  usageGroupings,
  WaitStatistics,
  WorkStatistics,
} from './statistics.ts';
import { sumUsage, type UsageGroupRow } from './usage-statistics.sql.ts';

type Query = RangeQuery & ScopeFields;

/** The maximum number of groups of usage, and of holders with lost leases. */
const groupsMax = 200;
const holdersMax = 100;
const holdingsMax = 2000;
const holdingDaysMax = 7;
const dayMs = 86_400_000;

/**
 * Created and completed tasks by day, with their lead and cycle times.
 * @throws Refusal `invalid_time_zone`, `invalid_range`, `not_found`
 */
export async function getWorkStatistics(context: Context, query: Query): Promise<WorkStatistics> {
  const range = readRange(query);
  const of = await readScope(context, query);
  const created = byDay(await context.db.rows(countCreatedTasks(of, range)));
  const completed = byDay(await context.db.rows(sumCompletedTasks(of, range)));
  const figuresOf = (day: number | null) => {
    const done = completed.get(day);
    return {
      completed: done?.completed ?? 0,
      leadTime: durationsOf(done?.completed, done?.lead_p50, done?.lead_p90),
      cycleTime: durationsOf(done?.claimed, done?.cycle_p50, done?.cycle_p90),
    };
  };
  const days = range.dates.map((date, n) => ({
    date,
    created: created.get(n + 1)?.created ?? 0,
    ...figuresOf(n + 1),
  }));
  return { ...rangeOf(range), created: sumOf(days, 'created'), ...figuresOf(null), days };
}

/**
 * The time spent waiting for people, by day.
 * @throws Refusal `invalid_time_zone`, `invalid_range`, `not_found`
 */
export async function getWaitStatistics(context: Context, query: Query): Promise<WaitStatistics> {
  const range = readRange(query);
  const of = await readScope(context, query);
  const waits = byDay(await context.db.rows(sumWaits(of, range)));
  const requested = byDay(await context.db.rows(countRequestedDecisions(of, range)));
  const decided = byDay(await context.db.rows(sumDecisions(of, range)));
  const pending = await context.db.row(countPendingDecisions(of));
  const decisionsOf = (day: number | null) => {
    const made = decided.get(day);
    const decisionTime = durationsOf(made?.decided, made?.decision_p50, made?.decision_p90);
    return { decided: made?.decided ?? 0, decisionTime };
  };
  const days = range.dates.map((date, n) => ({
    date,
    waitingSeconds: inMilliseconds(waits.get(n + 1)?.waiting_seconds ?? 0),
    requested: requested.get(n + 1)?.requested ?? 0,
    ...decisionsOf(n + 1),
  }));
  return {
    ...rangeOf(range),
    waitingSeconds: inMilliseconds(sumOf(days, 'waitingSeconds')),
    requested: sumOf(days, 'requested'),
    pending: pending?.pending ?? 0,
    ...decisionsOf(null),
    days,
  };
}

/**
 * Lost leases and refused late writes, by day and by holder.
 * @throws Refusal `invalid_time_zone`, `invalid_range`, `not_found`
 */
export async function getLeaseStatistics(context: Context, query: Query): Promise<LeaseStatistics> {
  const range = readRange(query);
  const of = await readScope(context, query);
  const rows = await context.db.rows(sumLostLeases(of, range, holdersMax));
  const ofDays = byDay(rows.filter(({ holder_id }) => holder_id === null));
  const figuresOf = (day: number | null) => ({
    lost: ofDays.get(day)?.lost ?? 0,
    refusedWrites: ofDays.get(day)?.refused_writes ?? 0,
  });
  return {
    ...rangeOf(range),
    ...figuresOf(null),
    days: range.dates.map((date, n) => ({ date, ...figuresOf(n + 1) })),
    holders: rows.flatMap(({ holder_id: principalId, lost, refused_writes: refusedWrites }) =>
      principalId === null ? [] : [{ principalId, lost, refusedWrites }],
    ),
  };
}

/**
 * Tokens and money by principal, workspace or week.
 * @throws Refusal `invalid_time_zone`, `invalid_range`, `not_found`
 */
export async function getUsageStatistics(
  context: Context,
  { groupBy = 'principal', ...query }: Query & { groupBy?: (typeof usageGroupings)[number] | undefined },
): Promise<UsageStatistics> {
  const range = readRange(query);
  const of = await readScope(context, query);
  const { mondays, bounds: weeks } = weeksOf(range);
  const rows = await context.db.rows(sumUsage(of, range, { weeks, groupBy, groupsMax }));
  const groups = rows
    .filter(({ is_rest: isRest }) => !isRest)
    .map(({ key, runs, ...used }) => ({
      principalId: groupBy === 'principal' ? key : null,
      workspaceId: groupBy === 'workspace' ? key : null,
      week: groupBy === 'week' ? (mondays[Number(key) - 1] ?? null) : null,
      runs,
      usage: usageOf(used),
    }));
  if (groupBy === 'week') groups.sort((a, b) => ((a.week ?? '') < (b.week ?? '') ? -1 : 1));
  const rest = rows.find(({ is_rest: isRest }) => isRest);
  return {
    ...rangeOf(range),
    groupBy,
    total: totalOf(rows),
    groups,
    rest: rest === undefined ? null : { groups: rest.groups, runs: rest.runs, usage: usageOf(rest) },
  };
}

/**
 * The claims that were live within a period, for a timeline per holder.
 * @throws Refusal `invalid_period`, `not_found`
 */
export async function getHoldings(
  context: Context,
  query: ScopeFields & {
    from?: string | undefined;
    to?: string | undefined;
    principalId?: string | undefined;
  },
): Promise<Holdings> {
  const { to = new Date().toISOString(), principalId = null } = query;
  const { from = new Date(Date.parse(to) - dayMs).toISOString() } = query;
  const lastsMs = Date.parse(to) - Date.parse(from);
  // A day before the first year can't be stored.
  if (from < '0001' || lastsMs <= 0 || lastsMs > holdingDaysMax * dayMs)
    fail('invalid_period', { maxDays: holdingDaysMax });
  const of = await readScope(context, query);
  const rows = await context.db.rows(findHoldings({ of, from, to, principalId }, holdingsMax + 1));
  const items = rows.slice(0, holdingsMax).map((row) => ({
    claimId: row.id,
    taskId: row.task_id,
    publicId: row.public_id,
    title: row.title,
    workspaceId: row.workspace_id,
    holderId: row.holder_id,
    acquiredAt: row.acquired_at,
    endedAt: row.ended_at,
    endReason: row.end_reason,
  }));
  return { from, to, items, isTruncated: rows.length > holdingsMax };
}

function byDay<Row extends { day: number | null }>(rows: readonly Row[]): Map<number | null, Row> {
  return new Map(rows.map((row) => [row.day, row]));
}

function durationsOf(count = 0, p50: number | null = null, p90: number | null = null): Durations {
  return { count, p50Seconds: p50, p90Seconds: p90 };
}

function sumOf<Name extends string>(days: readonly Record<Name, number>[], name: Name): number {
  return days.reduce((sum, day) => sum + day[name], 0);
}

/** Timestamps have milliseconds; sums of their differences, as doubles, have further digits that mean nothing. */
const inMilliseconds = (seconds: number) => Math.round(seconds * 1000) / 1000;

/** The weeks of a range: the first and the last one may be shorter. */
function weeksOf({ dates, bounds }: DayRange) {
  const starts = dates.flatMap((date, n) => (n === 0 || mondayOf(date) === date ? [n] : []));
  return {
    mondays: starts.map((n) => mondayOf(dates[n] as string)),
    bounds: [...starts.map((n) => bounds[n] as string), bounds.at(-1) as string],
  };
}

/** Sums are capped at the largest integer that a double represents exactly, like those of a run. */
const add = (a: number, b: number) => Math.min(a + b, Number.MAX_SAFE_INTEGER);

function totalOf(rows: readonly UsageGroupRow[]): Usage {
  const total = { input_tokens: 0, output_tokens: 0, costs: {} as Record<string, number> };
  for (const { input_tokens, output_tokens, costs } of rows) {
    total.input_tokens = add(total.input_tokens, input_tokens);
    total.output_tokens = add(total.output_tokens, output_tokens);
    for (const [currency, micros] of Object.entries(costs))
      total.costs[currency] = add(total.costs[currency] ?? 0, micros);
  }
  return usageOf(total);
}
