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
