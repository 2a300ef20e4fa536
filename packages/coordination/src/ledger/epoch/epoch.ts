import { type Db, sqlState } from '@baton/kernel/database/db';
import { enterJournalEpoch } from './epoch.sql.ts';

const undefinedFunction = '42883';

/**
 * Ensures that the journal's positions are those of this server: above every position that was ever assigned in any
 * history of this database, so that a cursor never skips events. Run it on every new connection; behind a pooler, where
 * connections outlive the server, every statement that assigns a position and every read checks again. See
 * docs/reference/journal.md#epochs.
 * @returns the reason for a new epoch, or undefined
 */
export async function enterEpoch(db: Db): Promise<string | undefined> {
  try {
    return (await db.row(enterJournalEpoch))?.reason ?? undefined;
  } catch (error) {
    // A database without the schema, or with an older one.
    if (sqlState(error) === undefinedFunction) return undefined;
    throw error;
  }
}
