/**
 * Finds the cycles of a graph.
 * @param edges pairs of names, from and to
 * @returns the shortest cycle through each name on a cycle; each cycle once, with its first name repeated at its end
 */
export function findCycles(edges: Iterable<readonly [string, string]>): string[][] {
  const next = new Map<string, Set<string>>();
  for (const [from, to] of edges) {
    next.set(from, (next.get(from) ?? new Set()).add(to));
    if (!next.has(to)) next.set(to, new Set());
  }
  const found = new Map<string, string[]>();
  for (const component of components(next)) {
    const inside = new Set(component);
    for (const start of component.sort()) {
      const cycle = shortestCycle(start, (name) =>
        [...(next.get(name) ?? [])].filter((one) => inside.has(one)),
      );
      if (cycle === undefined) continue;
      const key = cycle.toSorted().join();
      if (!found.has(key)) found.set(key, [...cycle, start]);
    }
  }
  return [...found.values()];
}

/** Tarjan's strongly connected components: names that all reach one another. */
function components(next: ReadonlyMap<string, ReadonlySet<string>>): string[][] {
  const index = new Map<string, number>();
  const low = new Map<string, number>();
  const stack: string[] = [];
  const onStack = new Set<string>();
  const all: string[][] = [];
  const visit = (name: string): number => {
    const own = index.size;
    index.set(name, own);
    low.set(name, own);
    stack.push(name);
    onStack.add(name);
    for (const to of next.get(name) ?? []) {
      const reached = index.has(to) ? (onStack.has(to) ? (index.get(to) as number) : own) : visit(to);
      low.set(name, Math.min(low.get(name) as number, reached));
    }
    if (low.get(name) === own) {
      const component = stack.splice(stack.indexOf(name));
      for (const one of component) onStack.delete(one);
      all.push(component);
    }
    return low.get(name) as number;
  };
  for (const name of next.keys()) if (!index.has(name)) visit(name);
  return all;
}

/** A breadth-first search from `start` back to itself. */
function shortestCycle(start: string, nextOf: (name: string) => string[]): string[] | undefined {
  let paths = [[start]];
  const seen = new Set<string>();
  while (paths.length > 0) {
    const longer: string[][] = [];
    for (const path of paths)
      for (const name of nextOf(path.at(-1) as string)) {
        if (name === start) return path;
        if (!seen.has(name)) longer.push([...path, name]);
        seen.add(name);
      }
    paths = longer;
  }
  return undefined;
}
