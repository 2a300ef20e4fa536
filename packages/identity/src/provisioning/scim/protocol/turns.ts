import type { Context } from '../../context.ts';
import { recordedTransaction } from '../../../records/journal/recorded-transaction.ts';
import { fail } from '../../errors.ts';
import { sourceOf } from './scim-access.ts';

const underWayMax = 4;
/** A list may take seconds. A write takes milliseconds, and directories send many at once. */
const waitingMax = { lists: 32, writes: 500 } as const;
/** As long as for a connection. */
const waitMsMax = 5000;

interface Line {
  underWay: number;
  /** Those whose turn comes next, in order. */
  readonly waiting: Set<() => void>;
}

/** What is under way in this process, by kind and source. */
const lines = new Map<string, Line>();

/**
 * Runs a list or a write when its source has few others under way: a filter over a large directory may take seconds, the
 * writes of a source wait for each other's locks, and one directory must not hold all connections. Who waits holds none.
 * @throws Refusal `unavailable` when too many wait, or for too long; and whatever `work` throws
 */
export async function inTurn<T>(
  kind: keyof typeof waitingMax,
  sourceId: string,
  work: () => Promise<T>,
): Promise<T> {
  const key = `${kind} ${sourceId}`;
  const line = lines.get(key) ?? { underWay: 0, waiting: new Set() };
  lines.set(key, line);
  if (line.underWay < underWayMax) line.underWay += 1;
  else if (line.waiting.size >= waitingMax[kind] || !(await turnOf(line)))
    fail('unavailable', {}, { headers: { 'retry-after': '1' }, reason: `too many ${kind} of the source` });
  try {
    return await work();
  } finally {
    const [next] = line.waiting;
    if (next !== undefined) next();
    else line.underWay -= 1;
    if (line.underWay === 0) lines.delete(key);
  }
}

/**
 * Runs a write of a source in its turn, in a transaction of its own.
 * @throws as `inTurn`
 */
export function writeInTurn<T>(context: Context, work: (inside: Context) => Promise<T>): Promise<T> {
  return inTurn('writes', sourceOf(context).id, () => recordedTransaction(context, work));
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
