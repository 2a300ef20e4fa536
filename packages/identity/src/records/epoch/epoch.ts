import { type Db, sqlState } from '@baton/kernel/database/db';
import type { Logger } from '@baton/kernel/process/log';
import { enterJournalEpoch, findPlace } from './epoch.sql.ts';
import { logEpoch } from './epoch-watch.ts';

const undefinedFunction = '42883';

/**
 * Ensures that the journal's numbers belong to this server: they are above all that were ever drawn in any history of
 * this database, so that a poller never skips an event. Run it on every new connection; with a pooler, where
 * connections outlive the server, every write and every read checks again.
 * @returns why a new epoch began; undefined if none began
 */
export async function enterEpoch(db: Db): Promise<string | undefined> {
  try {
    return (await db.row(enterJournalEpoch))?.reason ?? undefined;
  } catch (error) {
    // The database has no schema yet, or an older one.
    if (sqlState(error) === undefinedFunction) return undefined;
    throw error;
  }
}

/**
 * The position from which a reader of another history continues; null if `after` can be a number of this one.
 * @param after the number up to which it has read
 */
export async function findResume(db: Db, log: Logger, after: number): Promise<number | null> {
  let place = await db.row(findPlace(after));
  if (place?.is_current === false) {
    logEpoch(log, await enterEpoch(db));
    place = await db.row(findPlace(after));
  }
  return place?.resume ?? null;
}
