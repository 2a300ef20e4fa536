import type { ProjectDependencies } from '@baton/sdk';

/** A task of the graph: its column, and its row within the column. */
export interface Placed {
  readonly task: ProjectDependencies['tasks'][number];
  readonly column: number;
  readonly row: number;
}

/**
 * Places each task one column after the last of its prerequisites, and orders each column by the rows of the
 * prerequisites, so that few lines cross.
 */
export function placeTasks({ tasks, dependencies }: ProjectDependencies): Placed[] {
  const prerequisites = Map.groupBy(dependencies, ({ waitingTaskId }) => waitingTaskId);
  const columns = new Map<string, number>();
  const open = new Set<string>();
  const columnOf = (id: string): number => {
    const known = columns.get(id);
    // The service prevents cycles, but if one exists, the page must not hang.
    if (known !== undefined || open.has(id)) return known ?? 0;
    open.add(id);
    const before = (prerequisites.get(id) ?? []).map(({ prerequisiteTaskId }) =>
      columnOf(prerequisiteTaskId),
    );
    open.delete(id);
    const column = before.length === 0 ? 0 : Math.max(...before) + 1;
    columns.set(id, column);
    return column;
  };
  const rows = new Map<string, number>();
  const weightOf = (id: string): number => {
    const before = (prerequisites.get(id) ?? []).map(
      ({ prerequisiteTaskId }) => rows.get(prerequisiteTaskId) ?? 0,
    );
    return before.reduce((sum, row) => sum + row, 0) / Math.max(1, before.length);
  };
  const byColumn = [...Map.groupBy(tasks, ({ id }) => columnOf(id))].sort(([a], [b]) => a - b);
  return byColumn.flatMap(([column, inside]) => {
    const ordered = inside.toSorted((a, b) => weightOf(a.id) - weightOf(b.id));
    for (const [row, { id }] of ordered.entries()) rows.set(id, row);
    return ordered.map((task, row) => ({ task, column, row }));
  });
}
