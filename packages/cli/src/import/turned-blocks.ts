import type { Link, SourceItem } from './source.ts';

/**
 * Inverts each `blocks` to a `depends_on` if the other item is in the source, too: trackers list a relation on both
 * sides, and only `depends_on` is checked for cycles.
 */
export function withTurnedBlocks(items: readonly SourceItem[]): SourceItem[] {
  const ids = new Set(items.map(({ id }) => id));
  const isTurned = ({ type, to }: Link) => type === 'blocks' && ids.has(to);
  const waits = new Map<string, Link[]>();
  for (const { id, links } of items)
    for (const { to } of links.filter(isTurned)) {
      const known = waits.get(to) ?? [];
      if (known.length === 0) waits.set(to, known);
      known.push({ to: id, type: 'depends_on' });
    }
  return items.map((item) => {
    const links = [...item.links.filter((link) => !isTurned(link)), ...(waits.get(item.id) ?? [])];
    return { ...item, links: distinct(links) };
  });
}

function distinct(links: readonly Link[]): Link[] {
  const seen = new Map(links.map((link) => [JSON.stringify([link.type, link.to]), link]));
  return [...seen.values()];
}
