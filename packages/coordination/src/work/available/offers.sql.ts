import { sql } from '@baton/kernel/database/sql';

/** Brings the queue of work into line with the tasks of one noted workspace, a batch of them. 0: none is noted. */
export function settleOffers(tasksMax: number) {
  return sql<{ settled: number }>`select settle_offers(${tasksMax}) as settled`;
}
