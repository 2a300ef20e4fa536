import type { Holding } from '@baton/sdk';

const endOf = ({ endedAt }: Holding): number =>
  endedAt === null ? Number.POSITIVE_INFINITY : Date.parse(endedAt);

/** Distributes claims over lanes, so that claims in one lane don't overlap. Each is placed in the first free lane. */
export function lanesOf(held: readonly Holding[]): Holding[][] {
  const lanes: Holding[][] = [];
  const oldestFirst = held.toSorted((a, b) => Date.parse(a.acquiredAt) - Date.parse(b.acquiredAt));
  for (const one of oldestFirst) {
    const free = lanes.find((lane) => endOf(lane.at(-1) as Holding) <= Date.parse(one.acquiredAt));
    if (free === undefined) lanes.push([one]);
    else free.push(one);
  }
  return lanes;
}
