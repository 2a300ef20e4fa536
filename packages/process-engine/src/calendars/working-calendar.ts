import type { CalendarSpec } from './calendar.ts';
import { type Hours, minutesIn, type WeekHours, weekHoursOf } from './day-hours.ts';
import { zoneNamed } from './time-zone.ts';

/**
 * A calendar prepared for arithmetic, on wall times only (see `time-zone.ts`). Each year has the sums of its working
 * days and minutes up to each of its days, so that nothing is counted day by day. The sums of a year are computed when
 * the year is first used.
 */

export const dayMs = 86_400_000;
const minuteMs = 60_000;

interface YearSums {
  /** The number of working days, and of working minutes, in the first n days of the year. */
  readonly days: Uint16Array;
  readonly minutes: Int32Array;
  /** Bits per day: whether it is a working day, and whether it is short. */
  readonly kinds: Uint8Array;
}

const worked = 1;
const short = 2;

type ListedYear = CalendarSpec['years'][number];

export class WorkingCalendar {
  readonly zone: string;
  readonly hasHours: boolean;
  readonly #weekend: ReadonlySet<number>;
  readonly #hours: WeekHours;
  readonly #listed: ReadonlyMap<number, ListedYear>;
  /**
   * Listed years have an entry by number; unlisted years of the same length that begin on the same day of the week
   * share one.
   */
  readonly #sums = new Map<string, YearSums>();

  /** @param spec as returned by `parseCalendarSpec` */
  constructor(spec: CalendarSpec) {
    this.zone = zoneNamed(spec.timezone) ?? 'UTC';
    this.hasHours = spec.workingHours !== null;
    this.#weekend = new Set(spec.weekend);
    this.#hours = weekHoursOf(spec.workingHours);
    this.#listed = new Map(spec.years.map((year) => [year.year, year]));
  }

  /**
   * Whether the working days of a year may still change: it is marked as provisional, or it is unlisted and therefore
   * has only weekends.
   */
  isProvisional(year: number): boolean {
    return this.#listed.get(year)?.provisional ?? true;
  }

  isWorkday(day: number): boolean {
    const { sums, first } = this.#yearOf(day);
    return ((sums.kinds[day - first] as number) & worked) !== 0;
  }

  /** The working days after a day, up to and including a later one. Days are numbered from 1970-01-01. */
  workdaysBetween(from: number, to: number): number {
    let count = -this.#workdaysUpTo(from);
    for (let year = yearOfDay(from); year < yearOfDay(to); year += 1) count += this.#workdaysIn(year);
    return count + this.#workdaysUpTo(to);
  }

  /** The n-th working day after a day; undefined if there are fewer up to `lastDay`. */
  dayAfterWorkdays(from: number, count: number, lastDay: number): number | undefined {
    let left = this.#workdaysUpTo(from) + count;
    let year = yearOfDay(from);
    for (; left > this.#workdaysIn(year); year += 1) {
      left -= this.#workdaysIn(year);
      if (firstDayOf(year + 1) > lastDay) return undefined;
    }
    const { days } = this.#sumsOf(year);
    const day = firstDayOf(year) + firstIndex(days, (before) => before >= left) - 1;
    return day <= lastDay ? day : undefined;
  }

  /** Milliseconds of working time between two wall times, the first not after the second. */
  workedBetween(fromWallMs: number, toWallMs: number): number {
    let sum = -this.#workedUpTo(fromWallMs);
    const lastYear = yearOfDay(dayOf(toWallMs));
    for (let year = yearOfDay(dayOf(fromWallMs)); year < lastYear; year += 1) sum += this.#workedIn(year);
    return sum + this.#workedUpTo(toWallMs);
  }

  /** The first wall time after this much working time; the caller must ensure that it exists. */
  wallTimeAfterWork(fromWallMs: number, workMs: number): number {
    let left = this.#workedUpTo(fromWallMs) + workMs;
    let year = yearOfDay(dayOf(fromWallMs));
    for (; left > this.#workedIn(year); year += 1) left -= this.#workedIn(year);
    const { minutes } = this.#sumsOf(year);
    const index = firstIndex(minutes, (before) => before * minuteMs >= left) - 1;
    const day = firstDayOf(year) + index;
    let rest = left - (minutes[index] as number) * minuteMs;
    for (const { from, to } of this.#hoursOf(day)) {
      const length = (to - from) * minuteMs;
      if (rest <= length) return day * dayMs + from * minuteMs + rest;
      rest -= length;
    }
    throw new Error('the sums of a calendar do not fit its hours');
  }

  #workdaysIn(year: number): number {
    return this.#sumsOf(year).days.at(-1) as number;
  }

