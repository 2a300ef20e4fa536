import { sql } from '@baton/kernel/database/sql';

// The outbox is empty at one moment and full at the next, so its statistics are usually wrong. The statements are
// written so that only an index scan looks cheap: with conditions that look selective (`is null`) or joins with an
// unknown limit, the planner sorted the whole table for each batch.

export interface ScannedRow {
  handled: number;
  /** The last row that was found, if any. */
  newest: number | null;
}

export interface Distribution {
  readonly rowsMax: number;
  /** The maximum number of events of one delivery, unless its sink declares fewer. */
  readonly eventsMax: number;
}

/**
 * Moves the oldest rows of the outbox into the queues of the declared sinks; without a sink, the rows are only deleted.
 * This happens in one transaction. Each delivery has events of one tenant in journal order. The outbox stays empty
 * regardless of the length of a sink's queue. Because the rows that it writes are new, it neither waits for writers nor
 * makes them wait; rows that other workers have locked are skipped. If a sink has several filters, the event is moved
 * if one of them matches: workers that have not been restarted yet have the old filter. A filter that no worker has
 * declared for ten minutes counts only if the sink has no other.
 * @param afterSequence the row after which to start: earlier rows are mostly deleted, but stay in the index while any
 * old transaction in the cluster is open
 */
export function moveToSinks({ rowsMax, eventsMax }: Distribution, afterSequence: number) {
  return sql<ScannedRow>`
    with due as materialized (
      select event_sequence, tenant_id from outbox where event_sequence > ${afterSequence}
      order by event_sequence limit ${rowsMax}
      for update skip locked
    ), gone as (
      delete from outbox where event_sequence = any (array(select event_sequence from due))
    ), declared as materialized (
      select name, tenants, type_patterns, events_max, seen_at < now() - interval '10 minutes' as is_old,
        min(now() - seen_at) over (partition by name) < interval '10 minutes' as is_in_use
      from outbox_sinks
    ), numbered as materialized (
      select s.name, due.tenant_id, e.position, e.sequence,
        (row_number() over (partition by s.name, due.tenant_id order by e.position, e.sequence) - 1) / s.events_max as part
      from (select name, coalesce(min(events_max), ${eventsMax}::integer) as events_max from declared group by name) s cross join due join events e on e.sequence = due.event_sequence
      where exists (
        select from declared f
        where f.name = s.name and not (f.is_old and f.is_in_use)
          and (f.tenants is null or due.tenant_id = any (f.tenants))
          and (f.type_patterns is null or e.type like any (f.type_patterns)))
    ), made as (
      insert into outbox_deliveries (lead, sink, tenant_id, event_sequences, oldest_position)
      select (array_agg(sequence order by position, sequence))[1], name, tenant_id,
        array_agg(sequence order by position, sequence), min(position)
      from numbered group by name, tenant_id, part order by min(sequence)
    )
    select count(*) as handled, max(event_sequence) as newest from due`;
}

/** Deletes the deliveries of discarded sinks. */
export function deleteDiscarded(sinks: readonly string[], rowsMax: number) {
  return sql<{ deleted: number; events: number }>`
    with gone as (
      delete from outbox_deliveries where ctid = any (array(
        select ctid from outbox_deliveries where sink = any (${sinks}::text[]) limit ${rowsMax} for update skip locked))
      returning cardinality(event_sequences) as events
    )
    select count(*) as deleted, coalesce(sum(events), 0) as events from gone`;
}

/** Deletes deliveries that were dropped at least this many seconds ago. */
export function deleteDropped(ageSeconds: number, rowsMax: number) {
  return sql`
    delete from outbox_deliveries where ctid = any (array(
      select ctid from outbox_deliveries
      where dropped_at is not null and dropped_at < now() - make_interval(secs => ${ageSeconds})
      order by dropped_at limit ${rowsMax} for update skip locked))`;
}

/** The names of the sinks with undelivered events, by one index lookup each. */
export function findSinksInUse() {
  return sql<{ sink: string }>`
    with recursive fresh as (
      (select sink from outbox_deliveries where is_new order by sink limit 1)
      union all
      select (select d.sink from outbox_deliveries d where d.is_new and d.sink > fresh.sink order by d.sink limit 1)
      from fresh where fresh.sink is not null
    ), again as (
      (select sink from outbox_deliveries where not is_new order by sink limit 1)
      union all
      select (select d.sink from outbox_deliveries d where not d.is_new and d.sink > again.sink order by d.sink limit 1)
      from again where again.sink is not null
    )
    select sink from fresh where sink is not null union select sink from again where sink is not null order by sink`;
}
