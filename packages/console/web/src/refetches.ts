/** In milliseconds and times. */
export const refetchBounds = {
  /** How long changes are batched: a busy tenant writes thousands of events a second. */
  gatherMs: 400,
  /**
   * After each refetch the page pauses for this many times the refetch's duration, so that a slow Baton gets fewer
   * requests.
   */
  restTimes: 4,
  restMsMax: 10_000,
};

/** Refetches each requested key soon: one refetch per key at a time, with a pause after each. */
export class Refetches {
  readonly #read: (key: string) => Promise<unknown>;
  /** Keys that are being refetched or paused, and whether they were requested again. */
  readonly #busy = new Map<string, boolean>();
  readonly #timers = new Set<ReturnType<typeof setTimeout>>();

  readonly #bounds: typeof refetchBounds;

  constructor(read: (key: string) => Promise<unknown>, bounds = refetchBounds) {
    this.#read = read;
    this.#bounds = bounds;
  }

  request(key: string): void {
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
    // The component that shows the data also shows the error.
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
