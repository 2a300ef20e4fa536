import type { Db } from '@baton/kernel/database/db';
import { isLegacy, type JournalCursor } from './cursor.ts';
import { findPlaceOfSequence } from './legacy.sql.ts';

/**
 * The place behind the event that an older consumer names by its sequence (core, section 17.2: repeats are possible, skips
 * are not). By sequence alone, what was written before that event and committed after it would be skipped. A number that
 * no event of the tenant has stays a number: everything above it is read.
 */
export async function settleLegacy(
  db: Db,
  tenantId: string,
  cursor: JournalCursor | undefined,
): Promise<JournalCursor | undefined> {
  if (cursor === undefined || !isLegacy(cursor) || cursor.afterSequence === 0) return cursor;
  return (await db.row(findPlaceOfSequence(tenantId, cursor.afterSequence))) ?? cursor;
}
