import { sql } from '@baton/kernel/database/sql';
import type { EventRow } from '../journal/event.ts';

export interface DeliveryKey {
  /** Together with `lead`, the key of the delivery. */
  place: number;
  lead: number;
}

/** An event to deliver, with its delivery. */
export type DueEventRow = EventRow &
  DeliveryKey & {
    /** The number of attempts, including this one. */
    attempts: number;
    /** Previous claims of the delivery without a result: the worker crashed or lost its database connection. */
    unsettled: number;
    locked_until: string;
    is_again: boolean;
  };

export interface Which {
  /** Tenants to skip. */
  readonly exceptTenants?: readonly string[];
  /** Absent for all. */
  readonly onlyTenants?: readonly string[];
  /**
   * Whether an unsettled delivery is claimed. Two are never claimed at once, so that a crash identifies the delivery
   * that caused it.
   */
  readonly withUnsettled: boolean;
}

export interface Room extends Which {
  /**
   * The maximum number of events of retried deliveries and of new ones; the first delivery of each kind may exceed it.
   */
  readonly againMax: number;
  readonly newMax: number;
}

/**
 * Claims due deliveries for `lockSeconds`: no transaction is open during the delivery, and the deliveries of a crashed
 * worker become due again.
 * @param afterPlace the place after which new deliveries are claimed
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

/** A delivery with a result. */
export type Settled = DeliveryKey & { locked_until: string };

/** The remainder of a delivery: events to retry, or dead letters. */
export interface Remainder {
  place: number;
  /** The `lead` of the delivery that this remainder was part of. */
  of_lead: number;
  event_sequences: readonly number[];
  oldest_position: number;
  attempts: number;
  /** Greater than 0 for a delivery that may have crashed a worker, which is then tried alone. */
  unsettled: number;
  wait_seconds: number;
  is_dead: boolean;
  last_error: string | null;
}

/**
 * Settles deliveries; one that another worker has claimed in the meantime, or that an operator has changed, is left
 * unchanged.
 * @returns the new dead letters
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
