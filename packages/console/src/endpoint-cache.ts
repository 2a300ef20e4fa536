import { discover, type Outbound, type ProviderEndpoints } from './provider.ts';

/** In milliseconds. A failed discovery is retried soon, but not on every request. */
export const discoveryBounds = { keptMsMax: 300_000, failedMsMax: 2000 };
const providersMax = 200;

interface Known {
  readonly issuer: string;
  readonly endpoints: Promise<ProviderEndpoints>;
  untilMs: number;
}

/** Caches the providers' discovery documents for five minutes. Concurrent requests share one fetch. */
export class EndpointCache {
  readonly #known = new Map<string, Known>();
  readonly #outbound: Outbound;
  readonly #now: () => number;

  /** @param now a monotonic clock, in milliseconds */
  constructor(outbound: Outbound, now: () => number) {
    this.#outbound = outbound;
    this.#now = now;
  }

  /**
   * @param provider the key of an offered provider; beyond 200 providers the oldest entry is dropped
   * @throws ConsoleRefusal 503 if the provider's response is missing or invalid
   */
  of(provider: string, issuer: string): Promise<ProviderEndpoints> {
    const found = this.#known.get(provider);
    if (found?.issuer === issuer && this.#now() < found.untilMs) return found.endpoints;
    const endpoints = discover(this.#outbound, issuer);
    const known: Known = { issuer, endpoints, untilMs: Number.POSITIVE_INFINITY };
    this.#known.delete(provider);
    const [oldest] = this.#known.keys();
    if (this.#known.size >= providersMax && oldest !== undefined) this.#known.delete(oldest);
    this.#known.set(provider, known);
    const keep = (forMs: number) => () => {
      known.untilMs = this.#now() + forMs;
    };
    endpoints.then(keep(discoveryBounds.keptMsMax), keep(discoveryBounds.failedMsMax));
    return endpoints;
  }

  /** The endpoints of a provider that was resolved before. @throws ConsoleRefusal 503, like `of` */
  async again(provider: string): Promise<ProviderEndpoints | undefined> {
    const found = this.#known.get(provider);
    return found && this.of(provider, found.issuer);
  }
}
