import { type Edge, findComponents } from './cycles.ts';
import type { LeftOut, Link, SourceItem } from './source.ts';

/** The maximum number of ancestors of an item, and of dependencies that it inherits. */
const bounds = { parentsMax: 50, waitsMax: 50, linksReadMax: 300 } as const;

/**
 * Converts items of trackers in which a child doesn't start while its parent waits: a child inherits its parents'
 * dependencies, is blocked if one of them is, and starts no earlier than they do.
 * @param isHolding whether a blocked parent holds its children back
 */
export function withInheritedWaits(
  items: readonly SourceItem[],
  leftOut: LeftOut,
  isHolding: (parent: SourceItem) => boolean = () => true,
): SourceItem[] {
  const known = new Map(items.map((item) => [item.id, item]));
  const waitsBelow = waitsBelowIn(known);
  const inherited = new Map(items.map((item) => [item.id, inheritedBy(item, known, waitsBelow, isHolding)]));
  const own = items.flatMap((item) => waitsOf(item).map((to): Edge => ({ from: item.id, to })));
  const added = [...inherited].flatMap(([from, { waits }]) => waits.map((to): Edge => ({ from, to })));
  const components = findComponents([...own, ...added]);
  return items.map((item) => {
    const { waits, blockedBy, startDate } = inherited.get(item.id) as Inherited;
    const links = waits
      .filter((to) => components.get(to) !== components.get(item.id))
      .map((to): Link => ({ to, type: 'depends_on' }));
    if (links.length < waits.length)
      leftOut.add('waits, through its parent, for an item that waits for it in turn: that relation', item.id);
    const isHeld = blockedBy !== undefined && item.status !== 'blocked';
    if (isHeld) leftOut.add(`is below a blocked item: blocked too`, `${item.id}: ${blockedBy}`);
    return {
      ...item,
      ...(isHeld && { status: 'blocked' as const }),
      ...(startDate !== undefined && { startDate }),
      links: [...item.links, ...links],
    };
  });
}

interface Inherited {
  readonly waits: readonly string[];
  readonly blockedBy?: string;
  readonly startDate?: string;
}

const isOver = ({ status }: SourceItem): boolean => status === 'done' || status === 'cancelled';

const waitsOf = ({ links }: SourceItem): string[] =>
  links.filter(({ type }) => type === 'depends_on').map(({ to }) => to);

function inheritedBy(
  item: SourceItem,
  known: ReadonlyMap<string, SourceItem>,
  waitsBelow: (parent: SourceItem) => readonly string[],
  isHolding: (parent: SourceItem) => boolean,
): Inherited {
  if (isOver(item)) return { waits: [] };
  const parents = parentsOf(item, known).filter((parent) => !isOver(parent));
  const own = new Set([item.id, ...waitsOf(item)]);
  const waits = new Set(parents.flatMap(waitsBelow).filter((to) => !own.has(to)));
  const holder = parents.find((parent) => parent.status === 'blocked' && isHolding(parent));
  const isBeyond = waits.size > bounds.waitsMax;
  const blockedBy = holder?.id ?? (isBeyond ? parents[0]?.id : undefined);
  const latest = [item, ...parents]
    .flatMap(({ startDate }) => startDate ?? [])
    .sort()
    .at(-1);
  return {
    waits: [...waits].slice(0, bounds.waitsMax),
    ...(blockedBy !== undefined && { blockedBy }),
    ...(latest !== undefined && latest !== item.startDate && { startDate: latest }),
  };
}

/** The inherited dependencies of an item's children. Computed once for each item: it may have 100,000 children. */
function waitsBelowIn(known: ReadonlyMap<string, SourceItem>): (parent: SourceItem) => readonly string[] {
  const memo = new Map<string, readonly string[]>();
  return (parent) => {
    const before = memo.get(parent.id);
    if (before !== undefined) return before;
    const waits: string[] = [];
    for (const to of waitsOf(parent).slice(0, bounds.linksReadMax)) {
      const prerequisite = known.get(to);
      if (prerequisite === undefined || isOver(prerequisite) || waits.length > bounds.waitsMax) continue;
      // A parent that depends on one of its children is done after that child; the other children don't inherit this
      // dependency.
      if (!parentsOf(prerequisite, known).includes(parent)) waits.push(to);
    }
    memo.set(parent.id, waits);
    return waits;
  };
}

function parentsOf(item: SourceItem, known: ReadonlyMap<string, SourceItem>): SourceItem[] {
  const found = new Set<SourceItem>();
  for (let below: SourceItem | undefined = item; below !== undefined && found.size < bounds.parentsMax; ) {
    const to: string | undefined = below.links.find(({ type }) => type === 'parent')?.to;
    const parent: SourceItem | undefined = to === undefined ? undefined : known.get(to);
    if (parent === undefined || parent === item || found.has(parent)) break;
    found.add(parent);
    below = parent;
  }
  return [...found];
}
