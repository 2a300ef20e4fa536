import { type ItemPage, listPage } from '@baton/kernel/database/list';
import type { Page } from '@baton/kernel/http/paging';
import { eventText } from '@baton/values/event-text';
import { newId } from '@baton/values/ids';
import type { VersionRef } from '@baton/values/keys';
import { emit } from '../../ledger/journal/journal.ts';
import { checkDocument, documentBytesMax } from '../../service/documents.ts';
import { canonicalHash } from '../../service/durable-text/canonical.ts';
import { pageWithinBytes } from '../byte-pages.ts';
import type { Context } from '../context.ts';
import { fail } from '../errors.ts';
import { type Calendar, type CalendarRequest, type CalendarRow, calendarOf } from './calendar.ts';
import { parseCalendarSpec } from './calendar-spec.ts';
import { calendarPublished, calendarRestored, calendarRetired } from './calendars.events.ts';
import {
  findCalendar,
  findCalendarId,
  findCalendars,
  findProcessesOfCalendar,
  insertCalendarKey,
  insertCalendarVersion,
  lockCalendarKey,
  type NewVersion,
  updateCalendarToActive,
  updateCalendarToRetired,
  updateNewestVersion,
} from './calendars.sql.ts';

/** Enough for a document of at most 64 KiB and the remaining fields. */
const calendarBytesMax = documentBytesMax + 4096;

/**
 * Publishes the next version of a calendar; versions never change. Content that equals the newest version creates no
 * new version. In both cases a retired key becomes active again. See docs/reference/workspaces.md#calendars.
 * @returns the newest version, and whether it is new
 * @throws Refusal `payload_too_large`, `invalid_calendar`
 */
export async function publishCalendar(
  context: Context,
  { key, spec: sent }: CalendarRequest,
): Promise<{ calendar: Calendar; isNew: boolean }> {
  checkDocument(sent, { field: 'spec' });
  const spec = parseCalendarSpec(sent);
  const { db, tenantId, caller } = context;
  const made: NewVersion = {
    id: newId(),
    tenantId,
    key,
    calendarHash: canonicalHash(spec),
    spec,
    provisionalYears: spec.years.filter(({ provisional }) => provisional).map(({ year }) => year),
    createdBy: caller.principalId,
  };
  const isFirst = (await db.row(insertCalendarKey(made))) !== undefined;
  const before = isFirst ? undefined : await lockCalendar(context, key);
  const isNew = before?.calendar_hash !== made.calendarHash;
  if (isNew) await insertNextVersion(context, made, before?.version ?? null);
  if (before?.status === 'retired') await db.run(updateCalendarToActive(tenantId, key));
  const calendar = await getCalendar(context, { key, version: null });
  const { latestVersion } = calendar;
  if (before?.status === 'retired')
    emit(context, calendarRestored, { entityId: calendar.id }, { key, latestVersion });
  return { calendar, isNew };
}

async function insertNextVersion(
  context: Context,
  made: NewVersion,
  previousVersion: number | null,
): Promise<void> {
  const { db, tenantId } = context;
  const { id, key, calendarHash, spec, provisionalYears } = made;
  const version = (previousVersion ?? 0) + 1;
  await db.run(insertCalendarVersion({ ...made, version }));
  if (previousVersion !== null) await db.run(updateNewestVersion(tenantId, key, { id, version }));
  const years = spec.years.map(({ year }) => year);
  const said = {
    key,
    version,
    calendarHash,
    previousVersion,
    years,
    provisionalYears: [...provisionalYears],
  };
  emit(context, calendarPublished, { entityId: id }, said);
}

/** A page of the newest versions. @throws Refusal `invalid_cursor` */
export function listCalendars(
  { db, tenantId }: Context,
  query: { package?: string | undefined },
  page: Page,
): Promise<ItemPage<Calendar>> {
  const read = (part: Page) => listPage(db, findCalendars(tenantId, query.package, part), calendarOf);
  return pageWithinBytes(page, calendarBytesMax, read);
}

/** @throws Refusal `not_found` */
export async function getCalendar({ db, tenantId }: Context, ref: VersionRef): Promise<Calendar> {
  const row = await db.row(findCalendar(tenantId, ref));
  return row === undefined ? fail('not_found') : calendarOf(row);
}

/**
 * Requires the calendar that a workspace refers to. It may be retired, because a retired one keeps its time zone.
 * @throws Refusal `not_found` {calendarKey}
 */
export async function requireCalendar({ db, tenantId }: Context, calendarKey: string): Promise<void> {
  const found = await db.row(findCalendarId(tenantId, { key: calendarKey, version: null }));
  if (found === undefined) fail('not_found', { calendarKey });
}

/**
 * Retires a calendar. Existing plans still compute with it, but new work cannot use it. Repeating the request changes
 * nothing.
 * @param isDryRun returns the calendar unchanged and writes nothing
 * @throws Refusal `not_found`, `calendar_in_use` while a process uses it
 */
export async function retireCalendar(
  context: Context,
  key: string,
  reason: string,
  isDryRun: boolean,
): Promise<Calendar> {
  const { db, tenantId, caller } = context;
  const row = await lockCalendar(context, key);
  if (row.status === 'retired') return calendarOf(row);
  const processes = await db.rows(findProcessesOfCalendar(tenantId, key, processesNamedMax));
  const [first] = processes;
  if (first !== undefined)
    fail('calendar_in_use', {
      calendar: key,
      processes: processes.map((one) => one.key),
      total: first.total,
    });
  if (isDryRun) return calendarOf(row);
  await db.run(updateCalendarToRetired(tenantId, key, caller.principalId, reason));
  const said = { key, latestVersion: row.version, reason: eventText(reason) };
  emit(context, calendarRetired, { entityId: row.id }, said);
  return getCalendar(context, { key, version: null });
}

/** Maximum number of processes listed in a refusal. */
const processesNamedMax = 50;

/** Locks a calendar against changes until the commit; a missing one cannot be created until then. */
export async function holdCalendar({ db, tenantId }: Context, key: string): Promise<void> {
  await db.run(lockCalendarKey(tenantId, key));
}

/** Returns the newest version of a calendar, under the lock of its key. @throws Refusal `not_found` */
async function lockCalendar({ db, tenantId }: Context, key: string): Promise<CalendarRow> {
  await db.run(lockCalendarKey(tenantId, key));
  return (
    (await db.row(findCalendar(tenantId, { key, version: null }))) ?? fail('not_found', { calendar: key })
  );
}
