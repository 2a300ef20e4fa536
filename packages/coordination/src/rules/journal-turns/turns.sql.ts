import { sql } from '@baton/kernel/database/sql';
import type { JournalPosition } from '../../ledger/journal/cursor.ts';

/** A reader's position in a tenant's journal, and how often it has failed at the next event. */
export interface TurnRow extends JournalPosition {
  failure_count: number;
  parked_event_id: string | null;
}

/**
 * Tenants with stable events after the cursor of a reader, the least recently served first. Skips tenants whose failed
 * turn is not due for a retry, and those that this process has postponed.
 */
export function findDueTenants(consumer: string, except: readonly string[], tenantsMax: number) {
  return sql<{ tenant_id: string }>`
    with horizon as materialized (select journal_horizon() as position)
    select c.tenant_id from event_consumers c cross join horizon h
    where c.consumer = ${consumer} and c.tenant_id <> all (${except}::uuid[]) and (c.next_attempt_at is null or c.next_attempt_at <= now())
      and exists (
        select from events e where e.tenant_id = c.tenant_id and (e.position, e.sequence) > (c.position, c.sequence)
          and e.position < h.position)
    order by c.served_at, c.tenant_id limit ${tenantsMax}`;
}

/** The position of a reader; returns no row for a tenant without a cursor. */
export function findTurn(tenantId: string, consumer: string) {
  return sql<JournalPosition>`
    select position, sequence from event_consumers where tenant_id = ${tenantId} and consumer = ${consumer}`;
}

/**
 * Locks the tenant's turn until the end of the transaction, unless another process has locked it, and moves it to the
 * end of the queue.
 */
export function lockTurn(tenantId: string, consumer: string) {
  return sql<TurnRow>`
    with free as (
      select tenant_id from event_consumers where tenant_id = ${tenantId} and consumer = ${consumer}
      for update skip locked
    )
    update event_consumers c set served_at = clock_timestamp()
    from free where c.tenant_id = free.tenant_id and c.consumer = ${consumer}
    returning c.position, c.sequence, c.failure_count, c.parked_event_id`;
}

/** Deletes the cursor, whose row is locked. */
export function deleteCursor(tenantId: string, consumer: string) {
  return sql`delete from event_consumers where tenant_id = ${tenantId} and consumer = ${consumer}`;
}

/** Moves the cursor to this position. */
export function updateTurn(tenantId: string, consumer: string, { position, sequence }: JournalPosition) {
  return sql`
    update event_consumers
    set position = ${position}, sequence = ${sequence}, failure_count = 0, next_attempt_at = null, parked_at = null,
      parked_reason = null, parked_event_id = null, updated_at = clock_timestamp()
    where tenant_id = ${tenantId} and consumer = ${consumer}`;
}

/** Records a failure at the next event, which is retried after a delay. */
export function updateFailedTurn(
  tenantId: string,
  consumer: string,
  broken: { failures: number; eventId: string; againSeconds: number; reason: string },
) {
  return sql`
    update event_consumers
    set failure_count = ${broken.failures}, parked_event_id = ${broken.eventId}, parked_at = clock_timestamp(),
      parked_reason = ${broken.reason}, failures_total = failures_total + 1,
      next_attempt_at = clock_timestamp() + make_interval(secs => ${broken.againSeconds}::integer),
      updated_at = clock_timestamp()
    where tenant_id = ${tenantId} and consumer = ${consumer}`;
}

/**
 * Creates a cursor for the tenant at the current end of its journal, and locks it until the commit, so that the worker
 * does not delete it in the meantime. Of two concurrent commands, the second waits here.
 */
export function upsertCursor(tenantId: string, consumer: string) {
  return sql`
    insert into event_consumers (tenant_id, consumer, position, sequence)
    values (${tenantId}, ${consumer}, journal_horizon(), 0)
    on conflict (tenant_id, consumer) do update set updated_at = clock_timestamp()`;
}
