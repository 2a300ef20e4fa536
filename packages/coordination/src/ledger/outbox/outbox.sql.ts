import type { RowOf } from '@baton/kernel/row';
import { sql } from '@baton/kernel/sql';
import type { Tables } from '../../service/schema.ts';
import type { EventRow } from '../journal/event.ts';

// The outbox is empty at one moment and full at the next, so its statistics are wrong most of the time. `deleteDue` and
// `lockDue` are written so that only an index scan looks cheap: with conditions that look rare (`is null`) or joins over
// an unknown limit, the planner sorted the whole table for each batch.

/**
 * Deletes what is due, where nothing consumes it: one statement per batch. It neither waits for writers nor makes them
 * wait, because their rows are new; rows that other workers have locked are skipped.
 * @param afterSequence where to begin: what lies before is mostly deleted, but stays in the index while any old
 * transaction of the cluster is open
 */
export function deleteDue(rowsMax: number, afterSequence: number) {
  return sql<{ handled: number; newest: number | null }>`
    with due as materialized (
      select event_sequence from outbox
      where event_sequence > ${afterSequence} and available_at <= now()
      order by event_sequence limit ${rowsMax}
      for update skip locked
    ), gone as (
      delete from outbox where event_sequence = any (array(select event_sequence from due))
      returning event_sequence
    )
    select count(*) as handled, max(event_sequence) as newest from gone`;
}

export type DueEventRow = EventRow & Pick<RowOf<Tables['outbox']>, 'attempts'>;

export interface Places {
  rowsMax: number;
  /** How many of them may have been tried before. */
  againMax: number;
}

/**
 * Takes what is due for `lockSeconds`, first what is to be tried again: no transaction stays open while it is delivered,
 * and what a worker that died had taken becomes due again.
 */
export function lockDue({ rowsMax, againMax }: Places, afterSequence: number, lockSeconds: number) {
  return sql<DueEventRow>`
    with again as materialized (
      select event_sequence from outbox
      where attempts > 0 and available_at <= now()
      order by available_at limit ${againMax}
      for update skip locked
    ), first as materialized (
      select event_sequence from outbox
      where event_sequence > ${afterSequence} and attempts = 0
      order by event_sequence limit ${rowsMax} - (select count(*) from again)
      for update skip locked
    ), taken as (
      update outbox set attempts = attempts + 1, available_at = now() + make_interval(secs => ${lockSeconds})
      where event_sequence = any (array(select event_sequence from again union all select event_sequence from first))
      returning event_sequence, attempts
    )
    select e.*, taken.attempts from taken join events e on e.sequence = taken.event_sequence
    order by e.position, e.sequence`;
}

export function deleteDelivered(sequences: readonly number[]) {
  return sql`delete from outbox where event_sequence = any (${sequences}::bigint[])`;
}

export interface DeliveryFailure {
  sequence: number;
  /** Which attempt failed: one that was taken again meanwhile is left to who took it. */
  attempts: number;
  error: string;
}

/** @returns a row for each event that is set aside for good */
export function updateFailedDeliveries(
  failures: readonly DeliveryFailure[],
  retry: { attemptsMax: number; baseSeconds: number; maxSeconds: number },
) {
  return sql<{ event_sequence: number }>`
    with failed as (
      update outbox o
      set last_error = f.error,
        available_at = case when o.attempts >= ${retry.attemptsMax} then 'infinity' else
          now() + make_interval(secs =>
            least(${retry.maxSeconds}, ${retry.baseSeconds} * power(2, least(o.attempts, 30) - 1))) end,
        dead_at = case when o.attempts >= ${retry.attemptsMax} then now() end
      from jsonb_to_recordset(${JSON.stringify(failures)}::jsonb) as f (sequence bigint, attempts integer, error text)
      where o.event_sequence = f.sequence and o.attempts = f.attempts
      returning o.event_sequence, o.dead_at
    )
    select event_sequence from failed where dead_at is not null`;
}
