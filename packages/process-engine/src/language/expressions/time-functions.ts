import { wallTimeAt, zoneNamed } from '../../calendars/time-zone.ts';
import type { WorkingCalendar } from '../../calendars/working-calendar.ts';
import {
  addWorkdays,
  addWorkingTimeInSteps,
  CalendarFault,
  isWorkday,
  workdaysBetween,
  workingTimeInSteps,
} from '../../calendars/working-time.ts';
import { isoDurationOf, parseIsoDuration, parseShortDuration } from './durations.ts';
import { type Overload, overload } from './overloads.ts';
import type { Run } from './run.ts';
import { bool, double, duration, dyn, int, string, timestamp } from './types.ts';
import { checkedInt, ExpressionFault, Instant, Span, type Value, wholeOf } from './values.ts';

/** Conversions, instants, durations, and working time with calendars. */

export const conversions: readonly Overload[] = [
  overload('dyn(any)', dyn, (_, value) => value),
  overload('bool(bool)', bool, (_, value) => value),
  overload('bool(string)', bool, (_, text: string) => truthOf(text)),
  overload('int(int)', int, (_, value: Value) => BigInt(wholeOf(value))),
  overload('int(double)', int, (_, value: number | bigint) => intOf(value)),
  overload('int(string)', int, (_, text: string) => {
    if (!/^[+-]?\d{1,19}$/.test(text)) throw new ExpressionFault('invalid_argument');
    return checkedInt(BigInt(text.replace('+', '')));
  }),
  overload('int(timestamp)', int, (_, { ms }: Instant) => BigInt(Math.floor(ms / 1000))),
  overload('double(number)', double, (_, value: number | bigint) => Number(value)),
  overload('double(string)', double, (_, text: string) => {
    if (!/^[+-]?\d{1,30}(?:\.\d{1,30})?(?:[eE][+-]?\d{1,3})?$/.test(text))
      throw new ExpressionFault('invalid_argument');
    return Number(text);
  }),
  overload('string(string)', string, (_, text: string) => text),
  overload('string(bool)', string, (_, value: boolean) => String(value)),
  overload('string(number)', string, (_, value: number | bigint) => String(value)),
  overload('string(timestamp)', string, (_, { ms }: Instant) => new Date(ms).toISOString()),
  overload('string(duration)', string, (_, { ms }: Span) => isoDurationOf(ms)),
  overload('timestamp(timestamp)', timestamp, (_, value) => value),
  overload('timestamp(string)', timestamp, (_, text: string) => instantOf(text)),
  overload('timestamp(int)', timestamp, (_, seconds: Value) => new Instant(wholeOf(seconds) * 1000)),
  overload('duration(duration)', duration, (_, value) => value),
  overload('duration(string)', duration, (_, text: string) => spanOf(text)),
];

function truthOf(text: string): boolean {
  if (['true', 'True', 'TRUE', 't', '1'].includes(text)) return true;
  if (['false', 'False', 'FALSE', 'f', '0'].includes(text)) return false;
  throw new ExpressionFault('invalid_argument');
}

function intOf(value: number | bigint): bigint {
  if (typeof value === 'bigint') return value;
  if (!Number.isFinite(value)) throw new ExpressionFault('number_out_of_range');
  return checkedInt(BigInt(Math.trunc(value)));
}

const rfc3339 = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:\.\d{1,9})?(?:Z|[+-]\d{2}:\d{2})$/;

/** @throws ExpressionFault `invalid_argument` for a string that is not an instant with an offset */
export function instantOf(text: string): Instant {
  const ms = rfc3339.test(text) ? Date.parse(text) : Number.NaN;
  if (Number.isNaN(ms)) throw new ExpressionFault('invalid_argument');
  return new Instant(ms);
}

/** @throws ExpressionFault `invalid_argument` */
export function spanOf(text: string): Span {
  const ms = parseIsoDuration(text) ?? parseShortDuration(text);
  if (ms === undefined) throw new ExpressionFault('invalid_argument');
  return new Span(ms);
}

/** Parts of an instant: CEL numbers months, days of the month and of the year from 0, and Sunday is 0. */
const partsOfInstant: Readonly<Record<string, (wall: Date) => number>> = {
  getFullYear: (wall) => wall.getUTCFullYear(),
  getMonth: (wall) => wall.getUTCMonth(),
  getDate: (wall) => wall.getUTCDate(),
  getDayOfMonth: (wall) => wall.getUTCDate() - 1,
  getDayOfWeek: (wall) => wall.getUTCDay(),
  getDayOfYear: (wall) => Math.floor((wall.getTime() - Date.UTC(wall.getUTCFullYear(), 0, 1)) / 86_400_000),
  getHours: (wall) => wall.getUTCHours(),
  getMinutes: (wall) => wall.getUTCMinutes(),
  getSeconds: (wall) => wall.getUTCSeconds(),
  getMilliseconds: (wall) => wall.getUTCMilliseconds(),
};

