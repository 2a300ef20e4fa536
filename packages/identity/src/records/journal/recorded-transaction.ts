import { retryTransaction } from '@baton/kernel/http/command';
import type { Context } from '../context.ts';
import { flushRecords } from './journal.ts';

/**
 * Runs a command in its own transaction, with its journal and audit rows; for handlers that call the network first.
 * After a deadlock it runs again, so `work` must not call the network itself.
 */
export function recordedTransaction<Inside extends Context, T>(
  context: Inside,
  work: (inside: Inside) => Promise<T>,
): Promise<T> {
  return retryTransaction(() =>
    context.pool.transaction(async (db, awaitWithCommit) => {
      const inside = { ...context, db, events: [], audits: [] };
      const result = await work(inside);
      awaitWithCommit(flushRecords(inside));
      return result;
    }),
  );
}
