import { sql } from '@baton/kernel/database/sql';
import type { JournalPosition } from '../../ledger/journal/cursor.ts';

/** Internal consumers of the journal, with one row per tenant. */
export type Consumer = 'context-adapter';

/** A tenant's turn: its lease, and the position of its cursor when it was leased. */
export interface TurnRow extends JournalPosition {
  tenant_id: string;
  lease_id: string;
  /** Whether its last turn failed. */
  is_failing: boolean;
}

/** Creates cursors at the beginning of the journal for tenants that have none. */
export function insertMissingConsumers(consumer: Consumer, rowsMax: number) {
  return sql`
    insert into event_consumers (tenant_id, consumer)
    select t.id, ${consumer} from tenants t
    where not exists (select from event_consumers c where c.tenant_id = t.id and c.consumer = ${consumer})
    limit ${rowsMax}
    on conflict do nothing`;
}

export interface TurnsWanted {
  readonly consumer: Consumer;
  readonly tenantsMax: number;
  /** The maximum number of leased tenants whose last turn failed. */
  readonly failingMax: number;
  readonly leaseSeconds: number;
}

/**
 * Leases tenants that are due, the least recently served first, and moves them to the end of the queue. A tenant is due
 * if it has stable events after the cursor and no other process serves it; after a failed turn, once its delay has
 * passed. Each tenant without new events costs one lookup in the index of events.
 */
export function leaseDueTurns({ consumer, tenantsMax, failingMax, leaseSeconds }: TurnsWanted) {
  return sql<TurnRow>`
    with horizon as materialized (select journal_horizon() as position),
    failing as materialized (
      select c.tenant_id, c.served_at from event_consumers c
      where c.consumer = ${consumer} and c.next_attempt_at <= now()
        and (c.leased_until is null or c.leased_until <= clock_timestamp())
      order by c.served_at, c.tenant_id limit ${failingMax}
      for update skip locked
    ), fresh as materialized (
      select c.tenant_id, c.served_at from event_consumers c cross join horizon h
      where c.consumer = ${consumer} and c.next_attempt_at is null
        and (c.leased_until is null or c.leased_until <= clock_timestamp())
        and (c.has_more or exists (
          select from events e where e.tenant_id = c.tenant_id and (e.position, e.sequence) > (c.position, c.sequence)
            and e.position < h.position))
      order by c.served_at, c.tenant_id limit ${tenantsMax}
      for update of c skip locked
    ), due as (
      select tenant_id from (select * from failing union all select * from fresh) waiting
      order by served_at, tenant_id limit ${tenantsMax}
    )
    update event_consumers c
    set lease_id = gen_random_uuid(), leased_until = clock_timestamp() + make_interval(secs => ${leaseSeconds}),
      served_at = clock_timestamp()
    from due where c.tenant_id = due.tenant_id and c.consumer = ${consumer}
    returning c.tenant_id, c.lease_id, c.position, c.sequence, c.next_attempt_at is not null as is_failing`;
}

/** Renews leases; returns those that are still held. */
export function renewLeases(
  consumer: Consumer,
  turns: readonly Pick<TurnRow, 'tenant_id' | 'lease_id'>[],
  leaseSeconds: number,
) {
  const [tenants, leases] = [turns.map((turn) => turn.tenant_id), turns.map((turn) => turn.lease_id)];
  return sql<Pick<TurnRow, 'lease_id'>>`
    update event_consumers c set leased_until = clock_timestamp() + make_interval(secs => ${leaseSeconds})
    from unnest(${tenants}::uuid[], ${leases}::uuid[]) held (tenant_id, lease_id)
    where c.tenant_id = held.tenant_id and c.consumer = ${consumer} and c.lease_id = held.lease_id
    returning c.lease_id`;
}

/** How a turn ended: the position up to which events are confirmed. */
export interface TurnEnd {
  readonly reached: JournalPosition;
  readonly hasMore: boolean;
  readonly delivered: number;
  readonly duplicates: number;
}

/**
 * Ends a successful turn; with `leaseSeconds` above 0 the tenant is kept for another turn. Changes nothing if the lease
 * belongs to another process, or if the cursor was moved during the turn: a concurrent change to the cursor takes
 * precedence.
 */
