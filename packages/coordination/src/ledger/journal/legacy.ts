import type { Db } from '@baton/kernel/database/db';
import { isLegacy, type JournalCursor } from './cursor.ts';
import { findPlaceOfSequence } from './legacy.sql.ts';

/**
 * The position after the event that an older consumer identifies by its sequence: repeats are possible, skips are not.
 * By sequence alone, events written before that event and committed after it would be skipped. A number without an
 * event of the tenant remains a number: everything above it is read. See docs/reference/journal.md#cursors.
 */
export async function settleLegacy(
  db: Db,
  tenantId: string,
  cursor: JournalCursor | undefined,
): Promise<JournalCursor | undefined> {
  if (cursor === undefined || !isLegacy(cursor) || cursor.afterSequence === 0) return cursor;
  return (await db.row(findPlaceOfSequence(tenantId, cursor.afterSequence))) ?? cursor;
}
