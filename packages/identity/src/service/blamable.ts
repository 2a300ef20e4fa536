import { sqlState } from '@baton/kernel/database/db';

/**
 * The classes of SQLSTATE that one entry can be to blame for: its data, a constraint, a limit of the program, a
 * trigger. PostgreSQL has rolled the statement back then, so it may be run again. After a lost connection it may have
 * been committed, and a timeout would be waited for again by each entry: those fail for the whole batch.
 */
const blamableClasses: ReadonlySet<string> = new Set(['21', '22', '23', '44', '54', 'P0']);

/**
 * Whether a statement for many entries may have failed because of one of them, so that each is worth a try of its own.
 */
export function isBlamable(error: unknown): boolean {
  return blamableClasses.has(sqlState(error)?.slice(0, 2) ?? '');
}
