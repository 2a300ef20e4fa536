import { recordedTransaction } from '../../../records/journal/recorded-transaction.ts';
import type { Context } from '../../context.ts';
import { fail } from '../../errors.ts';
import { sourceOf } from './scim-access.ts';

/** Of one kind and source, in this process. */
const runningMax = 4;
/** A list may take seconds. A write takes milliseconds, and directories send many at once. */
const queuedMax = { lists: 32, writes: 500 } as const;
/** As long as a request waits for a database connection. */
const waitMsMax = 5000;

interface Limiter {
  running: number;
  /** Wakes the waiting requests, oldest first. */
  readonly queue: Set<() => void>;
}

/** By kind and source; an entry exists only while work of it is running. */
const limiters = new Map<string, Limiter>();

/**
 * Runs a list or a write of a source, at most 4 of each at a time; others wait in a queue. A filter over a large
 * directory may take seconds, and the writes of a source wait for each other's locks: without the limit, one directory
 * could hold every connection. A queued request holds none.
 * @throws Refusal `unavailable` when the queue is full or the wait exceeds 5 seconds; and whatever `work` throws
 */
export async function limitConcurrency<T>(
  kind: keyof typeof queuedMax,
  sourceId: string,
  work: () => Promise<T>,
): Promise<T> {
  const key = `${kind} ${sourceId}`;
  const limiter = limiters.get(key) ?? { running: 0, queue: new Set() };
  limiters.set(key, limiter);
  if (limiter.running < runningMax) limiter.running += 1;
  else if (limiter.queue.size >= queuedMax[kind] || !(await waitForSlot(limiter)))
    fail('unavailable', {}, { headers: { 'retry-after': '1' }, reason: `too many ${kind} of the source` });
  try {
    return await work();
  } finally {
    const [wakeNext] = limiter.queue;
    if (wakeNext !== undefined) wakeNext();
    else limiter.running -= 1;
    if (limiter.running === 0) limiters.delete(key);
  }
}

/**
 * Runs a write of a source under its limit, in a transaction of its own.
 * @throws as `limitConcurrency`
 */
export function runWrite<T>(context: Context, work: (inside: Context) => Promise<T>): Promise<T> {
  return limitConcurrency('writes', sourceOf(context).id, () => recordedTransaction(context, work));
}

/** @returns false on a timeout; otherwise the finished work has passed on its slot, so `running` stays as it is */
function waitForSlot({ queue }: Limiter): Promise<boolean> {
  return new Promise((resolve) => {
    const wake = () => leave(true);
    const leave = (hasSlot: boolean) => {
      clearTimeout(timer);
      queue.delete(wake);
      resolve(hasSlot);
    };
    const timer = setTimeout(() => leave(false), waitMsMax);
    queue.add(wake);
  });
}
