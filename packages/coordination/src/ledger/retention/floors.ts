import type { Db } from '@baton/kernel/database/db';
import { encodeCursor } from '../journal/cursor.ts';
import { type FloorRow, lockFloors } from './retention.sql.ts';

/** Where a tenant's archive and its journal begin, as cursors: what lies up to them is pruned, or archived. */
export interface JournalFloors {
  readonly journalFloorCursor: string;
  readonly archiveFloorCursor: string;
}

/**
 * Locks the tenant's floor row until the end of the transaction: before anything else that archives, prunes, redrives or
 * rebuilds (core, section 18).
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
