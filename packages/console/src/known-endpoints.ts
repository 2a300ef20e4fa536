import { discover, type Outbound, type ProviderEndpoints } from './provider.ts';

/** In milliseconds. A provider that does not answer is asked again soon, and not for each request. */
export const discoveryBounds = { keptMsMax: 300_000, failedMsMax: 2000 };

interface Known {
  readonly issuer: string;
  readonly endpoints: Promise<ProviderEndpoints>;
  untilMs: number;
}

/** Discovery documents of the providers that are offered, each read once for all who ask meanwhile, and kept for five minutes. */
export class KnownEndpoints {
  readonly #known = new Map<string, Known>();
  readonly #outbound: Outbound;
  readonly #now: () => number;

  /** @param now milliseconds of a clock that does not go back */
  constructor(outbound: Outbound, now: () => number) {
    this.#outbound = outbound;
    this.#now = now;
  }

  /**
   * @param provider its key; there are as many as the settings name
   * @throws ConsoleRefusal 503 where the provider does not answer as it should
   */
  of(provider: string, issuer: string): Promise<ProviderEndpoints> {
    const found = this.#known.get(provider);
    if (found?.issuer === issuer && this.#now() < found.untilMs) return found.endpoints;
    const endpoints = discover(this.#outbound, issuer);
    const known: Known = { issuer, endpoints, untilMs: Number.POSITIVE_INFINITY };
    this.#known.set(provider, known);
    const keep = (forMs: number) => () => {
      known.untilMs = this.#now() + forMs;
    };
    endpoints.then(keep(discoveryBounds.keptMsMax), keep(discoveryBounds.failedMsMax));
    return endpoints;
  }

  /** Those of a provider that was asked before. @throws ConsoleRefusal 503, as `of` */
  async again(provider: string): Promise<ProviderEndpoints | undefined> {
    const found = this.#known.get(provider);
    return found && this.of(provider, found.issuer);
  }
}
