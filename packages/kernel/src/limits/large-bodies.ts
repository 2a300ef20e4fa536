import { setTimeout as sleep } from 'node:timers/promises';
import { ConcurrencyLimit, Turns } from './concurrency-limit.ts';

/** A body up to this size takes at most a few milliseconds to parse, and is parsed at once. */
export const largeBodyBytesMin = 32_768;

/** Per tenant. A waiting request holds its body in memory: 64 MiB at most, since larger bodies have acquired a slot. */
const bounds = { runningMax: 1, queuedMax: 64, waitMsMax: 10_000 };

/** A body above this size needs a slot if its endpoint has `largeBody`; so does a body without a declared length. */
export const placeBytesMin = 65_536;
/** A body of 8 MiB uses up to 60 MiB of memory until its response. */
const placesMax = { process: 4, tenant: 2 };
/** Up to 1,000 requests may wait, because each has sent only its headers. */
const waiting = { queuedMax: 64, waitMsMax: 10_000 };
const places = {
  tenant: new ConcurrencyLimit('large bodies of the tenant', { runningMax: placesMax.tenant, ...waiting }),
  process: new ConcurrencyLimit('large bodies', { runningMax: placesMax.process, ...waiting }),
};

/**
 * Waits for a slot before a body is read; the slot is released with the response.
 * @throws Refusal `unavailable` with Retry-After when too many wait
 */
export async function takePlace(tenant: string): Promise<Turns> {
  const place = new Turns([places.tenant, tenant], [places.process, '']);
  await place.enter();
  return place;
}

/**
 * Reads large bodies in steps: parsing 1 MiB can block the event loop for 0.1 s, and 24 such bodies were once parsed in
 * one iteration. One step runs at a time in this process, for one body per tenant, and then yields the event loop for
 * as long as the step took.
 */
class LargeBodies {
  readonly #limit = new ConcurrencyLimit('large bodies of the tenant', bounds);
  #last: Promise<unknown> = Promise.resolve();

  /**
   * @param steps reads the body, and yields where other work may run
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
