import { sql } from '@baton/kernel/database/sql';
import type { Status, UndeliveredRow } from './undelivered-event.ts';

export interface Listing {
  readonly tenantId: string;
  /** Absent for both. */
  readonly status: Status | undefined;
  /** The last row of the previous page. */
  readonly after: { readonly place: number; readonly sequence: number };
  readonly rowsMax: number;
}

/**
 * Newest deliveries first, by the indexes of pending and of dead deliveries. Since a delivery has at least one event,
 * it is enough to read as many deliveries as the page has rows, and any others at the same places.
 */
export function findUndelivered({ tenantId, status, after, rowsMax }: Listing) {
  return sql<UndeliveredRow>`
    with last as materialized (
      select min(place) as place from (
        select place from (
          (select place from outbox_deliveries
          where tenant_id = ${tenantId} and dead_at is null and dropped_at is null
            and ${status !== 'dead'}::boolean and place < ${after.place}
          order by place desc limit ${rowsMax})
          union all
          (select place from outbox_deliveries
          where tenant_id = ${tenantId} and dead_at is not null and dropped_at is null
            and ${status !== 'pending'}::boolean and place < ${after.place}
          order by place desc limit ${rowsMax})
        ) next order by place desc limit ${rowsMax}
      ) page
    ), item as materialized (
      select d.place, s.sequence, d.sink, d.attempts, d.last_error,
        nullif(d.available_at, 'infinity') as next_attempt_at
      from (
        select * from outbox_deliveries
        where tenant_id = ${tenantId} and dead_at is null and dropped_at is null and ${status !== 'dead'}::boolean
          and place between (select coalesce(place, ${after.place}) from last) and ${after.place}
        union all
        select * from outbox_deliveries
        where tenant_id = ${tenantId} and dead_at is not null and dropped_at is null and ${status !== 'pending'}::boolean
          and place between (select coalesce(place, ${after.place}) from last) and ${after.place}
      ) d cross join lateral unnest(d.event_sequences) as s (sequence)
      where (d.place, s.sequence) < (${after.place}, ${after.sequence})
      order by d.place desc, s.sequence desc limit ${rowsMax}
    )
    select item.*, e.id as event_id, e.type from item join events e on e.sequence = item.sequence
    order by item.place desc, item.sequence desc`;
}

export type LockedRow = UndeliveredRow & { lead: number; events: number; is_dropped: boolean };

/** Locks the delivery of the event; returns no row if there is none. */
export function lockUndelivered(tenantId: string, place: number, sequence: number) {
  return sql<LockedRow>`
    with locked as materialized (
      select * from outbox_deliveries
      where place = ${place} and tenant_id = ${tenantId} and event_sequences @> array[${sequence}::bigint]
      for update
    )
    select d.place, e.sequence, d.lead, cardinality(d.event_sequences) as events, d.sink, d.attempts, d.last_error,
      nullif(d.available_at, 'infinity') as next_attempt_at, d.dropped_at is not null as is_dropped,
      e.id as event_id, e.type
    from locked d join events e on e.sequence = ${sequence}`;
}

/** Makes a dead letter pending, with no attempts counted. */
export function updateRedriven(place: number, lead: number) {
  return sql<{ next_attempt_at: string }>`
    update outbox_deliveries set attempts = 0, dead_at = null, available_at = now()
    where place = ${place} and lead = ${lead}
    returning available_at as next_attempt_at`;
}

/**
 * Takes one event out of a delivery with several. A worker that is currently sending that delivery finds it changed, so
 * its other events are sent again.
 */
export function splitDelivery(place: number, lead: number, sequence: number) {
  return sql`
    update outbox_deliveries d
    set event_sequences = array_remove(event_sequences, ${sequence}),
      lead = (array_remove(event_sequences, ${sequence}))[1],
      oldest_position = (
        select min(position) from events where sequence = any (array_remove(d.event_sequences, ${sequence}))),
      available_at = case when is_new then available_at else available_at + interval '1 millisecond' end
    where place = ${place} and lead = ${lead}`;
}

export function insertDropped(tenantId: string, { place, sequence, sink, attempts, last_error }: LockedRow) {
  return sql`
    insert into outbox_deliveries (place, lead, sink, tenant_id, event_sequences, oldest_position, is_new, attempts,
      available_at, dropped_at, last_error)
    select ${place}, sequence, ${sink}, ${tenantId}, array[sequence], position, false, ${attempts}, 'infinity', now(),
      ${last_error}
    from events where sequence = ${sequence}`;
}

export function updateDropped(place: number, lead: number) {
  return sql`
    update outbox_deliveries set is_new = false, available_at = 'infinity', dropped_at = now()
    where place = ${place} and lead = ${lead}`;
}
