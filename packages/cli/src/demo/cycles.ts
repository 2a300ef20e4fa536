export interface Edge {
  readonly from: string;
  readonly to: string;
}

/** The edges without which the graph has no cycle: those that lead back to a node on the way from where one began. */
export function closingEdges<E extends Edge>(edges: readonly E[]): E[] {
  const leaving = Map.groupBy(edges, ({ from }) => from);
  const state = new Map<string, 'on the way' | 'left'>();
  const closing: E[] = [];
  for (const start of leaving.keys()) {
    if (state.has(start)) continue;
    // Its own stack instead of recursion: a backlog may be one chain of a hundred thousand.
    const way: { node: string; next: number }[] = [{ node: start, next: 0 }];
    state.set(start, 'on the way');
    for (let here = way.at(-1); here !== undefined; here = way.at(-1)) {
      const edge = leaving.get(here.node)?.[here.next];
      here.next += 1;
      if (edge === undefined) {
        state.set(here.node, 'left');
        way.pop();
      } else if (state.get(edge.to) === 'on the way') closing.push(edge);
      else if (!state.has(edge.to)) {
        state.set(edge.to, 'on the way');
        way.push({ node: edge.to, next: 0 });
      }
    }
  }
  return closing;
}
