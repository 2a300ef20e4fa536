import { sql } from '@baton/kernel/database/sql';

export interface LastEpochRow {
  /** How many there have been; the first one is not counted. */
  epochs: number;
  began_at: string;
  reason: string;
  is_recent: boolean;
}

/** The present epoch of the journal; no row while it is the first one. */
export function findLastEpoch() {
  return sql<LastEpochRow>`
    select (select count(*) from journal_epochs) as epochs, began_at, reason,
      began_at > now() - interval '1 day' as is_recent
    from journal_epochs order by first_position desc limit 1`;
}
