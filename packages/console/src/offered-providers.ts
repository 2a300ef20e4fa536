import type { RegisteredProvider } from './provider.ts';

type Listed = RegisteredProvider & { readonly key: string };

/** How long the list is used, in milliseconds, and the maximum number of its providers. */
const bounds = { keptMsMax: 2000, keysMax: 50 };

/** Whether people can sign in to the console through a provider that isn't named in a setting. */
export function isOnOffer({ status, offered, principal_kind: kind }: RegisteredProvider): boolean {
  return status === 'active' && offered === true && kind === 'human';
}

/**
 * The providers that identity lists as offered. The list is read again after two seconds, so that a new provider has a
 * button without a restart. Because anybody may request the list, concurrent requests share one read.
 */
export class OfferedProviders {
  readonly #list: (() => Promise<readonly Listed[]>) | undefined;
  readonly #now: () => number;
  #known: readonly string[] = [];
  #untilMs = Number.NEGATIVE_INFINITY;
  #reading: Promise<readonly string[]> | undefined;

  /** @param now a monotonic clock, in milliseconds */
  constructor(list: (() => Promise<readonly Listed[]>) | undefined, now: () => number) {
    this.#list = list;
    this.#now = now;
  }

  /** The keys in the order of the list; while identity doesn't respond, those that were read last. */
  keys(): Promise<readonly string[]> {
    if (this.#list === undefined) return Promise.resolve([]);
    if (this.#now() < this.#untilMs) return Promise.resolve(this.#known);
    this.#reading ??= this.#read(this.#list).finally(() => {
      this.#reading = undefined;
    });
    return this.#reading;
  }

  async #read(list: () => Promise<readonly Listed[]>): Promise<readonly string[]> {
    const listed = await list().catch(() => undefined);
    if (listed !== undefined)
      this.#known = listed
        .filter(isOnOffer)
        .map(({ key }) => key)
        .slice(0, bounds.keysMax);
    this.#untilMs = this.#now() + bounds.keptMsMax;
    return this.#known;
  }
}
