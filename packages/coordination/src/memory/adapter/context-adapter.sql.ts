import { sql } from '@baton/kernel/database/sql';
import type { JournalPosition } from '../../ledger/journal/cursor.ts';
import type { Consumer } from './adapter-turns.sql.ts';
import type { StateRow } from './context-adapter.ts';

/** The tenant's floors, its cursor, and the number of stable events after it, counted up to `countMax`. */
export function findState(tenantId: string, consumer: Consumer, countMax: number) {
  return sql<StateRow>`
    select f.tenant_id, f.archive_position, f.archive_sequence, f.floor_position, f.floor_sequence,
      c.position, c.sequence, c.parked_at, c.parked_reason, c.parked_event_id, c.failure_count, c.next_attempt_at,
      c.updated_at, c.delivered_total, c.duplicates_total, c.failures_total, c.redrives_total, c.last_delivery_at,
      ceil(extract(epoch from c.next_attempt_at - clock_timestamp()))::integer as wait_seconds,
      (select count(*) from (
        select from archived_events a
        where (f.moved_position, f.moved_sequence) > (c.position, c.sequence) and a.tenant_id = f.tenant_id
          and (a.position, a.sequence) > (c.position, c.sequence)
          and (a.position, a.sequence) > (f.floor_position, f.floor_sequence)
        union all
        select from events e
        where e.tenant_id = f.tenant_id and (e.position, e.sequence) > (c.position, c.sequence)
          and e.position < h.position
        limit ${countMax}) behind) as lag
    from journal_floors f
    cross join (select journal_horizon() as position) h
    left join event_consumers c on c.tenant_id = f.tenant_id and c.consumer = ${consumer}
    where f.tenant_id = ${tenantId}`;
}

/** The state of the cursor's row before an operator's call. */
export type HeldRow = JournalPosition & Pick<StateRow, 'parked_at' | 'parked_reason' | 'parked_event_id'>;

export function lockConsumer(tenantId: string, consumer: Consumer) {
  return sql<HeldRow>`
    select position, sequence, parked_at, parked_reason, parked_event_id from event_consumers
    where tenant_id = ${tenantId} and consumer = ${consumer} for update`;
}

/** Makes the tenant due immediately; the cursor does not move. */
export function updateRedriven(tenantId: string, consumer: Consumer) {
  return sql`
    update event_consumers set parked_at = null, parked_reason = null, parked_event_id = null, failure_count = 0,
      next_attempt_at = null, has_more = true, redrives_total = redrives_total + 1, updated_at = clock_timestamp()
    where tenant_id = ${tenantId} and consumer = ${consumer}`;
}

/** Moves the cursor back. A running turn keeps its lease, and finds at its end that the cursor has changed. */
export function updateRebuilt(tenantId: string, consumer: Consumer, { position, sequence }: JournalPosition) {
  return sql`
    update event_consumers set position = ${position}, sequence = ${sequence}, has_more = true, parked_at = null,
      parked_reason = null, parked_event_id = null, failure_count = 0, next_attempt_at = null,
      updated_at = clock_timestamp()
    where tenant_id = ${tenantId} and consumer = ${consumer}`;
}
