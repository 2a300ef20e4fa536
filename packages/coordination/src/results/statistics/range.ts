import { z } from 'zod';
import { instantAt, wallTimeAt, zoneNamed } from '@baton/process-engine/calendars/time-zone';
import { QueryFlag, QueryWord, Uuid } from '@baton/values/wire';
import { viewerOf } from '../../service/sight/sight.ts';
import { type WorkspaceScope, workspaceScopeOf } from '../../work/tasks/task-fields.ts';
import type { Context } from '../context.ts';
import { fail } from '../errors.ts';

/** The maximum number of days of a range: a quarter of a year. */
const rangeDaysMax = 92;
const rangeDaysDefault = 30;
const dayMs = 86_400_000;
/** Beyond these dates, the rules of time zones are guesses, and PostgreSQL and JavaScript write years differently. */
const [dateMin, dateMax] = ['1970-01-01', '9998-12-31'];

const DateInput = z.iso.date().meta({ description: 'A date like 2026-12-24.' });

/** The query of each endpoint that computes figures of whole days. */
export const rangeQuery = {
  from: DateInput.optional().describe('The first day; by default, 29 days before `to`.'),
  to: DateInput.optional().describe('The last day, inclusive; by default, today.'),
  timeZone: QueryWord.optional().describe(
    'The IANA time zone in which the days begin, for instance Europe/Berlin; UTC by default.',
  ),
};

/** The query that limits figures to workspaces, as for `GET /tasks`. */
export const scopeQuery = {
  workspaceId: Uuid.optional(),
  includeDescendants: QueryFlag.optional(),
  projectId: Uuid.optional(),
  includeSubprojects: QueryFlag.optional(),
};

export interface RangeQuery {
  readonly from?: string | undefined;
  readonly to?: string | undefined;
  readonly timeZone?: string | undefined;
}

export interface ScopeFields {
  readonly workspaceId?: string | undefined;
  readonly includeDescendants?: boolean | undefined;
  readonly projectId?: string | undefined;
  readonly includeSubprojects?: boolean | undefined;
}

/** A range of whole days in a time zone. */
export interface DayRange {
  readonly from: string;
  readonly to: string;
  /** The name that the request contains. */
  readonly timeZone: string;
  /** The dates, oldest first. */
  readonly dates: readonly string[];
  /** The instant at which each day begins, and the end of the last one: one more than `dates`. */
  readonly bounds: readonly string[];
}

/** The range as every response contains it. */
export const rangeFields = {
  from: z.iso.date(),
  to: z.iso.date(),
  timeZone: z.string(),
};

export function rangeOf({ from, to, timeZone }: DayRange) {
  return { from, to, timeZone };
}

/**
 * @param now the current time in milliseconds, which determines the default of `to`
 * @throws Refusal `invalid_time_zone`, `invalid_range`
 */
export function readRange(query: RangeQuery, now = Date.now()): DayRange {
  const { timeZone = 'UTC' } = query;
  const zone = zoneNamed(timeZone) ?? fail('invalid_time_zone');
  const to = query.to ?? dateOf(wallTimeAt(zone, now));
  const from = query.from ?? (isInYears(to) ? dateOf(Date.parse(to) - (rangeDaysDefault - 1) * dayMs) : to);
  const days = (Date.parse(to) - Date.parse(from)) / dayMs + 1;
  if (!isInYears(from) || !isInYears(to) || days < 1 || days > rangeDaysMax)
    fail('invalid_range', { maxDays: rangeDaysMax, dateMin, dateMax });
  const firstMs = Date.parse(from);
  const dates = Array.from({ length: days }, (_, n) => dateOf(firstMs + n * dayMs));
  const bounds = Array.from({ length: days + 1 }, (_, n) =>
    new Date(instantAt(zone, firstMs + n * dayMs)).toISOString(),
  );
  return { from, to, timeZone, dates, bounds };
}

const isInYears = (date: string) => date >= dateMin && date <= dateMax;
const dateOf = (wallMs: number) => new Date(wallMs).toISOString().slice(0, 10);

/** The Monday of a date's week. */
export function mondayOf(date: string): string {
  const weekday = (new Date(date).getUTCDay() + 6) % 7;
  return dateOf(Date.parse(date) - weekday * dayMs);
}

/** The workspaces whose figures a caller gets. */
export interface FigureScope {
  readonly tenantId: string;
  /** Null for a caller that sees everything, and if `scope` limits the figures to what the caller sees. */
  readonly viewerId: string | null;
  readonly scope: WorkspaceScope | undefined;
}

/** @throws Refusal `not_found` */
export async function readScope(context: Context, query: ScopeFields): Promise<FigureScope> {
  const viewerId = await viewerOf(context);
  const scope = await workspaceScopeOf(context, query);
  // Everything below a visible workspace is visible too.
  return { tenantId: context.tenantId, viewerId: scope === undefined ? viewerId : null, scope };
}