  /** The sums from the first day of its year up to and including a day. */
  #workdaysUpTo(day: number): number {
    const { sums, first } = this.#yearOf(day);
    return sums.days[day - first + 1] as number;
  }

  #workedIn(year: number): number {
    return (this.#sumsOf(year).minutes.at(-1) as number) * minuteMs;
  }

  /** The sum from the beginning of its year up to a wall time. */
  #workedUpTo(wallMs: number): number {
    const day = dayOf(wallMs);
    const { sums, first } = this.#yearOf(day);
    const inDay = wallMs - day * dayMs;
    const today = this.#hoursOf(day).reduce(
      (sum, { from, to }) => sum + Math.min(Math.max(inDay - from * minuteMs, 0), (to - from) * minuteMs),
      0,
    );
    return (sums.minutes[day - first] as number) * minuteMs + today;
  }

  #hoursOf(day: number): readonly Hours[] {
    const { sums, first } = this.#yearOf(day);
    return this.#hoursOfKind(sums.kinds[day - first] as number, weekdayOf(day));
  }

  #hoursOfKind(kind: number, weekday: number): readonly Hours[] {
    if ((kind & worked) === 0) return [];
    return this.#hours[(kind & short) === 0 ? 'usual' : 'short'][weekday - 1] as readonly Hours[];
  }

  #yearOf(day: number): { sums: YearSums; first: number } {
    const year = yearOfDay(day);
    return { sums: this.#sumsOf(year), first: firstDayOf(year) };
  }

  #sumsOf(year: number): YearSums {
    const first = firstDayOf(year);
    const length = firstDayOf(year + 1) - first;
    const listed = this.#listed.get(year);
    const name = listed === undefined ? `${length} days from ${weekdayOf(first)}` : String(year);
    const known = this.#sums.get(name) ?? this.#sumUp(first, length, listed);
    this.#sums.set(name, known);
    return known;
  }

  #sumUp(first: number, length: number, listed: ListedYear | undefined): YearSums {
    const [days, minutes] = [new Uint16Array(length + 1), new Int32Array(length + 1)];
    const kinds = new Uint8Array(length);
    for (let n = 0; n < length; n += 1) kinds[n] = this.#weekend.has(weekdayOf(first + n)) ? 0 : worked;
    const indexOf = (date: string) => Date.parse(date) / dayMs - first;
    for (const date of listed?.workdays ?? []) kinds[indexOf(date)] = worked;
    for (const date of listed?.holidays ?? []) kinds[indexOf(date)] = 0;
    for (const date of listed?.shortDays ?? [])
      kinds[indexOf(date)] = (kinds[indexOf(date)] as number) | short;
    for (let n = 0; n < length; n += 1) {
      const kind = kinds[n] as number;
      days[n + 1] = (days[n] as number) + (kind & worked);
      const worth = minutesIn(this.#hoursOfKind(kind, weekdayOf(first + n)));
      minutes[n + 1] = (minutes[n] as number) + worth;
    }
    return { days, minutes, kinds };
  }
}

/** The number of a wall time's day, from 1970-01-01. */
export function dayOf(wallMs: number): number {
  return Math.floor(wallMs / dayMs);
}

export function yearOfDay(day: number): number {
  return new Date(day * dayMs).getUTCFullYear();
}

/** The first day of a year, for years from 1900 on. */
function firstDayOf(year: number): number {
  return Date.UTC(year, 0, 1) / dayMs;
}

/** Monday is 1; 1970-01-01 was a Thursday. */
function weekdayOf(day: number): number {
  return ((((day + 3) % 7) + 7) % 7) + 1;
}

/** The index of the first number that is large enough, in ascending numbers. */
function firstIndex(numbers: Uint16Array | Int32Array, isEnough: (number: number) => boolean): number {
  let [low, high] = [0, numbers.length - 1];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (isEnough(numbers[middle] as number)) high = middle;
    else low = middle + 1;
  }
  return low;
}
