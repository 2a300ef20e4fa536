import type { CalendarSpec } from './calendar.ts';

/** Working hours of a day, in minutes of wall time: from `from` (inclusive) to `to` (exclusive). */
export interface Hours {
  readonly from: number;
  readonly to: number;
}

const minutesOfDay = 24 * 60;

/** `09:30` is 570, `24:00` is 1440; undefined for an invalid time of day. */
export function minuteOf(text: string): number | undefined {
  const [, hours, minutes] = /^([01]\d|2[0-4]):([0-5]\d)$/.exec(text) ?? [];
  const minute = Number(hours) * 60 + Number(minutes);
  return minute <= minutesOfDay ? minute : undefined;
}

/** The minutes of `PT60M` or `PT1H30M`; undefined for another duration, and for more than a day. */
export function reductionMinutesOf(text: string): number | undefined {
  const [matched, hours = '0', minutes = '0'] = /^PT(?=\d)(?:(\d{1,2})H)?(?:(\d{1,4})M)?$/.exec(text) ?? [];
  const total = Number(hours) * 60 + Number(minutes);
  return matched !== undefined && total <= minutesOfDay ? total : undefined;
}

/** The hours of each day of the week, Monday first, on an ordinary day and on a short one. */
export interface WeekHours {
  readonly usual: readonly (readonly Hours[])[];
  readonly short: readonly (readonly Hours[])[];
}

/** @param hours as validated by `parseCalendarSpec`; null means no hours on any day */
export function weekHoursOf(hours: CalendarSpec['workingHours']): WeekHours {
  const reduction = reductionMinutesOf(hours?.shortDayReduction ?? 'PT0M') as number;
  const usual = ([1, 2, 3, 4, 5, 6, 7] as const).map((day) =>
    (hours?.weekdays[day] ?? hours?.intervals ?? []).map(({ from, to }) => ({
      from: minuteOf(from) as number,
      to: minuteOf(to) as number,
    })),
  );
  return { usual, short: usual.map((day) => shortened(day, reduction)) };
}

/** The reduction shortens the last interval; an interval without time left is dropped. */
function shortened(day: readonly Hours[], reduction: number): readonly Hours[] {
  const last = day.at(-1);
  if (last === undefined) return day;
  const left = { from: last.from, to: last.to - reduction };
  return left.to > left.from ? [...day.slice(0, -1), left] : day.slice(0, -1);
}

export const minutesIn = (day: readonly Hours[]): number =>
  day.reduce((sum, { from, to }) => sum + to - from, 0);
