import { fail } from '../service.ts';

const underWayMax = 4;
const waitingMax = 32;
/** As long as for a connection. */
const waitMsMax = 5000;

interface Line {
  underWay: number;
  /** Those whose turn comes next, in order. */
  readonly waiting: Set<() => void>;
}

/** Lists under way in this process, by source. */
const lines = new Map<string, Line>();

/**
 * Runs the search of a list when its source has few others under way: a filter over a large directory may take seconds,
 * and one directory must not hold all connections. Who waits holds none.
 * @throws Refusal `unavailable` when too many wait, or for too long; and whatever `search` throws
 */
export async function inTurn<T>(sourceId: string, search: () => Promise<T>): Promise<T> {
  const line = lines.get(sourceId) ?? { underWay: 0, waiting: new Set() };
  lines.set(sourceId, line);
  if (line.underWay < underWayMax) line.underWay += 1;
  else if (line.waiting.size >= waitingMax || !(await turnOf(line)))
    fail('unavailable', {}, { headers: { 'retry-after': '1' }, reason: 'too many lists of the source' });
  try {
    return await search();
  } finally {
    const [next] = line.waiting;
    if (next !== undefined) next();
    else line.underWay -= 1;
    if (line.underWay === 0) lines.delete(sourceId);
  }
}

/** @returns whether the turn came in time; it is handed over by the one that ends, so `underWay` stays as it is */
function turnOf({ waiting }: Line): Promise<boolean> {
  return new Promise((resolve) => {
    const come = () => end(true);
    const end = (isMine: boolean) => {
      clearTimeout(timer);
      waiting.delete(come);
      resolve(isMine);
    };
    const timer = setTimeout(() => end(false), waitMsMax);
    waiting.add(come);
  });
}
