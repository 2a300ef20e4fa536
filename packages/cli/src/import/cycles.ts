export interface Edge {
  readonly from: string;
  readonly to: string;
}

/** The back edges of a depth-first search: without them the graph has no cycle. */
export function backEdges<E extends Edge>(edges: readonly E[]): E[] {
  const leaving = Map.groupBy(edges, ({ from }) => from);
  const state = new Map<string, 'visiting' | 'visited'>();
  const back: E[] = [];
  for (const start of leaving.keys()) {
    if (state.has(start)) continue;
    // A stack instead of recursion: a backlog may be one chain of 100,000 issues.
    const stack: { node: string; next: number }[] = [{ node: start, next: 0 }];
    state.set(start, 'visiting');
    for (let here = stack.at(-1); here !== undefined; here = stack.at(-1)) {
      const edge = leaving.get(here.node)?.[here.next];
      here.next += 1;
      if (edge === undefined) {
        state.set(here.node, 'visited');
        stack.pop();
      } else if (state.get(edge.to) === 'visiting') back.push(edge);
      else if (!state.has(edge.to)) {
        state.set(edge.to, 'visiting');
        stack.push({ node: edge.to, next: 0 });
      }
    }
  }
  return back;
}

/**
 * The strongly connected components of a graph: two nodes are on a common cycle exactly if they have the same number.
 */
export function findComponents(edges: readonly Edge[]): Map<string, number> {
  const leaving = Map.groupBy(edges, ({ from }) => from);
  const [found, lowest] = [new Map<string, number>(), new Map<string, number>()];
  const components = new Map<string, number>();
  const open: string[] = [];
  for (const start of leaving.keys()) {
    if (found.has(start)) continue;
    // Tarjan's algorithm, with a stack instead of recursion as above.
    const stack = [{ node: start, next: 0 }];
    for (let here = stack.at(-1); here !== undefined; here = stack.at(-1)) {
      const { node } = here;
      if (!found.has(node)) {
        lowest.set(node, found.size);
        found.set(node, found.size);
        open.push(node);
      }
      const lower = (by: number | undefined) =>
        lowest.set(node, Math.min(lowest.get(node) ?? 0, by ?? Number.POSITIVE_INFINITY));
      const edge = leaving.get(node)?.[here.next];
      here.next += 1;
      if (edge !== undefined && !found.has(edge.to)) stack.push({ node: edge.to, next: 0 });
      else if (edge !== undefined && !components.has(edge.to)) lower(found.get(edge.to));
      if (edge !== undefined) continue;
      stack.pop();
      if (lowest.get(node) === found.get(node))
        for (const one of open.splice(open.lastIndexOf(node))) components.set(one, lowest.get(node) ?? 0);
      const around = stack.at(-1);
      if (around !== undefined && !components.has(node))
        lowest.set(around.node, Math.min(lowest.get(around.node) ?? 0, lowest.get(node) ?? 0));
    }
  }
  return components;
}
