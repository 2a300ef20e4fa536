import { queryBuilder } from '@baton/kernel/database/db';
import { type ListOrder, matching, pageQuery } from '@baton/kernel/database/list';
import type { RowOf } from '@baton/kernel/database/row';
import { sql } from '@baton/kernel/database/sql';
import type { Page } from '@baton/kernel/http/paging';
import type { CalendarSpec } from '@baton/process-engine/calendars/calendar';
import type { VersionRef } from '@baton/values/keys';
import type { Tables } from '../../service/schema.ts';
import type { PackageLink } from '../package-link.ts';
import type { CalendarRow } from './calendar.ts';

type KeyRow = RowOf<Tables['calendars'], { package: PackageLink | null }>;

export interface NewVersion {
  id: string;
  tenantId: string;
  key: string;
  calendarHash: string;
  spec: CalendarSpec;
  provisionalYears: readonly number[];
  createdBy: string;
}

/**
 * Inserts a key that the tenant doesn't have, before its first version; returns no row if the key exists. A concurrent
 * insert of the same key waits for the commit.
 */
export function insertCalendarKey({ tenantId, key, id }: Pick<NewVersion, 'tenantId' | 'key' | 'id'>) {
  return sql<{ version: number }>`
    insert into calendars (tenant_id, key, id, version, created_at) values (${tenantId}, ${key}, ${id}, 1, now())
    on conflict (tenant_id, key) do nothing
    returning version`;
}

/** Locks a key; read its versions in a later statement. */
export function lockCalendarKey(tenantId: string, key: string) {
  return sql`select from calendars where tenant_id = ${tenantId} and key = ${key} for update`;
}

/** Writes a version under the lock of its key. */
export function insertCalendarVersion(made: NewVersion & { version: number }) {
  return sql`
    insert into calendar_versions (id, tenant_id, key, version, calendar_hash, spec, provisional_years, created_by,
      created_at)
    select ${made.id}, tenant_id, key, ${made.version}, ${made.calendarHash}, ${JSON.stringify(made.spec)},
      ${made.provisionalYears}, ${made.createdBy}, now()
    from calendars where tenant_id = ${made.tenantId} and key = ${made.key}`;
}

/** Makes a version the newest of its key. */
export function updateNewestVersion(tenantId: string, key: string, newest: { id: string; version: number }) {
  return sql`
    update calendars set id = ${newest.id}, version = ${newest.version}, created_at = now()
    where tenant_id = ${tenantId} and key = ${key}`;
}

export function updateCalendarToRetired(tenantId: string, key: string, by: string, reason: string) {
  return sql`
    update calendars set status = 'retired', retired_at = now(), retired_by = ${by}, retired_reason = ${reason}
    where tenant_id = ${tenantId} and key = ${key}`;
}

export function updateCalendarToActive(tenantId: string, key: string) {
  return sql`
    update calendars set status = 'active', retired_at = null, retired_by = null, retired_reason = null
    where tenant_id = ${tenantId} and key = ${key}`;
}

/** The first non-retired processes whose latest version uses a calendar, and the total number. */
export function findProcessesOfCalendar(tenantId: string, key: string, namedMax: number) {
  return sql<{ key: string; total: number }>`
    select r.key, count(*) over ()::integer as total
    from process_references r
    join process_definitions d on d.tenant_id = r.tenant_id and d.key = r.key and d.is_latest and d.status = 'active'
    where r.tenant_id = ${tenantId} and r.kind = 'calendar' and r.name = ${key}
    order by r.key
    limit ${namedMax}`;
}

/** The requested version, or the newest one. */
export function findCalendar(tenantId: string, { key, version }: VersionRef) {
  return sql<CalendarRow>`
    select v.*, c.version as latest_version, c.status, c.retired_at, c.retired_by, c.retired_reason, c.package
    from calendars c join calendar_versions v on v.tenant_id = c.tenant_id and v.key = c.key
    where c.tenant_id = ${tenantId} and c.key = ${key} and v.version = coalesce(${version}::integer, c.version)`;
}

/** The requested version, or the newest one. Omits the document, which is read separately unless it is cached. */
export function findCalendarId(tenantId: string, { key, version }: VersionRef) {
  return sql<{ id: string }>`
    select v.id from calendars c join calendar_versions v on v.tenant_id = c.tenant_id and v.key = c.key
    where c.tenant_id = ${tenantId} and c.key = ${key} and v.version = coalesce(${version}::integer, c.version)`;
}

/** The newest versions of these keys. */
export function findNewestIds(tenantId: string, keys: readonly string[]) {
  return sql<{ key: string; id: string }>`
    select v.key, v.id from calendars c
    join calendar_versions v on v.tenant_id = c.tenant_id and v.key = c.key and v.version = c.version
    where c.tenant_id = ${tenantId} and c.key = any (${keys}::text[])`;
}

export function findCalendarSpec(tenantId: string, id: string) {
  return sql<{ spec: CalendarSpec }>`
    select spec from calendar_versions where id = ${id} and tenant_id = ${tenantId}`;
}

const build = queryBuilder<{ calendars: KeyRow; calendar_versions: CalendarRow }>();

const newestFirst: ListOrder<CalendarRow> = {
  cursor: 'calendars',
  columns: { created_at: 'timestamp', id: 'uuid' },
  direction: 'desc',
  table: 'calendars',
};

/** The newest version of each key. */
export function findCalendars(tenantId: string, packageKey: string | undefined, page: Page) {
  const query = build
    .selectFrom('calendars')
    .innerJoin('calendar_versions', 'calendar_versions.id', 'calendars.id')
    .selectAll('calendar_versions')
    .select(['calendars.version as latest_version', 'calendars.status'])
    .select(['calendars.retired_at', 'calendars.retired_by', 'calendars.retired_reason'])
    .select('calendars.package')
    .where('calendars.tenant_id', '=', tenantId);
  return pageQuery(matching(query, { 'calendars.package_key': packageKey }), newestFirst, page);
}
