import type { Db } from '@baton/kernel/database/db';
import { encodeCursor } from '../journal/cursor.ts';
import { type FloorRow, lockFloors } from './retention.sql.ts';

/** The ends of a tenant's pruned and archived history, as cursors. */
export interface JournalFloors {
  readonly journalFloorCursor: string;
  readonly archiveFloorCursor: string;
}

/**
 * Locks the tenant's floor row until the end of the transaction, before any other lock of archive, prune, redrive or
 * rebuild. See docs/reference/journal.md#archive-and-prune.
 */
export async function lockJournalFloors(db: Db, tenantId: string): Promise<FloorRow> {
  const row = await db.row(lockFloors(tenantId));
  if (row === undefined) throw new Error('the tenant has no journal floor');
  return row;
}

export function floorsOf(row: FloorRow): JournalFloors {
  return {
    journalFloorCursor: encodeCursor({ position: row.archive_position, sequence: row.archive_sequence }),
    archiveFloorCursor: encodeCursor({ position: row.floor_position, sequence: row.floor_sequence }),
  };
}
