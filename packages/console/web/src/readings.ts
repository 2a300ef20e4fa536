/** In milliseconds and times. */
export const readingBounds = {
  /** Changes are gathered for this long: a busy tenant writes thousands of events a second. */
  gatherMs: 400,
  /** After each reading the page rests for this many times its length: a slow Baton is asked less often. */
  restTimes: 4,
  restMsMax: 10_000,
};

/** Has each key read again soon after it is wanted: one reading at a time, with a rest after each. */
export class Readings {
  readonly #read: (key: string) => Promise<unknown>;
  /** Keys that are read, or rest, and whether they are wanted again. */
  readonly #busy = new Map<string, boolean>();
  readonly #timers = new Set<ReturnType<typeof setTimeout>>();

  readonly #bounds: typeof readingBounds;

  constructor(read: (key: string) => Promise<unknown>, bounds = readingBounds) {
    this.#read = read;
    this.#bounds = bounds;
  }

  want(key: string): void {
    const isBusy = this.#busy.has(key);
    this.#busy.set(key, isBusy);
    if (!isBusy) this.#after(this.#bounds.gatherMs, () => void this.#once(key));
  }

  stop(): void {
    for (const timer of this.#timers) clearTimeout(timer);
  }

  async #once(key: string): Promise<void> {
    this.#busy.set(key, false);
    const { gatherMs, restTimes, restMsMax } = this.#bounds;
    const beganMs = performance.now();
    // Who shows it, shows the failure too.
    await this.#read(key).catch(() => undefined);
    const restMs = Math.min((performance.now() - beganMs) * restTimes, restMsMax);
    this.#after(Math.max(gatherMs, restMs), () => {
      if (this.#busy.get(key)) void this.#once(key);
      else this.#busy.delete(key);
    });
  }

  #after(ms: number, act: () => void): void {
    const timer = setTimeout(() => {
      this.#timers.delete(timer);
      act();
    }, ms);
    this.#timers.add(timer);
  }
}
