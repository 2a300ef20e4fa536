import { sql } from '@baton/kernel/database/sql';

/** Lets only one process remove events at a time; returns no row while another process is removing events. */
export function lockFloor() {
  return sql<{ floor: number }>`select floor from journal_floor for update skip locked`;
}

/**
 * The last of the consecutive oldest events that are all older than `days`. A younger event ends the range, so that a
 * reader that starts at the floor misses no existing event.
 */
export function findLastOldEvent(floor: number, settled: number, days: number, eventsMax: number) {
  return sql<{ through: number | null; kept_since: string }>`
    with bound as (
      select now() - ${days} * interval '1 day' as kept_since
    ), oldest as (
      select sequence, occurred_at from events where sequence > ${floor} and sequence <= ${settled}
      order by sequence limit ${eventsMax}
    ), young as (
      select min(sequence) as first from oldest, bound where occurred_at >= kept_since
    )
    select (select max(sequence) from oldest, young where first is null or sequence < first) as through, kept_since
    from bound`;
}

/** Allows this transaction to remove older rows; the table's trigger checks it. */
export function setRemovalAllowed(keptSince: string) {
  return sql`select set_config('baton.journal_kept_since', ${keptSince}, true)`;
}

export function updateFloor(through: number) {
  return sql`update journal_floor set floor = ${through} where floor < ${through}`;
}

export function deleteEvents(floor: number, through: number) {
  return sql`delete from events where sequence > ${floor} and sequence <= ${through}`;
}
