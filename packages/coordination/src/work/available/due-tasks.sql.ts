import { sql } from '@baton/kernel/database/sql';

/** Moves a batch of queue rows whose tasks have become due to the sets that searches read. */
export function queueDueTasks(tasksMax: number) {
  return sql<{ moved: number }>`select queue_due_tasks(${tasksMax}) as moved`;
}

/** Recomputes the start of a batch of tasks whose workspaces now have another time zone. Returns 0 if none is due. */
export function settleZones(tasksMax: number) {
  return sql<{ settled: number }>`select settle_zones(${tasksMax}) as settled`;
}
