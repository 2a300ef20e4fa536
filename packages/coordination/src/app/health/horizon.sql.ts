import { sql } from '@baton/kernel/database/sql';

export interface HolderRow {
  xid: number;
  /** Null for a prepared transaction, which has no process. */
  pid: number | null;
  database: string | null;
  /** Null if the role may not see the transactions of others. */
  age_seconds: number | null;
}

/**
 * The oldest transaction of the cluster that can still write. Every role can see who holds the lock on its number; only
 * the same role and members of pg_read_all_stats can see when it started.
 */
export function findHorizonHolder() {
  return sql<HolderRow>`
    with oldest as materialized (
      select pg_snapshot_xmin(pg_current_snapshot())::text::bigint & 4294967295 as xid
    )
    select xid, held.pid, coalesce(process.datname, prepared.database)::text as database,
      extract(epoch from clock_timestamp() - coalesce(process.xact_start, prepared.prepared))::float8 as age_seconds
    from oldest
    join pg_locks held on held.locktype = 'transactionid' and held.mode = 'ExclusiveLock' and held.granted
      and held.transactionid::text::bigint = xid
    left join pg_stat_activity process on process.pid = held.pid
    left join pg_prepared_xacts prepared on held.pid is null and prepared.transaction::text::bigint = xid
    limit 1`;
}
