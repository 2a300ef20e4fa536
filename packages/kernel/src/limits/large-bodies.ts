import { setTimeout as sleep } from 'node:timers/promises';
import { ConcurrencyLimit, Turns } from './concurrency-limit.ts';

/** A body of this size takes a few milliseconds to read at most, and is read at once. */
export const largeBodyBytesMin = 32_768;

/** Per tenant. A waiting request holds its body in memory: 64 MiB at most, since larger ones have taken a place. */
const bounds = { runningMax: 1, queuedMax: 64, waitMsMax: 10_000 };

/** A body of more than this takes a place where its endpoint has `largeBody`; so does one of no declared length. */
export const placeBytesMin = 65_536;
/** A body of 8 MiB takes up to 60 MiB until its response. */
const placesMax = { process: 4, tenant: 2 };
/** A request that waits for a place has sent only its headers. */
const waiting = { queuedMax: 64, waitMsMax: 10_000 };
const places = {
  tenant: new ConcurrencyLimit('large bodies of the tenant', { runningMax: placesMax.tenant, ...waiting }),
  process: new ConcurrencyLimit('large bodies', { runningMax: placesMax.process, ...waiting }),
};

/**
 * Waits for a place for a body, before it is read; the place is returned with the response.
 * @throws Refusal `unavailable` with Retry-After when too many wait
 */
export async function takePlace(tenant: string): Promise<Turns> {
  const place = new Turns([places.tenant, tenant], [places.process, '']);
  await place.enter();
  return place;
}

/**
 * Reads large bodies by steps: 1 MiB can take 0.1 s of the event loop, and 24 of them came in one turn. One step runs
 * at a time in this process, of one body of each tenant, and then the loop belongs to others for as long as the step
 * took.
 */
class LargeBodies {
  readonly #limit = new ConcurrencyLimit('large bodies of the tenant', bounds);
  #last: Promise<unknown> = Promise.resolve();

  /**
   * @param steps what reads the body; it yields wherever others may run
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
