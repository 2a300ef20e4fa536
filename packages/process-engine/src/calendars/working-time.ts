import { finished } from '@baton/values/steps';
import { instantAt, stretchesBetween, wallTimeAt } from './time-zone.ts';
import { dayMs, dayOf, type WorkingCalendar, yearOfDay } from './working-calendar.ts';

/**
 * Arithmetic with working days and working time (docs/reference/workspaces.md#calendar-arithmetic): pure functions of a
 * calendar and of instants in milliseconds since 1970. Working time passes while the wall clock shows a time within the
 * hours of a working day. A skipped hour doesn't count, a repeated hour counts twice.
 */

/** A computation that a calendar doesn't support. */
export class CalendarFault extends Error {
  readonly code: 'calendar_without_hours' | 'calendar_scan_limit';

  constructor(code: CalendarFault['code']) {
    super(code);
    this.code = code;
  }
}

/** Yields so that other work can run. */
type Steps = Generator<void, number>;

/** The maximum distance from an instant: 50 years, including their leap days. */
const scanDaysMax = 18_263;
/** The years that calendars can list, and 50 more on either side. */
const firstMs = Date.UTC(1950, 0, 1);
const lastMs = Date.UTC(2151, 0, 1);

/**
 * Whether the instant's day in the calendar's zone is a working day.
 * @public for processes (docs/reference/workspaces.md#calendar-arithmetic)
 */
export function isWorkday(calendar: WorkingCalendar, atMs: number): boolean {
  return calendar.isWorkday(localDay(calendar, atMs));
}

/**
 * The instant n working days later, at the same time of day. The first day does not count.
 * @param days 0 or more; 0 is the same instant
 * @throws CalendarFault `calendar_scan_limit`
 * @public for processes
 */
export function addWorkdays(calendar: WorkingCalendar, atMs: number, days: number): number {
  requireNotNegative(days);
  requireInReach(atMs);
  if (days === 0) return atMs;
  const wallMs = wallTimeAt(calendar.zone, atMs);
  const from = dayOf(wallMs);
  const day = calendar.dayAfterWorkdays(from, days, from + scanDaysMax);
  if (day === undefined) throw new CalendarFault('calendar_scan_limit');
  return instantAt(calendar.zone, wallMs + (day - from) * dayMs);
}

/**
 * The working days after the day of one instant, up to and including that of another; negative if the second is
 * earlier.
 * @throws CalendarFault `calendar_scan_limit`
 * @public for processes
 */
export function workdaysBetween(calendar: WorkingCalendar, fromMs: number, toMs: number): number {
  const [from, to] = [localDay(calendar, fromMs), localDay(calendar, toMs)];
  if (to < from) return 0 - workdaysBetween(calendar, toMs, fromMs);
  if (to - from > scanDaysMax) throw new CalendarFault('calendar_scan_limit');
  return calendar.workdaysBetween(from, to);
}

/**
 * The first instant after this much working time.
 * @param workMs milliseconds, 0 or more; 0 is the same instant
 * @throws CalendarFault `calendar_without_hours`, `calendar_scan_limit`
 * @public for processes
 */
export function addWorkingTime(calendar: WorkingCalendar, atMs: number, workMs: number): number {
  return finished(addWorkingTimeInSteps(calendar, atMs, workMs));
}

/**
 * Like `addWorkingTime`, in steps of at most a millisecond: 50 years take 25 ms before the clock changes are cached.
 */
export function* addWorkingTimeInSteps(calendar: WorkingCalendar, atMs: number, workMs: number): Steps {
  requireNotNegative(workMs);
  requireHours(calendar);
  requireInReach(atMs);
  if (workMs === 0) return atMs;
  let left = workMs;
  for (const { fromMs, toMs, offsetMs } of stretchesBetween(
    calendar.zone,
    atMs,
    atMs + scanDaysMax * dayMs,
  )) {
    const worked = calendar.workedBetween(fromMs + offsetMs, toMs + offsetMs);
    if (left <= worked) return calendar.wallTimeAfterWork(fromMs + offsetMs, left) - offsetMs;
    left -= worked;
    yield;
  }
  throw new CalendarFault('calendar_scan_limit');
}

/**
 * Milliseconds of working time from one instant to another; negative if the second is earlier.
 * @throws CalendarFault `calendar_without_hours`, `calendar_scan_limit`
 * @public for processes
 */
export function workingTimeBetween(calendar: WorkingCalendar, fromMs: number, toMs: number): number {
  return finished(workingTimeInSteps(calendar, fromMs, toMs));
}

/** Like `workingTimeBetween`, in steps. */
export function* workingTimeInSteps(calendar: WorkingCalendar, fromMs: number, toMs: number): Steps {
  if (toMs < fromMs) return 0 - (yield* workingTimeInSteps(calendar, toMs, fromMs));
  requireHours(calendar);
  requireInReach(fromMs);
  requireInReach(toMs);
  if (toMs - fromMs > scanDaysMax * dayMs) throw new CalendarFault('calendar_scan_limit');
  let sum = 0;
  for (const stretch of stretchesBetween(calendar.zone, fromMs, toMs)) {
    sum += calendar.workedBetween(stretch.fromMs + stretch.offsetMs, stretch.toMs + stretch.offsetMs);
    yield;
  }
  return sum;
}

/** Whether any year from one instant to another may still change, or is not listed. @public for processes */
export function isProvisional(calendar: WorkingCalendar, fromMs: number, toMs: number): boolean {
  const [first, last] = [Math.min(fromMs, toMs), Math.max(fromMs, toMs)].map((atMs) =>
    yearOfDay(localDay(calendar, atMs)),
  ) as [number, number];
  for (let year = first; year <= last; year += 1) if (calendar.isProvisional(year)) return true;
  return false;
}

function localDay(calendar: WorkingCalendar, atMs: number): number {
  requireInReach(atMs);
  return dayOf(wallTimeAt(calendar.zone, atMs));
}

function requireNotNegative(amount: number): void {
  if (!(amount >= 0)) throw new RangeError('the amount added to an instant must be 0 or more');
}

function requireHours({ hasHours }: WorkingCalendar): void {
  if (!hasHours) throw new CalendarFault('calendar_without_hours');
}

function requireInReach(atMs: number): void {
  if (!(atMs >= firstMs && atMs < lastMs)) throw new CalendarFault('calendar_scan_limit');
}
