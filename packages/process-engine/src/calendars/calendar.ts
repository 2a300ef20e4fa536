import { z } from 'zod';
import { DisplayName } from '@baton/values/keys';

export const yearMin = 2000;
export const yearMax = 2100;

/** The limits of a day's list of hours. */
const intervalsMax = 10;
/** The maximum number of days in a year. */
const daysMax = 366;

const IsoDate = z.iso.date();
/** Monday is 1. */
const IsoWeekday = z.int().min(1).max(7);

/** The times and their order are validated later, with their own problem code. */
const hourText = z.string().max(100);
const Interval = z
  .strictObject({ from: hourText, to: hourText })
  .meta({ id: 'WorkingInterval', description: 'From HH:MM, to HH:MM, at most 24:00.' });

const weekdayHours = z.array(Interval).max(intervalsMax);
const byWeekday = { '1': weekdayHours, '2': weekdayHours, '3': weekdayHours, '4': weekdayHours };
const WeekdayHours = z.strictObject({
  ...byWeekday,
  '5': weekdayHours,
  '6': weekdayHours,
  '7': weekdayHours,
});

const WorkingHours = z
  .strictObject({
    intervals: z.array(Interval).min(1).max(intervalsMax),
    weekdays: WeekdayHours.partial().default({}).describe('Days of the week with different hours.'),
    shortDayReduction: z
      .string()
      .max(100)
      .default('PT0M')
      .describe('How much earlier a short day ends, as an ISO 8601 duration in minutes: PT60M.'),
  })
  .meta({ id: 'WorkingHours' });

const days = z.array(IsoDate).max(daysMax);
const CalendarYear = z
  .strictObject({
    year: z.int().min(yearMin).max(yearMax),
    provisional: z.boolean().default(false).describe('Whether it may still change.'),
    source: z.string().max(500).nullable().default(null).describe('The publication of its days.'),
    holidays: days.default([]),
    workdays: days.default([]).describe('Working days that would be days off by their day of the week.'),
    shortDays: days.default([]),
  })
  .meta({ id: 'CalendarYear' });

/**
 * Working days and working hours (docs/reference/workspaces.md#calendars). Unlisted years have only weekends.
 */
export const CalendarSpec = z
  .strictObject({
    displayName: DisplayName,
    timezone: z.string().min(1).max(64).describe('A name of the IANA time zone database.'),
    weekend: z
      .array(IsoWeekday)
      .max(7)
      .refine((named) => new Set(named).size === named.length, 'must name each day once')
      .default([6, 7])
      .describe('Working days of the week, Monday is 1.'),
    workingHours: WorkingHours.nullable()
      .default(null)
      .describe('Without hours, the calendar counts days only.'),
    years: z
      .array(CalendarYear)
      .min(1)
      .max(yearMax - yearMin + 1),
  })
  .meta({ id: 'CalendarSpec' });
export type CalendarSpec = z.output<typeof CalendarSpec>;
export type WorkingHours = z.output<typeof WorkingHours>;
