import { setTimeout as sleep } from 'node:timers/promises';
import { ConcurrencyLimit } from './concurrency-limit.ts';

/** A body of this size takes a few milliseconds to read at most, and is read at once. */
export const largeBodyBytesMin = 32_768;

/** Of one tenant. What waits holds its body in memory: 64 MiB at most. */
const bounds = { runningMax: 1, queuedMax: 64, waitMsMax: 10_000 };

/**
 * Reads large bodies by steps: 1 MiB can take 0.1 s of the event loop, and 24 of them came in one turn. One step runs at
 * a time in this process, of one body of each tenant, and then the loop belongs to others for as long as the step took.
 */
class LargeBodies {
  readonly #limit = new ConcurrencyLimit('large bodies of the tenant', bounds);
  #last: Promise<unknown> = Promise.resolve();

  /**
   * @param steps what reads the body; it yields wherever others may go on
   * @throws Refusal `unavailable` when too many wait; and whatever a step throws
   */
  read<T>(tenant: string, steps: Iterator<void, T>): Promise<T> {
    return this.#limit.run(tenant, async () => {
      for (;;) {
        const { done, value } = await this.#inTurn(() => steps.next());
        if (done) return value;
      }
    });
  }

  #inTurn<T>(step: () => T): Promise<T> {
    const before = this.#last;
    return new Promise((resolve, reject) => {
      this.#last = before.then(() => {
        const startedAt = performance.now();
        try {
          resolve(step());
        } catch (error) {
          reject(error instanceof Error ? error : new Error(String(error)));
        }
        return sleep(Math.ceil(performance.now() - startedAt));
      });
    });
  }
}

export const largeBodies = new LargeBodies();

/** Takes all steps at once. */
export function finished<T>(steps: Iterator<void, T>): T {
  for (;;) {
    const { done, value } = steps.next();
    if (done) return value;
  }
}
