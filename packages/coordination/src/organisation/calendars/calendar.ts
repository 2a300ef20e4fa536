import { z } from 'zod';
import { type RowOf, wireMapper } from '@baton/kernel/row';
import { InstantInput, Timestamp, Uuid } from '@baton/kernel/wire';
import { documentBytesMax } from '../../service/documents.ts';
import type { Tables } from '../../service/schema.ts';
import { DisplayName, TypeKey } from '../keys.ts';
import { PackageLink } from '../package-link.ts';

export const calendarStatuses = ['active', 'retired'] as const;
export const yearMin = 2000;
export const yearMax = 2100;

/** What a day's list of hours may hold. */
const intervalsMax = 10;
/** A year has no more days. */
const daysMax = 366;

const IsoDate = z.iso.date();
/** Monday is 1. */
const IsoWeekday = z.int().min(1).max(7);

/** Whether they are times, and in order, is checked later, with a code of its own. */
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
    weekdays: WeekdayHours.partial().default({}).describe('Days of the week with hours of their own.'),
    shortDayReduction: z
      .string()
      .max(100)
      .default('PT0M')
      .describe('How much sooner a short day ends, as an ISO 8601 duration in minutes: PT60M.'),
  })
  .meta({ id: 'WorkingHours' });

const days = z.array(IsoDate).max(daysMax);
const CalendarYear = z
  .strictObject({
    year: z.int().min(yearMin).max(yearMax),
    provisional: z.boolean().default(false).describe('Whether it may still change.'),
    source: z.string().max(500).nullable().default(null).describe('Where its days are published.'),
    holidays: days.default([]),
    workdays: days.default([]).describe('Days at which people work although the week says otherwise.'),
    shortDays: days.default([]),
  })
  .meta({ id: 'CalendarYear' });

/** Which days and hours people work (organisation, section 16). A year that it does not list has weekends only. */
export const CalendarSpec = z
  .strictObject({
    displayName: DisplayName,
    timezone: z.string().min(1).max(64).describe('A name of the IANA time zone database.'),
    weekend: z
      .array(IsoWeekday)
      .max(7)
      .refine((named) => new Set(named).size === named.length, 'must name each day once')
      .default([6, 7])
      .describe('Days of the week, Monday is 1.'),
    workingHours: WorkingHours.nullable()
      .default(null)
      .describe('Without them the calendar counts days, and no hours.'),
    years: z
      .array(CalendarYear)
      .min(1)
      .max(yearMax - yearMin + 1),
  })
  .meta({ id: 'CalendarSpec' });
export type CalendarSpec = z.output<typeof CalendarSpec>;
export type WorkingHours = z.output<typeof WorkingHours>;

export const CalendarRequest = z
  .strictObject({ key: TypeKey, spec: CalendarSpec.describe(`At most ${documentBytesMax} bytes of JSON.`) })
  .meta({ id: 'CalendarRequest' });
export type CalendarRequest = z.output<typeof CalendarRequest>;

export const CalendarRetirement = z
  .strictObject({ reason: z.string().min(1).max(500) })
  .meta({ id: 'CalendarRetirement' });

/** One version of a calendar. */
export const Calendar = z
  .strictObject({
    id: Uuid,
    tenantId: Uuid,
    key: z.string(),
    version: z.int().positive(),
    latestVersion: z.int().positive(),
    calendarHash: z.string().describe('Of the spec in canonical form.'),
    spec: CalendarSpec,
    provisionalYears: z.array(z.int()),
    status: z.enum(calendarStatuses).describe('Of the key, whatever the version.'),
    retired: z.strictObject({ at: Timestamp, by: Uuid, reason: z.string() }).nullable(),
    createdBy: Uuid,
    createdAt: Timestamp,
    package: PackageLink.nullable(),
  })
  .meta({ id: 'Calendar' });
export type Calendar = z.infer<typeof Calendar>;

type KeyRow = RowOf<Tables['calendars'], { package: PackageLink | null }>;

/** A version with the state of its key. */
export type CalendarRow = RowOf<Tables['calendar_versions'], { spec: CalendarSpec }> &
  Pick<KeyRow, 'status' | 'retired_at' | 'retired_by' | 'retired_reason' | 'package'> & {
    latest_version: number;
  };

export const calendarOf = wireMapper<CalendarRow>()(Calendar, {
  retired: ({ retired_at: at, retired_by: by, retired_reason: reason }) =>
    at === null || by === null || reason === null ? null : { at, by, reason },
});

/** More than the calendar reaches: 100 years of minutes. */
const workingMinutesMax = 52_596_000;

/** Either what to add, or the other end. */
export const Computation = z
  .union([
    z.strictObject({ from: InstantInput, addWorkingMinutes: z.int().min(0).max(workingMinutesMax) }),
    z.strictObject({ from: InstantInput, to: InstantInput }),
  ])
  .meta({ id: 'CalendarComputation' });
export type Computation = z.output<typeof Computation>;

export const Computed = z
  .union([
    z.strictObject({ to: Timestamp }),
    z.strictObject({
      workingMinutes: z.int().describe('Whole ones; below zero where `to` comes before `from`.'),
    }),
  ])
  .meta({ id: 'CalendarComputed' });
export type Computed = z.infer<typeof Computed>;
