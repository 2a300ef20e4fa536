import { reply } from '@baton/kernel/http/service';
import { TypeKey, VersionRef } from '@baton/values/keys';
import { pageOf, QueryFlag } from '@baton/values/wire';
import { endpoint } from '../context.ts';
import { PackageFilter } from '../package-link.ts';
import { Calendar, CalendarRequest, CalendarRetirement, Computation, Computed } from './calendar.ts';
import { calendarPublished, calendarRestored, calendarRetired } from './calendars.events.ts';
import { getCalendar, listCalendars, publishCalendar, retireCalendar } from './calendars.ts';
import { computeWithCalendar } from './compute-with-calendar.ts';

export const calendarsApi = [
  endpoint({
    id: 'publishCalendar',
    method: 'POST',
    path: '/calendars',
    summary: 'Publish the next version of a production calendar.',
    description:
      'Versions never change. Returns 200 when the newest version has the same content, else 201; both reactivate a ' +
      'retired calendar. The `code` of `invalid_calendar` names the defect: unknown_timezone, ' +
      'duplicate_calendar_year, calendar_date_outside_year, calendar_day_conflict or invalid_working_hours.',
    permission: 'calendars.write',
    body: CalendarRequest,
    returns: { 200: Calendar, 201: Calendar },
    errors: ['payload_too_large', 'invalid_calendar'],
    emits: [calendarPublished, calendarRestored],
    example: {
      key: 'germany',
      spec: {
        displayName: 'Germany',
        timezone: 'Europe/Berlin',
        workingHours: {
          intervals: [
            { from: '09:00', to: '12:30' },
            { from: '13:30', to: '18:00' },
          ],
        },
        years: [{ year: 2026, holidays: ['2026-01-01', '2026-04-03', '2026-12-25'] }],
      },
    },
    async handle({ body }, context) {
      const { calendar, isNew } = await publishCalendar(context, body);
      return reply(isNew ? 201 : 200, calendar);
    },
  }),
  endpoint({
    id: 'listCalendars',
    method: 'GET',
    path: '/calendars',
    summary: 'List the newest version of each calendar, newest first.',
    description: 'A page has up to 4 MiB; use the cursor for the remaining items.',
    query: { package: PackageFilter },
    paging: true,
    returns: { 200: pageOf(Calendar) },
    errors: ['invalid_cursor'],
    handle: ({ query, page }, context) => listCalendars(context, query, page),
  }),
  endpoint({
    id: 'getCalendar',
    method: 'GET',
    path: '/calendars/{key}',
    summary: 'Read a version of a calendar.',
    params: { key: VersionRef },
    returns: { 200: Calendar },
    errors: ['not_found'],
    handle: ({ params }, context) => getCalendar(context, params.key),
  }),
  endpoint({
    id: 'retireCalendar',
    method: 'POST',
    path: '/calendars/{key}:retire',
    summary: 'Retire a calendar.',
    description:
      'A retired calendar can still be used for computations. Retiring it again changes nothing, and publishing reactivates it. With ' +
      '`dryRun` nothing is written.',
    permission: 'calendars.write',
    params: { key: TypeKey },
    query: { dryRun: QueryFlag.optional() },
    body: CalendarRetirement,
    returns: { 200: Calendar },
    errors: ['not_found', 'calendar_in_use'],
    emits: [calendarRetired],
    example: { reason: 'The office was closed.' },
    handle: ({ params, query, body }, context) =>
      retireCalendar(context, params.key, body.reason, query.dryRun ?? false),
  }),
  endpoint({
    id: 'computeWithCalendar',
    method: 'POST',
    path: '/calendars/{key}:compute',
    summary: 'Add working minutes to an instant, or count the working minutes between two instants.',
    description:
      'Follows the clocks in its time zone: a skipped hour does not count, and a repeated hour counts twice. The ' +
      '`code` of `invalid_calendar` names the reason: calendar_without_hours, or calendar_scan_limit beyond 50 ' +
      'years.',
    params: { key: VersionRef },
    body: Computation,
    returns: { 200: Computed },
    errors: ['not_found', 'invalid_calendar'],
    // The operation writes nothing, so there is no response to replay.
    idempotency: 'ignored',
    transaction: 'none',
    example: { from: '2026-04-02T16:00:00+02:00', addWorkingMinutes: 240 },
    handle: ({ params, body }, context) => computeWithCalendar(context, params.key, body),
  }),
];
