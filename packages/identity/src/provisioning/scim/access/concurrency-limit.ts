import { ConcurrencyLimit } from '@baton/kernel/limits/concurrency-limit';
import { recordedTransaction } from '../../../records/journal/recorded-transaction.ts';
import type { Context } from '../../context.ts';
import { sourceOf } from './scim-access.ts';

/** Limits per kind and source in this process; a request waits as long as it would for a database connection. */
const bounds = { runningMax: 4, waitMsMax: 5000 };
const limits = {
  /** Few may queue, because a list may take seconds. */
  lists: new ConcurrencyLimit('lists of the source', { ...bounds, queuedMax: 32 }),
  /** Many may queue, because a write takes milliseconds, and directories send many at once. */
  writes: new ConcurrencyLimit('writes of the source', { ...bounds, queuedMax: 500 }),
  /** Only two at once, because a response may contain 30 MB, which stay in memory until the client has read them. */
  largeGroups: new ConcurrencyLimit('large groups of the source', { ...bounds, runningMax: 2, queuedMax: 8 }),
};

/**
 * Runs a list or a write of a source, at most 4 of each at a time; others wait in a queue. A filter over a large
 * directory may take seconds, and the writes of a source wait for each other's locks: without the limit, one directory
 * could hold every connection. A queued request holds none.
 * @throws Refusal `unavailable` when the queue is full or the wait exceeds 5 seconds; and whatever `work` throws
 */
export function limitConcurrency<T>(
  kind: keyof typeof limits,
  sourceId: string,
  work: () => Promise<T>,
): Promise<T> {
  return limits[kind].run(sourceId, work);
}

/**
 * Creates a response with a large group, at most 2 at a time per source. A response counts until it is sent or the
 * client has disconnected.
 * @throws as `limitConcurrency`
 */
export function limitLargeGroups<T>(context: Context, view: () => Promise<T>): Promise<T> {
  const made = Promise.withResolvers<T>();
  const isSent = new Promise<void>((sent) => context.whenGone(sent));
  limitConcurrency('largeGroups', sourceOf(context).id, async () => {
    made.resolve(await view());
    await isSent;
  }).catch(made.reject);
  return made.promise;
}

/**
 * Runs a write of a source under its limit, in its own transaction. @throws as `limitConcurrency`
 */
export function runWrite<T>(context: Context, work: (inside: Context) => Promise<T>): Promise<T> {
  return limitConcurrency('writes', sourceOf(context).id, () => recordedTransaction(context, work));
}
