import { isUnreachable } from '@baton/kernel/database/db';
import type { Logger } from '@baton/kernel/process/log';

/** The pause after the first failure; it doubles. Nothing waits for background work, so it need not be short. */
const pauseMsMin = 5000;
const pauseMsMax = 600_000;
/** What is beyond is forgotten, the longest known first, and tried whenever a job comes by it, once a second at most. */
const entriesMax = 1000;

/** Entries that background work could not handle: left alone for a pause that doubles. Each process has its own. */
export interface PutOff {
  isWaiting(id: string): boolean;
  /** All that are waiting now, at most 1,000. */
  waiting(): string[];
  /** Logs the failure with the entry's id, and begins its next pause. */
  note(id: string, error: unknown): void;
  /**
   * Handles an entry that isn't waiting; one that fails is put off. Only an unreachable database is thrown: that is no
   * fault of the entry.
   * @returns what `handle` does, 0 when it failed or wasn't called
   */
  attempt(id: string, handle: () => Promise<number>): Promise<number>;
}

/**
 * @param job names the entries in the log
 * @param nowMs a clock that is never set back
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
    log.error({ err: error, job, id, failures, waitMs }, 'an entry could not be handled, the others go on');
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
