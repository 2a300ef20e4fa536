import type { RowOf } from '@baton/kernel/database/row';
import { sql } from '@baton/kernel/database/sql';
import type { Tables } from '../../service/schema.ts';
import type { JournalPosition } from '../journal/cursor.ts';

export type FloorRow = Pick<
  RowOf<Tables['journal_floors']>,
  'archive_position' | 'archive_sequence' | 'floor_position' | 'floor_sequence'
>;

/** Every operation that moves a tenant's history or resets a consumer's cursor takes this lock first. */
export function lockFloors(tenantId: string) {
  return sql<FloorRow>`
    select archive_position, archive_sequence, floor_position, floor_sequence from journal_floors
    where tenant_id = ${tenantId} for update`;
}

/** Reads a consumer's confirmed position in the tenant's journal, inclusive; returns no row if it has no cursor. */
export function findConsumer(tenantId: string, consumer: string) {
  return sql<JournalPosition>`
    select position, sequence from event_consumers where tenant_id = ${tenantId} and consumer = ${consumer}`;
}

/** Reads the position of the slowest consumer, and the furthest position that readers can have. */
export function findSlowestConsumer(tenantId: string) {
  return sql<JournalPosition & { horizon: number }>`
    select position, sequence, journal_horizon() as horizon from event_consumers where tenant_id = ${tenantId}
    order by position, sequence limit 1`;
}

/** The first event after the archive that has not been delivered yet or is a dead letter. */
export function findUndelivered(tenantId: string) {
  return sql<JournalPosition>`
    select event_position as position, event_sequence as sequence from oldest_undelivered(${tenantId})`;
}

/** The events to archive or prune, in the order of the journal, and their number. */
export type Range = JournalPosition & { events: number };

export interface Bounds {
  /** The events up to here have already been archived or pruned. */
  readonly after: JournalPosition;
  /** The last event that may be included. */
  readonly through: JournalPosition;
  /** The first event that must remain. */
  readonly before: JournalPosition;
  /** The minimum age of the events, and of all events before them. */
  readonly minAgeSeconds: number;
  readonly eventsMax: number;
}

/**
 * Finds the last event that may be archived, before the first one that is too young; returns no row if there is none.
 */
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

/** Like `findArchivable`, for events of the archive that may be pruned; also returns the highest sequence. */
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

/** Makes everything up to here part of the archive; the rows are moved afterwards. */
export function updateArchive(tenantId: string, { position, sequence }: JournalPosition) {
  return sql`
    update journal_floors set archive_position = ${position}, archive_sequence = ${sequence}
    where tenant_id = ${tenantId} and (archive_position, archive_sequence) < (${position}, ${sequence})`;
}

/** Begins the tenant's history after this position; earlier rows are deleted afterwards. */
export function updateFloor(
  tenantId: string,
  { position, sequence, top_sequence: topSequence }: JournalPosition & { top_sequence: number },
) {
  return sql`
    update journal_floors set floor_position = ${position}, floor_sequence = ${sequence},
      floor_top_sequence = greatest(floor_top_sequence, ${topSequence}::bigint)
    where tenant_id = ${tenantId} and (floor_position, floor_sequence) < (${position}, ${sequence})`;
}
