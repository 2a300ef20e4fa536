import { type Db, sqlState } from '@baton/kernel/db';
import { enterJournalEpoch } from './epoch.sql.ts';

const undefinedFunction = '42883';

/**
 * Makes sure that the journal's numbers are those of this server: above all that were ever drawn in any history of this
 * database (contract, section 12: a poller never skips). To be run on every new connection; behind a pooler, where
 * connections outlive the server, every writer and every reading asks again.
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
