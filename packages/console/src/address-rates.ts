interface Bucket {
  tokens: number;
  filledAtMs: number;
}

/**
 * Requests per address. A burst of 100 is enough for a company behind one address whose people sign in at the same
 * time.
 */
export const rateBounds = { burstMax: 100, perSecond: 1, addressesMax: 10_000 };

/**
 * A token bucket per address, so that nobody can use up the limit of another. Beyond the maximum number of addresses,
 * the least recently used one is dropped.
 */
export class AddressRates {
  readonly #buckets = new Map<string, Bucket>();
  readonly #now: () => number;

  /** @param now a monotonic clock, in milliseconds */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  /** Counts a request. @returns whether it is within the limit */
  take(address: string): boolean {
    const { burstMax, perSecond, addressesMax } = rateBounds;
    const nowMs = this.#now();
    const known = this.#buckets.get(address);
    const filled =
      known === undefined ? burstMax : known.tokens + ((nowMs - known.filledAtMs) / 1000) * perSecond;
    const tokens = Math.min(burstMax, filled);
    const isAllowed = tokens >= 1;
    // Reinserted at the end of the map, so that the first entry is the least recently used.
    this.#buckets.delete(address);
    const [oldest] = this.#buckets.size >= addressesMax ? this.#buckets.keys() : [];
    if (oldest !== undefined) this.#buckets.delete(oldest);
    this.#buckets.set(address, { tokens: isAllowed ? tokens - 1 : tokens, filledAtMs: nowMs });
    return isAllowed;
  }
}
