/** Finds the tasks that ids mean, as Backlog.md compares them: `1`, `TASK-1` and `task-001` are one task. */
export interface BacklogMdIds {
  /** The id of a task as its own file has it, in lower case; `ambiguous` where several tasks may be meant. */
  find(ref: string): string | 'ambiguous' | undefined;
}

/** @param ids of all tasks, in lower case @param prefix the one that ids without a prefix have */
export function backlogMdIds(ids: readonly string[], prefix: string): BacklogMdIds {
  const exact = new Set(ids);
  const byNumber = Map.groupBy(ids, (id) => comparable(id, prefix));
  return {
    find: (ref) => {
      const plain = ref.trim().toLowerCase();
      if (exact.has(plain)) return plain;
      const found = byNumber.get(comparable(plain, prefix)) ?? [];
      return found.length > 1 ? 'ambiguous' : found[0];
    },
  };
}

/** An id with its prefix and without leading zeros. */
function comparable(id: string, prefix: string): string {
  const [, own = prefix, numbers] = /^(?:([a-z][a-z0-9_]*)-)?(\d{1,15}(?:\.\d{1,15})*)$/.exec(id) ?? [];
  if (numbers === undefined) return id;
  return `${own}-${numbers.split('.').map(Number).join('.')}`;
}
