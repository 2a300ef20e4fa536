import { instantIn } from './instants.ts';
import type { Source } from './source.ts';
import type { Targets } from './targets.ts';

/**
 * Blocks the items that start later if they would otherwise be offered to agents, because their task type does not hold
 * work back until its start date (`execution.startDateHolds`). The first import after that date opens them.
 */
export function withHeldStarts<Given extends Source>(source: Given, targets: Targets, now: Date): Given {
  const { leftOut } = source;
  const items = source.items.map((item) => {
    const startDate = instantIn(item.startDate ?? '');
    const isLater = startDate !== undefined && Date.parse(startDate) > now.getTime();
    if (!isLater || (item.status !== 'open' && item.status !== 'backlog')) return item;
    const { execution, key } = targets.typeOf(item);
    if (execution?.['startDateHolds'] === true) return item;
    leftOut.add(
      `starts later, and the task type ${key} does not hold tasks until their start date: blocked`,
      `${item.id}: ${startDate}`,
    );
    return { ...item, status: 'blocked' as const };
  });
  return { ...source, items };
}
