import type { CalendarSpec } from '@baton/process-engine/calendars/calendar';
import { CalendarDefect, orderCalendarSpec } from '@baton/process-engine/calendars/calendar-spec';
import { fail } from '../errors.ts';

/**
 * Validates a calendar and returns it in canonical order, so that equal content has an equal hash.
 * @throws Refusal `invalid_calendar` with the `code` and `path` of the problem
 */
export function parseCalendarSpec(sent: CalendarSpec): CalendarSpec {
  try {
    return orderCalendarSpec(sent);
  } catch (error) {
    if (!(error instanceof CalendarDefect)) throw error;
    return fail('invalid_calendar', { code: error.code, path: `spec.${error.path}` });
  }
}
