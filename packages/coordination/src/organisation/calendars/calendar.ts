import { z } from 'zod';
import { type RowOf, wireMapper } from '@baton/kernel/database/row';
import { CalendarSpec } from '@baton/process-engine/calendars/calendar';
import { TypeKey } from '@baton/values/keys';
import { InstantInput, Timestamp, Uuid } from '@baton/values/wire';
import { documentBytesMax } from '../../service/documents.ts';
import type { Tables } from '../../service/schema.ts';
import { PackageLink } from '../package-link.ts';

export const calendarStatuses = ['active', 'retired'] as const;
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
    calendarHash: z.string().describe('Hash of the spec in canonical form.'),
    spec: CalendarSpec,
    provisionalYears: z.array(z.int()),
    status: z.enum(calendarStatuses).describe('Status of the key, which all its versions share.'),
    retired: z.strictObject({ at: Timestamp, by: Uuid, reason: z.string() }).nullable(),
    createdBy: Uuid,
    createdAt: Timestamp,
    package: PackageLink.nullable(),
  })
  .meta({ id: 'Calendar' });
export type Calendar = z.infer<typeof Calendar>;

type KeyRow = RowOf<Tables['calendars'], { package: PackageLink | null }>;

/** A version, with the status of its key. */
export type CalendarRow = RowOf<Tables['calendar_versions'], { spec: CalendarSpec }> &
  Pick<KeyRow, 'status' | 'retired_at' | 'retired_by' | 'retired_reason' | 'package'> & {
    latest_version: number;
  };

export const calendarOf = wireMapper<CalendarRow>()(Calendar, {
  retired: ({ retired_at: at, retired_by: by, retired_reason: reason }) =>
    at === null || by === null || reason === null ? null : { at, by, reason },
});

/** The number of minutes in 100 years, more than a calendar can cover. */
const workingMinutesMax = 52_596_000;

/** Either the minutes to add or the end of the interval. */
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
      workingMinutes: z.int().describe('Whole minutes; negative when `to` precedes `from`.'),
    }),
  ])
  .meta({ id: 'CalendarComputed' });
export type Computed = z.infer<typeof Computed>;