/** The cost of using a time zone: Intl resolves its name, and Temporal loads it. */
const zoneSteps = 20;

function wallOf(run: Run, { ms }: Instant, zoneName: string): Date {
  run.spend(zoneSteps);
  const zone = zoneNamed(zoneName);
  if (zone === undefined) throw new ExpressionFault('invalid_argument');
  return new Date(wallTimeAt(zone, ms));
}

/** The total of a duration in whole hours, minutes and so on. */
const unitsOfSpan = { getHours: 3_600_000, getMinutes: 60_000, getSeconds: 1000, getMilliseconds: 1 };

export const timeFunctions: readonly Overload[] = [
  ...Object.entries(partsOfInstant).flatMap(([name, part]) => [
    overload(`timestamp.${name}()`, int, (_, { ms }: Instant) => BigInt(part(new Date(ms)))),
    overload(`timestamp.${name}(string)`, int, (run, instant: Instant, zone: string) =>
      BigInt(part(wallOf(run, instant, zone))),
    ),
  ]),
  ...Object.entries(unitsOfSpan).map(([name, unitMs]) =>
    overload(`duration.${name}()`, int, (_, { ms }: Span) => BigInt(Math.trunc(ms / unitMs))),
  ),
];

/**
 * Until the clock changes are cached, fifty years are computed in 100 pieces, each of which takes half a millisecond.
 */
const stepsPerPiece = 100;
const calendarSteps = 20;

type CalendarFunction = (calendar: WorkingCalendar, run: Run, ...args: Value[]) => Value;

const msOf = (instant: Value) => (instant as Instant).ms;

/**
 * Each function accepts the key of a calendar as an additional last argument; the default is the calendar of the
 * process.
 */
export const calendarFunctions: Readonly<
  Record<string, { parameters: readonly string[]; result: typeof int; run: CalendarFunction }>
> = {
  addWorkdays: {
    parameters: ['timestamp', 'int'],
    result: timestamp,
    run: (calendar, _, from, days) => new Instant(addWorkdays(calendar, msOf(from), notNegative(days))),
  },
  isWorkday: {
    parameters: ['timestamp'],
    result: bool,
    run: (calendar, _, at) => isWorkday(calendar, msOf(at)),
  },
  workdaysBetween: {
    parameters: ['timestamp', 'timestamp'],
    result: int,
    run: (calendar, _, from, to) => BigInt(workdaysBetween(calendar, msOf(from), msOf(to))),
  },
  addWorkingTime: {
    parameters: ['timestamp', 'duration'],
    result: timestamp,
    run: (calendar, run, from, time) => {
      const { ms } = time as Span;
      if (ms < 0) throw new ExpressionFault('invalid_argument');
      return new Instant(piecewise(run, addWorkingTimeInSteps(calendar, msOf(from), ms)));
    },
  },
  workingTimeBetween: {
    parameters: ['timestamp', 'timestamp'],
    result: duration,
    run: (calendar, run, from, to) =>
      new Span(piecewise(run, workingTimeInSteps(calendar, msOf(from), msOf(to)))),
  },
};

/**
 * Calls one of these functions.
 * @param key null for the calendar of the process
 * @throws ExpressionFault `calendar_missing`, `calendar_without_hours`, `calendar_scan_limit`
 */
export function runWithCalendar(
  fn: CalendarFunction,
  key: string | null,
  run: Run,
  args: readonly Value[],
): Value {
  run.spend(calendarSteps);
  const calendar = run.calendarOf(key);
  if (calendar === undefined) throw new ExpressionFault('calendar_missing');
  try {
    return fn(calendar, run, ...args);
  } catch (error) {
    if (error instanceof CalendarFault) throw new ExpressionFault(error.code);
    throw error;
  }
}

function notNegative(days: Value): number {
  const count = wholeOf(days);
  if (count < 0) throw new ExpressionFault('invalid_argument');
  return count;
}

function piecewise(run: Run, pieces: Iterator<void, number>): number {
  for (;;) {
    const { done, value } = pieces.next();
    if (done === true) return value;
    run.spend(stepsPerPiece);
  }
}
