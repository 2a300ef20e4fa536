import { sql } from '@baton/kernel/database/sql';
import type { JournalPosition } from './cursor.ts';

/** Finds the position of the event with this sequence, archived or not; returns no row if the tenant has none. */
export function findPlaceOfSequence(tenantId: string, sequence: number) {
  return sql<JournalPosition>`
    select position, sequence from events where sequence = ${sequence} and tenant_id = ${tenantId}
    union all
    select position, sequence from archived_events where sequence = ${sequence} and tenant_id = ${tenantId}`;
}
