import type { Statement } from '@baton/kernel/sql';

/** Unnamed: they run once per connection, also before the schema is there. */
const statement = <Row>(text: string, values: readonly unknown[] = []): Statement<Row> => ({ text, values });

/** Which cluster this is: its system identifier, and the timeline that a promotion or a point-in-time restore changes. */
export const findCluster = statement<{ cluster: string }>(`
  select system_identifier || '/' || substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8) as cluster
  from pg_control_system()`);

export interface EpochRow {
  cluster: string | null;
  /** Whether an event lies at a position that no transaction of this cluster has reached. */
  is_behind: boolean;
}

/** Looked for only where the cluster is unknown. The newest event of every tenant comes from the end of the index. */
const epochState = `
  select cluster, ($1::text is null or cluster is null) and exists (
    select from tenants t
    cross join lateral (
      select position from events where tenant_id = t.id order by position desc limit 1
    ) newest
    where newest.position >= position_offset + pg_snapshot_xmax(pg_current_snapshot())::text::bigint) as is_behind
  from journal_epoch`;

export const findEpoch = (cluster: string | null) => statement<EpochRow>(epochState, [cluster]);

/** The same, locked against others that raise the offset. */
export const lockEpoch = (cluster: string | null) =>
  statement<EpochRow>(`${epochState} for update of journal_epoch`, [cluster]);

/**
 * Waits until no transaction is left that wrote events with the old offset. Inserts wait for this lock before their
 * statement takes its snapshot, so they read the new one.
 */
export const lockJournal = statement<never>('lock table events in exclusive mode');

export const updateCluster = (cluster: string | null) =>
  statement<never>('update journal_epoch set cluster = $1', [cluster]);

/** @param gap how far above the highest known position the new positions begin */
export function updateOffset(cluster: string | null, gap: number) {
  return statement<{ position_offset: number }>(
    `update journal_epoch set cluster = coalesce($1, cluster), position_offset = $2 + greatest(position_offset, (
       select max(newest.position) from tenants t
       cross join lateral (
         select position from events where tenant_id = t.id order by position desc limit 1
       ) newest))
     returning position_offset`,
    [cluster, gap],
  );
}

export const begin = statement<never>('begin');
export const commit = statement<never>('commit');
export const rollback = statement<never>('rollback');
