import type { RowOf } from '@baton/kernel/database/row';
import { sql } from '@baton/kernel/database/sql';
import type { Tables } from '../../service/schema.ts';
import type { JournalPosition } from '../journal/cursor.ts';

export type FloorRow = Pick<
  RowOf<Tables['journal_floors']>,
  'archive_position' | 'archive_sequence' | 'floor_position' | 'floor_sequence'
>;

/** Locked first by all that moves a tenant's history or a consumer's cursor against it (core, section 18). */
export function lockFloors(tenantId: string) {
  return sql<FloorRow>`
    select archive_position, archive_sequence, floor_position, floor_sequence from journal_floors
    where tenant_id = ${tenantId} for update`;
}

/** How far a consumer has come in the tenant's journal, everything up to and including it; no row where it has no cursor. */
export function findConsumer(tenantId: string, consumer: string) {
  return sql<JournalPosition>`
    select position, sequence from event_consumers where tenant_id = ${tenantId} and consumer = ${consumer}`;
}

/** The same of the consumer that has come the least far, and where readers stand at most. */
export function findSlowestConsumer(tenantId: string) {
  return sql<JournalPosition & { horizon: number }>`
    select position, sequence, journal_horizon() as horizon from event_consumers where tenant_id = ${tenantId}
    order by position, sequence limit 1`;
}

/** The first event behind the archive that waits for its delivery, or was set aside; no row where none does. */
export function findUndelivered(tenantId: string) {
  return sql<JournalPosition>`
    select event_position as position, event_sequence as sequence from oldest_undelivered(${tenantId})`;
}

/** What may go, in the order of the journal, and how many events. */
export type Range = JournalPosition & { events: number };

export interface Bounds {
  /** What lies up to here has gone before. */
  readonly after: JournalPosition;
  /** The last event that may go. */
  readonly through: JournalPosition;
  /** The first event that stays. */
  readonly before: JournalPosition;
  /** Events must be this old, and all events before them too. */
  readonly minAgeSeconds: number;
  readonly eventsMax: number;
}

/** The last of the oldest events that may be archived; no row where none may. It ends before the first that is too young. */
export function findArchivable(
  tenantId: string,
  { after, through, before, minAgeSeconds, eventsMax }: Bounds,
) {
  return sql<Range>`
    with young as materialized (
      select position, sequence from (
        select position, sequence, occurred_at > now() - make_interval(secs => ${minAgeSeconds}) as is_young from events
        where tenant_id = ${tenantId} and (position, sequence) > (${after.position}, ${after.sequence})
          and (position, sequence) <= (${through.position}, ${through.sequence})
        order by position, sequence limit ${eventsMax}
      ) oldest
      where is_young order by position, sequence limit 1
    )
    select position, sequence, events from (
      select position, sequence, row_number() over (order by position, sequence) as events from events
      where tenant_id = ${tenantId} and (position, sequence) > (${after.position}, ${after.sequence})
        and (position, sequence) <= (${through.position}, ${through.sequence})
        and (position, sequence) < (${before.position}, ${before.sequence})
        and (position, sequence) < (coalesce((select position from young), ${Number.MAX_SAFE_INTEGER}::bigint),
          coalesce((select sequence from young), 0))
      order by position, sequence limit ${eventsMax}
    ) going
    order by events desc limit 1`;
}

/** The same of what may be pruned from the archive, with the highest sequence. */
export function findPrunable(tenantId: string, { after, through, before, minAgeSeconds, eventsMax }: Bounds) {
  return sql<Range & { top_sequence: number }>`
    with young as materialized (
      select position, sequence from (
        select position, sequence, occurred_at > now() - make_interval(secs => ${minAgeSeconds}) as is_young
        from archived_events
        where tenant_id = ${tenantId} and (position, sequence) > (${after.position}, ${after.sequence})
          and (position, sequence) <= (${through.position}, ${through.sequence})
        order by position, sequence limit ${eventsMax}
      ) oldest
      where is_young order by position, sequence limit 1
    )
    select position, sequence, events, top_sequence from (
      select position, sequence, row_number() over (order by position, sequence) as events,
        max(sequence) over (order by position, sequence) as top_sequence
      from archived_events
      where tenant_id = ${tenantId} and (position, sequence) > (${after.position}, ${after.sequence})
        and (position, sequence) <= (${through.position}, ${through.sequence})
        and (position, sequence) < (${before.position}, ${before.sequence})
        and (position, sequence) < (coalesce((select position from young), ${Number.MAX_SAFE_INTEGER}::bigint),
          coalesce((select sequence from young), 0))
      order by position, sequence limit ${eventsMax}
    ) going
    order by events desc limit 1`;
}

/** Makes everything up to here a part of the archive; it is moved afterwards. */
export function updateArchive(tenantId: string, { position, sequence }: JournalPosition) {
  return sql`
    update journal_floors set archive_position = ${position}, archive_sequence = ${sequence}
    where tenant_id = ${tenantId} and (archive_position, archive_sequence) < (${position}, ${sequence})`;
}

/** Begins the tenant's history after this place; what lies before is deleted afterwards. */
export function updateFloor(
  tenantId: string,
  { position, sequence, top_sequence: topSequence }: JournalPosition & { top_sequence: number },
) {
  return sql`
    update journal_floors set floor_position = ${position}, floor_sequence = ${sequence},
      floor_top_sequence = greatest(floor_top_sequence, ${topSequence}::bigint)
    where tenant_id = ${tenantId} and (floor_position, floor_sequence) < (${position}, ${sequence})`;
}
