import { sql } from '@baton/kernel/database/sql';

/** Synchronizes the work queue with a batch of tasks in one recorded workspace. Returns 0 if none is recorded. */
export function settleOffers(tasksMax: number) {
  return sql<{ settled: number }>`select settle_offers(${tasksMax}) as settled`;
}
