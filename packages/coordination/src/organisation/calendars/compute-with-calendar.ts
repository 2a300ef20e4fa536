import { inSlices } from '@baton/kernel/limits/slices';
import { WorkingCalendar } from '@baton/process-engine/calendars/working-calendar';
import {
  addWorkingTimeInSteps,
  CalendarFault,
  workingTimeInSteps,
} from '@baton/process-engine/calendars/working-time';
import { BoundedCache } from '@baton/values/bounded-cache';
import type { VersionRef } from '@baton/values/keys';
import type { Context } from '../context.ts';
import { fail } from '../errors.ts';
import type { Computation, Computed } from './calendar.ts';
import { findCalendarId, findCalendarSpec, findNewestIds } from './calendars.sql.ts';

/**
 * Entries are never stale, because versions never change. Each year takes 3 KB for its sums and at most 4 KB for its
 * dates: 28 MB in all.
 */
const yearsKeptMax = 4000;
const kept = new BoundedCache<WorkingCalendar>(yearsKeptMax);
/** The number of different years without listed days: seven weekdays to begin with, leap year or not. */
const unlistedYears = 14;

const minuteMs = 60_000;

/** A version of a calendar, prepared for arithmetic (`working-time.ts`). @throws Refusal `not_found` */
async function workingCalendarOf(context: Context, ref: VersionRef): Promise<WorkingCalendar> {
  const { db, tenantId } = context;
  const { id } = (await db.row(findCalendarId(tenantId, ref))) ?? fail('not_found');
  return (await calendarOfId(context, id)) ?? fail('not_found');
}

async function calendarOfId({ db, tenantId }: Context, id: string): Promise<WorkingCalendar | undefined> {
  const known = kept.get(id);
  if (known !== undefined) return known;
  const row = await db.row(findCalendarSpec(tenantId, id));
  if (row === undefined) return undefined;
  const calendar = new WorkingCalendar(row.spec);
  kept.keep(id, calendar, row.spec.years.length + unlistedYears);
  return calendar;
}

/** The newest versions of the existing calendars with these keys, prepared for arithmetic. */
export async function workingCalendarsOf(
  context: Context,
  keys: readonly string[],
): Promise<Map<string, WorkingCalendar>> {
  const calendars = new Map<string, WorkingCalendar>();
  if (keys.length === 0) return calendars;
  for (const { key, id } of await context.db.rows(findNewestIds(context.tenantId, keys))) {
    const calendar = await calendarOfId(context, id);
    if (calendar !== undefined) calendars.set(key, calendar);
  }
  return calendars;
}

/**
 * Adds working minutes to an instant, or counts the working minutes between two instants. See
 * docs/reference/workspaces.md#calendar-arithmetic.
 * @throws Refusal `not_found`, `invalid_calendar` with `code` calendar_without_hours or calendar_scan_limit
 */
export async function computeWithCalendar(
  context: Context,
  ref: VersionRef,
  asked: Computation,
): Promise<Computed> {
  const calendar = await workingCalendarOf(context, ref);
  const fromMs = Date.parse(asked.from);
  try {
    if ('to' in asked) {
      const workMs = await inSlices(workingTimeInSteps(calendar, fromMs, Date.parse(asked.to)));
      return { workingMinutes: Math.trunc(workMs / minuteMs) || 0 };
    }
    const toMs = await inSlices(addWorkingTimeInSteps(calendar, fromMs, asked.addWorkingMinutes * minuteMs));
    return { to: new Date(toMs).toISOString() };
  } catch (error) {
    if (error instanceof CalendarFault) return fail('invalid_calendar', { code: error.code });
    throw error;
  }
}
