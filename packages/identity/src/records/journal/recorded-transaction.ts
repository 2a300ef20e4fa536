import { repeated } from '@baton/kernel/command';
import type { Context } from '../../service/context.ts';
import { flushRecords } from './journal.ts';

/**
 * Runs a command in a transaction of its own, with its journal and audit rows: for handlers that ask the network first.
 * One that a deadlock rolled back runs again, so `work` must not ask the network itself.
 */
export function recordedTransaction<T>(context: Context, work: (inside: Context) => Promise<T>): Promise<T> {
  return repeated(() =>
    context.pool.transaction(async (db, ride) => {
      const inside: Context = { ...context, db, events: [], audits: [] };
      const result = await work(inside);
      ride(flushRecords(inside));
      return result;
    }),
  );
}
