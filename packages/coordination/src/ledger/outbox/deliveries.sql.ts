import { sql } from '@baton/kernel/database/sql';
import type { EventRow } from '../journal/event.ts';

export interface DeliveryKey {
  /** With `lead`, which delivery it is. */
  place: number;
  lead: number;
}

/** An event to be delivered, with the delivery that holds it. */
export type DueEventRow = EventRow &
  DeliveryKey & {
    /** Those before, and this one. */
    attempts: number;
    /** Takes before this one that no worker settled: it ended meanwhile, or lost the database. */
    unsettled: number;
    locked_until: string;
    is_again: boolean;
  };

export interface Which {
  /** Tenants that are passed over. */
  readonly exceptTenants?: readonly string[];
  /** Absent for all. */
  readonly onlyTenants?: readonly string[];
  /** Whether one that was left unsettled is taken: never two, so that it is known which one a worker ends by. */
  readonly withUnsettled: boolean;
}

export interface Room extends Which {
  /** Events that were taken before, and those that were not, at most; the first delivery of each may hold more. */
  readonly againMax: number;
  readonly newMax: number;
}

/**
 * Takes what is due for `lockSeconds`: no transaction stays open while it is delivered, and what a worker that died had taken
 * becomes due again.
 * @param afterPlace where to begin among what is new
 */
export function takeDue(
  sink: string,
  { againMax, newMax, exceptTenants = [], onlyTenants, withUnsettled }: Room,
  afterPlace: number,
  lockSeconds: number,
) {
  const only = onlyTenants ?? null;
  return sql<DueEventRow>`
    with again as materialized (
      select place, lead, cardinality(event_sequences) as events, available_at, unsettled > 0 as is_unsettled
      from outbox_deliveries
      where sink = ${sink} and not is_new and available_at <= now() and tenant_id <> all (${exceptTenants}::uuid[])
        and (${only}::uuid[] is null or tenant_id = any (${only}::uuid[]))
      order by available_at limit ${againMax}
      for update skip locked
    ), fresh as materialized (
      select place, lead, cardinality(event_sequences) as events from outbox_deliveries
      where sink = ${sink} and is_new and place > ${afterPlace} and tenant_id <> all (${exceptTenants}::uuid[])
        and (${only}::uuid[] is null or tenant_id = any (${only}::uuid[]))
      order by place limit ${newMax}
      for update skip locked
    ), chosen as materialized (
      select place, lead from (
        select place, lead, events, is_unsettled,
          sum(events) over (partition by is_unsettled order by available_at, place, lead) as total
        from again
      ) counted
      where case when is_unsettled then ${withUnsettled}::boolean and total = events
        else total <= ${againMax} or total = events end
      union all
      select place, lead from (
        select place, lead, events, sum(events) over (order by place) as total from fresh
      ) counted where total <= ${newMax} or total = events
    ), taken as (
      update outbox_deliveries d
      set is_new = false, attempts = attempts + 1, unsettled = least(unsettled + 1, 1000),
        available_at = now() + make_interval(secs => ${lockSeconds})
      where d.place = any (array(select place from chosen)) and (d.place, d.lead) in (select place, lead from chosen)
      returning d.place, d.lead, d.event_sequences, d.attempts, d.unsettled, d.available_at
    )
    select t.place, t.lead, t.attempts, t.unsettled - 1 as unsettled, t.available_at as locked_until,
      (t.place, t.lead) in (select place, lead from again) as is_again, e.*
    from taken t cross join lateral unnest(t.event_sequences) as s (sequence) join events e on e.sequence = s.sequence
    order by t.place, t.lead, e.position, e.sequence`;
}

/** A delivery that is over for now. */
export type Settled = DeliveryKey & { locked_until: string };

/** What is left of it: events that are tried again, or that are set aside. */
export interface Remainder {
  place: number;
  /** The `lead` of the delivery that it was part of. */
  of_lead: number;
  event_sequences: readonly number[];
  oldest_position: number;
  attempts: number;
  /** More than 0 for one that a worker may have ended by: it is tried alone. */
  unsettled: number;
  wait_seconds: number;
  is_dead: boolean;
  last_error: string | null;
}

/**
 * Ends deliveries; what another worker has taken meanwhile, or an operator has touched, stays as it is.
 * @returns the events that are set aside for good
 */
export function settleDeliveries(settled: readonly Settled[], remainders: readonly Remainder[]) {
  return sql<{ event_sequence: number }>`
    with settled as materialized (
      select * from jsonb_to_recordset(${JSON.stringify(settled)}::jsonb)
        as s (place bigint, lead bigint, locked_until timestamptz)
    ), gone as (
      delete from outbox_deliveries d using settled s
      where d.place = any (array(select place from settled))
        and d.place = s.place and d.lead = s.lead and d.available_at = s.locked_until
      returning d.place, d.lead, d.sink, d.tenant_id
    ), kept as (
      insert into outbox_deliveries (place, lead, sink, tenant_id, event_sequences, oldest_position, is_new, attempts,
        unsettled, available_at, dead_at, last_error)
      -- joined, so that the row is off the primary key before its parts enter it
      select gone.place, r.event_sequences[1], gone.sink, gone.tenant_id, r.event_sequences, r.oldest_position, false,
        r.attempts, r.unsettled, case when r.is_dead then 'infinity' else now() + make_interval(secs => r.wait_seconds) end,
        case when r.is_dead then now() end, r.last_error
      from gone join jsonb_to_recordset(${JSON.stringify(remainders)}::jsonb) as r (place bigint, of_lead bigint,
        event_sequences bigint[], oldest_position bigint, attempts integer, unsettled smallint, wait_seconds float8, is_dead boolean,
        last_error text) on r.place = gone.place and r.of_lead = gone.lead
      returning lead, dead_at
    )
    select lead as event_sequence from kept where dead_at is not null`;
}
