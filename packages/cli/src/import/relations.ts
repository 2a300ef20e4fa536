import { backEdges, type Edge } from './cycles.ts';

/** What an item becomes: open work, a completed task, or a cancelled one. */
export type Fate = 'open' | 'done' | 'deleted';

export interface PlannedRelation {
  readonly from: string;
  readonly to: string;
  readonly type: 'depends_on' | 'parent' | 'related_to' | 'blocks' | 'spawned_by';
}

/** The number of skipped relations, by reason. */
export interface Dropped {
  /** They point to a missing item. */
  dangling: number;
  /** They would close a cycle, in which no task could ever start. */
  closingCycle: number;
  /** They wait for a deleted item, which will never be done. */
  waitingForDeleted: number;
  /** They duplicate another relation, or point to their own item. */
  repeated: number;
}

/**
 * Returns the relations that can be created.
 * @param fates the outcome of every item, by its name @param dropped called for the others
 */
export function keepRelations(
  wanted: readonly PlannedRelation[],
  fates: ReadonlyMap<string, Fate>,
  dropped: Dropped,
): PlannedRelation[] {
  const seen = new Set<string>();
  const kept: PlannedRelation[] = [];
  for (const { from, to, type } of wanted) {
    const key = JSON.stringify([from, to, type]);
    const waitsForDeleted =
      type === 'depends_on' && fates.get(to) === 'deleted' && fates.get(from) === 'open';
    if (!fates.has(to)) dropped.dangling += 1;
    else if (to === from || seen.has(key)) dropped.repeated += 1;
    else if (waitsForDeleted) dropped.waitingForDeleted += 1;
    else kept.push({ from, to, type });
    seen.add(key);
  }
  return withoutCycles(kept, dropped);
}

function withoutCycles(relations: readonly PlannedRelation[], dropped: Dropped): PlannedRelation[] {
  const closing = new Set<Edge>(
    (['depends_on', 'parent'] as const).flatMap((kind) =>
      backEdges(relations.filter(({ type }) => type === kind)),
    ),
  );
  dropped.closingCycle = closing.size;
  return relations.filter((relation) => !closing.has(relation));
}

/** One line per reason; empty if no relation was skipped. */
export function describeDropped({ dangling, closingCycle, waitingForDeleted, repeated }: Dropped): string[] {
  const reasons: [number, string][] = [
    [dangling, 'point to an issue that is not in the backlog'],
    [closingCycle, 'would close a cycle'],
    [waitingForDeleted, 'wait for a deleted issue'],
    [repeated, 'are duplicates or point to their own issue'],
  ];
  return reasons
    .filter(([count]) => count > 0)
    .map(([count, reason]) => `${count} dependencies left out: they ${reason}.`);
}
