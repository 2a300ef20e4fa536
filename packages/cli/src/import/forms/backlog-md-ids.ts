/** Resolves ids to tasks, as Backlog.md compares them: `1`, `TASK-1` and `task-001` are one task. */
export interface BacklogMdIds {
  /**
   * The ids of the matching tasks, as in their own files, in lower case; none if no task matches.
   */
  find(ref: string): readonly string[];
}

/** @param ids of all tasks, in lower case @param prefix the default prefix of ids without one */
export function backlogMdIds(ids: readonly string[], prefix: string): BacklogMdIds {
  const exact = new Set(ids);
  const byNumber = Map.groupBy(ids, (id) => comparable(id, prefix));
  return {
    find: (ref) => {
      const plain = ref.trim().toLowerCase();
      return exact.has(plain) ? [plain] : (byNumber.get(comparable(plain, prefix)) ?? []);
    },
  };
}

/** An id with its prefix and without leading zeros. */
function comparable(id: string, prefix: string): string {
  const [, own = prefix, numbers] = /^(?:([a-z][a-z0-9_]*)-)?(\d{1,15}(?:\.\d{1,15})*)$/.exec(id) ?? [];
  if (numbers === undefined) return id;
  return `${own}-${numbers.split('.').map(Number).join('.')}`;
}
