import { appliedRevision } from '@baton/kernel/migrate';
import type { Statement } from '@baton/kernel/sql';
import { sql } from '@baton/kernel/sql';

/** Unnamed, because it also runs on databases without the table of migrations, where it can't be prepared. */
export const findRevision: Statement<{ revision: number }> = { text: appliedRevision, values: [] };

export interface LiveCountsRow {
  sessions: number;
  claims: number;
  runs: number;
  horizon_age_seconds: number;
  outbox_waiting: number;
  outbox_dead: number;
}

/** Counting stops here: counting a whole backlog would slow down its delivery. */
export const outboxCountMax = 10_000;

/**
 * What is live now, from the partial indexes of the live rows. The horizon's age is that of the oldest event that is
 * committed but still held back by a transaction under way somewhere in the cluster.
 */
export function findLiveCounts() {
  return sql<LiveCountsRow>`
    select
      (select count(*) from sessions where status = 'active' and expires_at > now()) as sessions,
      (select count(*) from claims where status = 'active' and expires_at > now()) as claims,
      (select count(*) from runs where status = 'running') as runs,
      (select coalesce(extract(epoch from now() - min(newest.occurred_at)), 0)::float8
       from (select position, occurred_at from events order by sequence desc limit 1000) newest
       where newest.position >= (select journal_horizon())) as horizon_age_seconds,
      (select count(*) from (select from outbox limit ${outboxCountMax}) counted) as outbox_waiting,
      (select count(*) from outbox where attempts > 0 and available_at = 'infinity') as outbox_dead`;
}
