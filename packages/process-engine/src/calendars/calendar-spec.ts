import type { CalendarSpec, WorkingHours } from './calendar.ts';
import { minuteOf, reductionMinutesOf } from './day-hours.ts';
import { isTimeZone } from './time-zone.ts';

/** A problem in a calendar, with its location. */
export class CalendarDefect extends Error {
  readonly code: string;
  readonly path: string;

  constructor(code: string, path: string) {
    super(`${code} at ${path}`);
    this.code = code;
    this.path = path;
  }
}

/**
 * Validates what the schema of a calendar can't express, and normalizes the order: years, dates and days of the week
 * ascending, no date twice in a list (docs/reference/workspaces.md#calendars). Equal content then has an equal hash.
 * @throws CalendarDefect with the `code` and `path` of the first problem, in this order: unknown_timezone,
 * duplicate_calendar_year, calendar_date_outside_year, calendar_day_conflict, invalid_working_hours
 */
export function orderCalendarSpec(sent: CalendarSpec): CalendarSpec {
  if (!isTimeZone(sent.timezone)) refuse('unknown_timezone', 'timezone');
  refuseRepeatedYears(sent);
  refuseForeignDates(sent);
  refuseConflicts(sent);
  if (sent.workingHours !== null) refuseHours(sent.workingHours);
  const ascending = (dates: readonly string[]) => [...new Set(dates)].sort();
  return {
    ...sent,
    weekend: [...sent.weekend].sort((a, b) => a - b),
    years: sent.years
      .map((year) => ({
        ...year,
        holidays: ascending(year.holidays),
        workdays: ascending(year.workdays),
        shortDays: ascending(year.shortDays),
      }))
      .sort((a, b) => a.year - b.year),
  };
}

function refuse(code: string, path: string): never {
  throw new CalendarDefect(code, path);
}

function refuseRepeatedYears({ years }: CalendarSpec): void {
  const seen = new Set<number>();
  for (const [n, { year }] of years.entries()) {
    if (seen.has(year)) refuse('duplicate_calendar_year', `years.${n}.year`);
    seen.add(year);
  }
}

const lists = ['holidays', 'workdays', 'shortDays'] as const;

function refuseForeignDates({ years }: CalendarSpec): void {
  for (const [n, year] of years.entries())
    for (const list of lists) {
      const wrong = year[list].findIndex((date) => !date.startsWith(`${year.year}-`));
      if (wrong >= 0) refuse('calendar_date_outside_year', `years.${n}.${list}.${wrong}`);
    }
}

/** A holiday is neither a working day nor a short day. */
function refuseConflicts({ years }: CalendarSpec): void {
  for (const [n, { holidays, ...year }] of years.entries()) {
    const off = new Set(holidays);
    for (const list of ['workdays', 'shortDays'] as const) {
      const wrong = year[list].findIndex((date) => off.has(date));
      if (wrong >= 0) refuse('calendar_day_conflict', `years.${n}.${list}.${wrong}`);
    }
  }
}

/** The reduction of short days must fit into the last interval of every day that has hours. */
function refuseHours({ intervals, weekdays, shortDayReduction }: WorkingHours): void {
  const code = 'invalid_working_hours';
  const reduction = reductionMinutesOf(shortDayReduction);
  const named = [
    { path: 'workingHours.intervals', hours: intervals },
    ...Object.entries(weekdays).map(([day, hours]) => ({ path: `workingHours.weekdays.${day}`, hours })),
  ];
  for (const { path, hours } of named) {
    let endsAt = 0;
    for (const [n, { from, to }] of hours.entries()) {
      const [begin, end] = [minuteOf(from), minuteOf(to)];
      if (begin === undefined || begin < endsAt || begin === 24 * 60) refuse(code, `${path}.${n}.from`);
      if (end === undefined || end <= begin) refuse(code, `${path}.${n}.to`);
      endsAt = end;
    }
  }
  if (reduction === undefined) return refuse(code, 'workingHours.shortDayReduction');
  for (const { hours } of named) {
    const last = hours.at(-1);
    if (last === undefined) continue;
    const minutes = (minuteOf(last.to) as number) - (minuteOf(last.from) as number);
    if (reduction > minutes) refuse(code, 'workingHours.shortDayReduction');
  }
}
