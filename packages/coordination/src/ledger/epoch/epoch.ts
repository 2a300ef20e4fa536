import { type Db, sqlState } from '@baton/kernel/database/db';
import { enterJournalEpoch } from './epoch.sql.ts';

const undefinedFunction = '42883';

/**
 * Makes sure that the journal's positions are those of this server: above all that were ever assigned in any history of
 * this database (core, section 17.2: a cursor never skips). To be run on every new connection; behind a pooler, where
 * connections outlive the server, every statement that takes a position and every reading asks again.
 * @returns why a new epoch began, or undefined
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
