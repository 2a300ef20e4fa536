import { sqlState } from '@baton/kernel/database/db';

/**
 * The classes of SQLSTATE that a single entry can cause: its data, a constraint, a program limit, a trigger. PostgreSQL
 * has rolled the statement back, so it may be run again. After a lost connection the statement may have been committed,
 * and after a timeout each entry would time out again, so these errors fail the whole batch.
 */
const blamableClasses: ReadonlySet<string> = new Set(['21', '22', '23', '44', '54', 'P0']);

/**
 * Whether a statement for many entries may have failed because of one of them, so that each should be retried
 * individually.
 */
export function isBlamable(error: unknown): boolean {
  return blamableClasses.has(sqlState(error)?.slice(0, 2) ?? '');
}
