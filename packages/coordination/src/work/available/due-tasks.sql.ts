import { sql } from '@baton/kernel/database/sql';

/** Moves rows of the queue of work whose tasks came due to where searches find them, a batch of them. */
export function queueDueTasks(tasksMax: number) {
  return sql<{ moved: number }>`select queue_due_tasks(${tasksMax}) as moved`;
}

/** Computes the starts of tasks anew whose workspaces have another time zone, a batch of them. 0: none is due. */
export function settleZones(tasksMax: number) {
  return sql<{ settled: number }>`select settle_zones(${tasksMax}) as settled`;
}
