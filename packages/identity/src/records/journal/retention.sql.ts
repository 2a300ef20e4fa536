import { sql } from '@baton/kernel/sql';

/** Held by the one process that removes; no row while another one does. */
export function lockFloor() {
  return sql<{ floor: number }>`select floor from journal_floor for update skip locked`;
}

/**
 * The last of the oldest events that are all older than `days`. One that is younger keeps all behind it: a reader that
 * starts at the floor then misses nothing that is still there.
 */
export function lastOldEvent(floor: number, settled: number, days: number, eventsMax: number) {
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

/** Says to the table's trigger that this transaction removes what is older, until it ends. */
export function allowRemoving(keptSince: string) {
  return sql`select set_config('baton.journal_kept_since', ${keptSince}, true)`;
}

export function raiseFloor(through: number) {
  return sql`update journal_floor set floor = ${through} where floor < ${through}`;
}

export function deleteEvents(floor: number, through: number) {
  return sql`delete from events where sequence > ${floor} and sequence <= ${through}`;
}
