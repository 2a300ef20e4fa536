export interface Dependency {
  readonly prerequisiteTaskId: string;
  readonly waitingTaskId: string;
}

/**
 * The longest chain of tasks, each of which waits for the one before it; empty if no task waits for another. Of several
 * longest chains, the one that ends with the first task in `taskIds`. Tasks of a cycle, which `dependency_cycle`
 * prevents, are left out.
 */
export function criticalPathOf(taskIds: readonly string[], dependencies: readonly Dependency[]): string[] {
  const open = new Map(taskIds.map((id) => [id, { prerequisites: 0, waiting: [] as string[] }]));
  for (const { prerequisiteTaskId, waitingTaskId } of dependencies) {
    const [before, after] = [open.get(prerequisiteTaskId), open.get(waitingTaskId)];
    if (before === undefined || after === undefined) continue;
    before.waiting.push(waitingTaskId);
    after.prerequisites += 1;
  }
  // A task is reached after all its prerequisites, so its longest chain is then known.
  const longest = new Map<string, { length: number; before: string | undefined }>();
  const ready = taskIds.filter((id) => open.get(id)?.prerequisites === 0);
  for (const id of ready) longest.set(id, { length: 1, before: undefined });
  for (let at = 0; at < ready.length; at += 1) {
    const id = ready[at] as string;
    const { length } = longest.get(id) as { length: number };
    for (const next of open.get(id)?.waiting ?? []) {
      const task = open.get(next) as { prerequisites: number };
      if ((longest.get(next)?.length ?? 0) <= length) longest.set(next, { length: length + 1, before: id });
      task.prerequisites -= 1;
      if (task.prerequisites === 0) ready.push(next);
    }
  }
  const reached = new Set(ready);
  let end: string | undefined;
  let most = 1;
  for (const id of taskIds) {
    const length = reached.has(id) ? (longest.get(id)?.length ?? 0) : 0;
    if (length > most) [end, most] = [id, length];
  }
  const path: string[] = [];
  for (let id = end; id !== undefined; id = longest.get(id)?.before) path.unshift(id);
  return path;
}
