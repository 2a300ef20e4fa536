import { appliedRevision } from '@baton/kernel/migrate';
import type { Statement } from '@baton/kernel/sql';
import { sql } from '@baton/kernel/sql';

/** Unnamed, because it also runs on databases without the table of migrations, where it can't be prepared. */
export const findRevision: Statement<{ revision: number }> = { text: appliedRevision, values: [] };

export interface LiveCountsRow {
  sessions: number;
  claims: number;
  runs: number;
  orphaned_runs: number;
  horizon_age_seconds: number;
  epochs: number;
  outbox_waiting: number;
  outbox_dead: number;
}

/** Counting stops here: counting a whole backlog would slow down its delivery. */
export const outboxCountMax = 10_000;

/**
 * What is live now, from the partial indexes of the live rows. The horizon's age is that of the first event, in the
 * order of the journal, that is committed but still held back by a transaction under way somewhere in the cluster: one
 * look into the index for each tenant, however many events follow.
 */
export function findLiveCounts() {
  return sql<LiveCountsRow>`
    select
      (select count(*) from sessions where status = 'active' and expires_at > now()) as sessions,
      (select count(*) from claims where status = 'active' and expires_at > now()) as claims,
      (select count(*) from runs where status = 'running') as runs,
      (select count(*) from runs r join sessions s on s.id = r.session_id join tasks t on t.id = r.task_id
        where r.status = 'running' and (t.active_claim_id is distinct from r.claim_id or t.lease_expires_at <= now()
          or s.status <> 'active' or s.expires_at <= now())) as orphaned_runs,
      (select coalesce(extract(epoch from now() - min(first.occurred_at)), 0)::float8
       from (select journal_horizon() as position offset 0) horizon
       cross join tenants
       cross join lateral (
         select occurred_at from events where tenant_id = tenants.id and events.position >= horizon.position
         order by events.position, sequence limit 1
       ) first) as horizon_age_seconds,
      (select count(*) from journal_epochs) as epochs,
      (select count(*) from (select from outbox limit ${outboxCountMax}) counted) as outbox_waiting,
      (select count(*) from outbox where attempts > 0 and available_at = 'infinity') as outbox_dead`;
}
