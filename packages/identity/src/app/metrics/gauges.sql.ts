import { sql } from '@baton/kernel/database/sql';

/** The number of events that readers can't see yet, and the age of the oldest write that isn't finished. */
export function findJournalLag() {
  return sql<{ unsettled_events: number; writer_seconds: number; epochs: number }>`
    select greatest(0, (select case when is_called then last_value else 0 end from events_sequence_seq)
        - journal_settled()) as unsettled_events,
      coalesce((
        select max(extract(epoch from clock_timestamp() - writers.xact_start))::float8
        from pg_locks locks join pg_stat_activity writers on writers.pid = locks.pid
        where locks.locktype = 'advisory' and locks.objsubid = 1 and locks.classid::bigint >> 16 = 19022
          and locks.database = (select oid from pg_database where datname = current_database())
      ), 0) as writer_seconds,
      (select count(*) from journal_epochs) as epochs`;
}
