import { sql } from '@baton/kernel/database/sql';

export interface LastEpochRow {
  /** The number of epochs, not counting the first one. */
  epochs: number;
  began_at: string;
  reason: string;
  is_recent: boolean;
}

/** The current epoch of the journal; returns no row during the first one. */
export function findLastEpoch() {
  return sql<LastEpochRow>`
    select (select count(*) from journal_epochs) as epochs, began_at, reason,
      began_at > now() - interval '1 day' as is_recent
    from journal_epochs order by first_position desc limit 1`;
}
