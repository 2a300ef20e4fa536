interface Bucket {
  tokens: number;
  filledAtMs: number;
}

/** Requests per address. 100 at once is enough for a company behind one address whose people sign in at the same hour. */
export const rateBounds = { burstMax: 100, perSecond: 1, addressesMax: 10_000 };

/**
 * How often each address may do something: so many times at once, then so often a second. Of too many addresses the one that
 * was unused for longest is forgotten; each has a bound of its own, so that nobody uses up another's.
 */
export class AddressRates {
  readonly #buckets = new Map<string, Bucket>();
  readonly #now: () => number;

  /** @param now milliseconds of a clock that does not go back */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  /** Counts one more. @returns whether the address may do it */
  take(address: string): boolean {
    const { burstMax, perSecond, addressesMax } = rateBounds;
    const nowMs = this.#now();
    const known = this.#buckets.get(address);
    const filled =
      known === undefined ? burstMax : known.tokens + ((nowMs - known.filledAtMs) / 1000) * perSecond;
    const tokens = Math.min(burstMax, filled);
    const isAllowed = tokens >= 1;
    // Set again, it is the last of the map: the first is the one that was unused for longest.
    this.#buckets.delete(address);
    const [oldest] = this.#buckets.size >= addressesMax ? this.#buckets.keys() : [];
    if (oldest !== undefined) this.#buckets.delete(oldest);
    this.#buckets.set(address, { tokens: isAllowed ? tokens - 1 : tokens, filledAtMs: nowMs });
    return isAllowed;
  }
}
