import { sql } from '@baton/kernel/sql';
import type { EventRow } from '../journal/reading.ts';

/**
 * Ticks off what is due, where nobody waits for it: one statement per batch. Writers are never waited for, nor made to
 * wait, because their rows are new ones; other workers' rows are passed over.
 */
export function deleteDue(rowsMax: number) {
  return sql`
    with due as materialized (
      select event_sequence from outbox
      where dead_at is null and available_at <= now()
      order by available_at, event_sequence limit ${rowsMax}
      for update skip locked
    )
    delete from outbox o using due where o.event_sequence = due.event_sequence`;
}

export type DueEventRow = EventRow & { attempts: number };

/**
 * Takes what is due for `lockSeconds`: no transaction stays open while it is delivered, and what a worker that died had
 * taken becomes due again.
 */
export function takeDue(rowsMax: number, lockSeconds: number) {
  return sql<DueEventRow>`
    with due as materialized (
      select event_sequence from outbox
      where dead_at is null and available_at <= now()
      order by available_at, event_sequence limit ${rowsMax}
      for update skip locked
    ), taken as (
      update outbox o set attempts = o.attempts + 1, available_at = now() + make_interval(secs => ${lockSeconds})
      from due where o.event_sequence = due.event_sequence
      returning o.event_sequence, o.attempts
    )
    select e.*, taken.attempts from taken join events e on e.sequence = taken.event_sequence
    order by e.position, e.sequence`;
}

export function deleteDelivered(sequences: readonly number[]) {
  return sql`delete from outbox where event_sequence = any (${sequences}::bigint[])`;
}

export interface DeliveryFailure {
  sequence: number;
  error: string;
}

/** @returns a row for each event that is set aside for good */
export function noteFailures(
  failures: readonly DeliveryFailure[],
  retry: { attemptsMax: number; baseSeconds: number; maxSeconds: number },
) {
  return sql<{ event_sequence: number }>`
    with failed as (
      update outbox o
      set last_error = f.error,
        available_at = now() + make_interval(secs =>
          least(${retry.maxSeconds}, ${retry.baseSeconds} * power(2, least(o.attempts, 30) - 1))),
        dead_at = case when o.attempts >= ${retry.attemptsMax} then now() end
      from jsonb_to_recordset(${JSON.stringify(failures)}::jsonb) as f (sequence bigint, error text)
      where o.event_sequence = f.sequence
      returning o.event_sequence, o.dead_at
    )
    select event_sequence from failed where dead_at is not null`;
}
