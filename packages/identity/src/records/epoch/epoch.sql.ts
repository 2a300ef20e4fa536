import type { Statement } from '@baton/kernel/database/sql';
import { sql } from '@baton/kernel/database/sql';

/** Not a prepared statement, because it runs only once per connection, and may run before the schema exists. */
export const enterJournalEpoch: Statement<{ reason: string | null }> = {
  text: 'select case when not journal_epoch_is_current() then enter_journal_epoch() end as reason',
  values: [],
};

export interface PlaceRow {
  /** Whether the numbers belong to the running server. */
  is_current: boolean;
  /** The highest number that was drawn. */
  head: number;
  /**
   * The last event of this history before the given position; null if the position itself can belong to this history.
   */
  resume: number | null;
}

/**
 * Whether `after` is a number of this history. A position between two epochs is not, so the reader continues after the
 * earlier epoch. Above the head, even events of the current epoch may have been different, so such a reader reads
 * everything again.
 */
export function findPlace(after: number) {
  return sql<PlaceRow>`
    select journal_epoch_is_current() as is_current, head, case
      when ${after} > head
        then (select coalesce(max(previous_end), 0) from journal_epochs
              where first_sequence = (select max(first_sequence) from journal_epochs))
      else (select previous_end from journal_epochs where previous_end < ${after} and ${after} < first_sequence
            order by first_sequence limit 1) end as resume
    from (select coalesce(pg_sequence_last_value('events_sequence_seq'), 0) as head) numbers`;
}

export interface LastEpochRow {
  /** The number of epochs, not counting the first. */
  epochs: number;
  reason: string | null;
}

export function findLastEpoch() {
  return sql<LastEpochRow>`
    select (select count(*) from journal_epochs) as epochs,
      (select reason from journal_epochs order by first_sequence desc limit 1) as reason`;
}