export function updateServed(consumer: Consumer, turn: TurnRow, end: TurnEnd, leaseSeconds: number) {
  return sql`
    update event_consumers set position = ${end.reached.position}, sequence = ${end.reached.sequence},
      lease_id = case when ${leaseSeconds}::integer > 0 then lease_id end,
      leased_until = case when ${leaseSeconds}::integer > 0 then
        clock_timestamp() + make_interval(secs => ${leaseSeconds}::integer) end,
      has_more = ${end.hasMore}, parked_at = null, parked_reason = null, parked_event_id = null, failure_count = 0, next_attempt_at = null,
      delivered_total = delivered_total + ${end.delivered}::bigint,
      duplicates_total = duplicates_total + ${end.duplicates}::bigint,
      last_delivery_at = case when ${end.delivered}::bigint > 0 then clock_timestamp() else last_delivery_at end,
      updated_at = clock_timestamp()
    where tenant_id = ${turn.tenant_id} and consumer = ${consumer} and lease_id = ${turn.lease_id}
      and position = ${turn.position} and sequence = ${turn.sequence}`;
}

export interface Failure {
  readonly reason: string;
  /** The first event that is not confirmed. */
  readonly eventId: string | null;
  /** The delay that the memory service requested; 0 if it requested none. */
  readonly waitSeconds: number;
}

/**
 * Ends a failed turn, under the same conditions as a successful one: the tenant is on hold, and is retried after a
 * delay that doubles. A turn with some progress resets the delay.
 */
export function updateParked(
  consumer: Consumer,
  turn: TurnRow,
  end: TurnEnd,
  { reason, eventId, waitSeconds }: Failure,
  backoff: { readonly baseSeconds: number; readonly maxSeconds: number },
) {
  const hasMoved = end.reached.position !== turn.position || end.reached.sequence !== turn.sequence;
  return sql`
    with held as (
      select case when ${hasMoved} then 1 else least(failure_count, 1000000) + 1 end as failures from event_consumers
      where tenant_id = ${turn.tenant_id} and consumer = ${consumer} and lease_id = ${turn.lease_id}
        and position = ${turn.position} and sequence = ${turn.sequence}
      for update
    )
    update event_consumers c set position = ${end.reached.position}, sequence = ${end.reached.sequence},
      lease_id = null, leased_until = null, has_more = true,
      parked_at = case when ${hasMoved} then clock_timestamp() else coalesce(c.parked_at, clock_timestamp()) end,
      parked_reason = ${reason}, parked_event_id = ${eventId},
      failure_count = held.failures,
      next_attempt_at = clock_timestamp() + make_interval(secs => least(${backoff.maxSeconds}::float8,
        greatest(${waitSeconds}::float8, ${backoff.baseSeconds}::float8 * power(2, least(held.failures, 31) - 1)))),
      failures_total = c.failures_total + 1,
      delivered_total = c.delivered_total + ${end.delivered}::bigint,
      duplicates_total = c.duplicates_total + ${end.duplicates}::bigint,
      last_delivery_at = case when ${end.delivered}::bigint > 0 then clock_timestamp() else c.last_delivery_at end,
      updated_at = clock_timestamp()
    from held
    where c.tenant_id = ${turn.tenant_id} and c.consumer = ${consumer}`;
}

/** Releases a tenant without recording a result. */
export function releaseTurn(consumer: Consumer, turn: TurnRow) {
  return sql`
    update event_consumers set lease_id = null, leased_until = null
    where tenant_id = ${turn.tenant_id} and consumer = ${consumer} and lease_id = ${turn.lease_id}`;
}

/**
 * Moves the cursors of tenants to their newest stable event, as if all events before it were confirmed. Skips tenants
 * that another process serves.
 */
export function skipToHead(consumer: Consumer, tenantsMax: number) {
  return sql`
    with horizon as materialized (select journal_horizon() as position),
    behind as materialized (
      select c.tenant_id, newest.position, newest.sequence
      from event_consumers c cross join horizon h cross join lateral (
        select e.position, e.sequence from events e
        where e.tenant_id = c.tenant_id and e.position < h.position
        order by e.position desc, e.sequence desc limit 1
      ) newest
      where c.consumer = ${consumer} and (newest.position, newest.sequence) > (c.position, c.sequence)
        and (c.leased_until is null or c.leased_until <= clock_timestamp())
      order by c.served_at, c.tenant_id limit ${tenantsMax}
      for update of c skip locked
    )
    update event_consumers c set position = behind.position, sequence = behind.sequence, has_more = false,
      lease_id = null, leased_until = null, served_at = clock_timestamp(), updated_at = clock_timestamp(),
      parked_at = null, parked_reason = null, parked_event_id = null, failure_count = 0, next_attempt_at = null
    from behind where c.tenant_id = behind.tenant_id and c.consumer = ${consumer}`;
}
