import { isUnreachable } from '@baton/kernel/database/db';
import type { Logger } from '@baton/kernel/process/log';

/**
 * The pause after the first failure; it doubles. No request waits for background work, so the pause need not be short.
 */
const pauseMsMin = 5000;
const pauseMsMax = 600_000;
/**
 * Maximum number of paused entries. Any beyond that evict the oldest, which are then retried whenever a job finds them,
 * at most once a second.
 */
const entriesMax = 1000;

/** Entries that background work could not handle: skipped for a pause that doubles. Each process has its own list. */
export interface PutOff {
  isWaiting(id: string): boolean;
  /** All paused entries, at most 1,000. */
  waiting(): string[];
  /** Logs the failure with the entry's id and starts its next pause. */
  note(id: string, error: unknown): void;
  /**
   * Handles an entry unless it is paused; an entry that fails is postponed. An error is thrown only if the database is
   * unreachable, because then the entry isn't at fault.
   * @returns the result of `handle`, 0 when it failed or wasn't called
   */
  attempt(id: string, handle: () => Promise<number>): Promise<number>;
}

/**
 * @param job the name of the job in the log
 * @param nowMs a monotonic clock
 */
export function createPutOff(job: string, log: Logger, nowMs = () => performance.now()): PutOff {
  const entries = new Map<string, { failures: number; dueAtMs: number }>();
  const isWaiting = (id: string) => (entries.get(id)?.dueAtMs ?? 0) > nowMs();
  const note = (id: string, error: unknown) => {
    const failures = (entries.get(id)?.failures ?? 0) + 1;
    const waitMs = Math.min(pauseMsMin * 2 ** (failures - 1), pauseMsMax);
    entries.delete(id);
    const [longestKnown] = entries.keys();
    if (entries.size >= entriesMax && longestKnown !== undefined) entries.delete(longestKnown);
    entries.set(id, { failures, dueAtMs: nowMs() + waitMs });
    log.error({ err: error, job, id, failures, waitMs }, 'an entry could not be handled; others continue');
  };
  return {
    isWaiting,
    note,
    waiting: () => [...entries.keys()].filter(isWaiting),
    async attempt(id, handle) {
      if (isWaiting(id)) return 0;
      try {
        const handled = await handle();
        entries.delete(id);
        return handled;
      } catch (error) {
        if (isUnreachable(error)) throw error;
        note(id, error);
        return 0;
      }
    },
  };
}
