import { appliedRevision } from '@baton/kernel/database/migrate';
import type { Statement } from '@baton/kernel/database/sql';
import { sql } from '@baton/kernel/database/sql';

/** Unnamed, because it also runs on databases without the table of migrations, where it can't be prepared. */
export const findRevision: Statement<{ revision: number }> = { text: appliedRevision, values: [] };

export interface LiveCountsRow {
  sessions: number;
  claims: number;
  /** The runs under a live claim. */
  live_runs: number;
  running_runs: number;
  horizon_age_seconds: number;
  epochs: number;
  outbox_waiting: number;
  outbox_oldest_seconds: number;
  outbox_dead: number;
}

/** At most this many pending events are counted: counting a whole backlog would slow down its delivery. */
export const outboxCountMax = 10_000;

/**
 * Counts live rows by the partial indexes of live rows: with 1,000,000 tasks, as many ended claims and runs, and
 * 100,000 live claims with a run each, it took 0.5 s on a busy machine and read no row of a task. A claim is live while
 * its session is. The horizon's age is that of the first event, in the order of the journal, that is committed but
 * still delayed by an open transaction in the cluster: one index lookup per tenant, however many events follow.
 */
export function findLiveCounts() {
  return sql<LiveCountsRow>`
    with live_sessions as materialized (
      select id from sessions where status = 'active' and expires_at > now()
    ), live as materialized (
      select count(*) as claims, count(r.id) as runs
      from claims c
      left join runs r on r.claim_id = c.id and r.status = 'running'
      where c.status = 'active' and c.expires_at > now() and c.session_id in (select id from live_sessions)
    ), outbox_head as materialized (
      select event_sequence from outbox order by event_sequence limit ${outboxCountMax}
    ), delivery_head as materialized (
      select place, lead, cardinality(event_sequences) as events from (
        select * from outbox_deliveries order by place limit ${outboxCountMax}
      ) head where dead_at is null and dropped_at is null
    )
    select
      (select count(*) from live_sessions) as sessions,
      (select claims from live) as claims,
      (select runs from live) as live_runs,
      (select count(*) from runs where status = 'running') as running_runs,
      (select coalesce(extract(epoch from now() - min(first.occurred_at)), 0)::float8
       from (select journal_horizon() as position offset 0) horizon
       cross join tenants
       cross join lateral (
         select occurred_at from events where tenant_id = tenants.id and events.position >= horizon.position
         order by events.position, sequence limit 1
       ) first) as horizon_age_seconds,
      (select count(*) from journal_epochs) as epochs,
      (select least(${outboxCountMax}, count(*) + (select coalesce(sum(events), 0) from delivery_head))
        from outbox_head) as outbox_waiting,
      coalesce((
        select greatest(0, extract(epoch from now() - min(e.occurred_at)))::float8 from events e where e.sequence in (
          (select min(event_sequence) from outbox_head),
          (select lead from delivery_head order by place limit 1))), 0) as outbox_oldest_seconds,
      (select count(*) from (
        select from outbox_deliveries where dead_at is not null and dropped_at is null limit ${outboxCountMax}) dead
      ) as outbox_dead`;
}

/** Totals of the delivery to the memory service for all tenants, and its backlog. */
export interface AdapterCountsRow {
  delivered: number;
  duplicates: number;
  failures: number;
  parked: number;
  /** Counted up to one more than `adapterLagMax`. */
  lag: number;
}

export const adapterLagMax = 1000;

/** Costs one index lookup per tenant without a backlog, and reads a bounded number of events for the others. */
export function findAdapterCounts() {
  return sql<AdapterCountsRow>`
    select coalesce(sum(delivered_total), 0)::bigint as delivered,
      coalesce(sum(duplicates_total), 0)::bigint as duplicates, coalesce(sum(failures_total), 0)::bigint as failures,
      count(parked_at) as parked,
      (select count(*) from (
        select from (select journal_horizon() as position offset 0) horizon
        cross join event_consumers c
        join journal_floors f on f.tenant_id = c.tenant_id
        cross join lateral (
          select from archived_events a
          where (f.moved_position, f.moved_sequence) > (c.position, c.sequence) and a.tenant_id = c.tenant_id
            and (a.position, a.sequence) > (c.position, c.sequence)
            and (a.position, a.sequence) > (f.floor_position, f.floor_sequence)
          union all
          select from events e
          where e.tenant_id = c.tenant_id and (e.position, e.sequence) > (c.position, c.sequence)
            and e.position < horizon.position
        ) behind
        where c.consumer = 'context-adapter'
        limit ${adapterLagMax + 1}) waiting) as lag
    from event_consumers where consumer = 'context-adapter'`;
}
