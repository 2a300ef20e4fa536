import { sql } from '@baton/kernel/sql';

// The outbox is empty at one moment and full at the next, so its statistics are wrong most of the time. The statements are
// written so that only an index scan looks cheap: with conditions that look rare (`is null`) or joins over an unknown limit,
// the planner sorted the whole table for each batch.

export interface ScannedRow {
  handled: number;
  /** The last of the rows that were found, if any. */
  newest: number | null;
}

/**
 * Deletes the oldest rows, where nothing consumes them: one statement per batch. It neither waits for writers nor makes
 * them wait, because their rows are new; rows that other workers have locked are skipped.
 * @param afterSequence where to begin: what lies before is mostly deleted, but stays in the index while any old
 * transaction of the cluster is open
 */
export function deleteOldest(rowsMax: number, afterSequence: number) {
  return sql<ScannedRow>`
    with due as materialized (
      select event_sequence from outbox where event_sequence > ${afterSequence}
      order by event_sequence limit ${rowsMax}
      for update skip locked
    ), gone as (
      delete from outbox where event_sequence = any (array(select event_sequence from due))
      returning event_sequence
    )
    select count(*) as handled, max(event_sequence) as newest from gone`;
}

/** A sink with what it is for; null for all. */
export interface Recipient {
  readonly name: string;
  readonly tenants: readonly string[] | null;
  readonly typePatterns: readonly string[] | null;
}

export interface Distribution {
  readonly rowsMax: number;
  /** How many events one delivery holds. */
  readonly eventsMax: number;
  readonly recipients: readonly Recipient[];
}

/**
 * Moves the oldest rows of the outbox into the queues of the sinks, in one transaction: each delivery holds events of one
 * tenant in the order of its journal. So the outbox stays empty however much waits for one sink.
 */
export function moveToSinks({ rowsMax, eventsMax, recipients }: Distribution, afterSequence: number) {
  return sql<ScannedRow>`
    with due as materialized (
      select event_sequence, tenant_id from outbox where event_sequence > ${afterSequence}
      order by event_sequence limit ${rowsMax}
      for update skip locked
    ), gone as (
      delete from outbox where event_sequence = any (array(select event_sequence from due))
    ), numbered as materialized (
      select s.name, due.tenant_id, e.position, e.sequence,
        (row_number() over (partition by s.name, due.tenant_id order by e.position, e.sequence) - 1) / ${eventsMax}::integer
          as part
      from due join events e on e.sequence = due.event_sequence
      join jsonb_to_recordset(${JSON.stringify(recipients)}::jsonb) as s (name text, tenants uuid[], "typePatterns" text[])
        on (s.tenants is null or due.tenant_id = any (s.tenants))
          and (s."typePatterns" is null or e.type like any (s."typePatterns"))
    ), made as (
      insert into outbox_deliveries (lead, sink, tenant_id, event_sequences, oldest_position)
      select (array_agg(sequence order by position, sequence))[1], name, tenant_id,
        array_agg(sequence order by position, sequence), min(position)
      from numbered group by name, tenant_id, part order by min(sequence)
    )
    select count(*) as handled, max(event_sequence) as newest from due`;
}

/** Deletes what waits for sinks that are no more. */
export function deleteDiscarded(sinks: readonly string[], rowsMax: number) {
  return sql<{ deleted: number; events: number }>`
    with gone as (
      delete from outbox_deliveries where ctid = any (array(
        select ctid from outbox_deliveries where sink = any (${sinks}::text[]) limit ${rowsMax} for update skip locked))
      returning cardinality(event_sequences) as events
    )
    select count(*) as deleted, coalesce(sum(events), 0) as events from gone`;
}

/** The names of the sinks for which anything waits, one step in the index for each. */
export function findSinksInUse() {
  return sql<{ sink: string }>`
    with recursive named as (
      (select sink from outbox_deliveries where is_new order by sink limit 1)
      union all
      select (select d.sink from outbox_deliveries d where d.is_new and d.sink > named.sink order by d.sink limit 1)
      from named where named.sink is not null
    )
    select sink from named where sink is not null`;
}
