import { sql } from '@baton/kernel/database/sql';

/** Synchronizes the queue of work with a batch of tasks of one recorded workspace. Returns 0 if none is recorded. */
export function settleOffers(tasksMax: number) {
  return sql<{ settled: number }>`select settle_offers(${tasksMax}) as settled`;
}
