import { BatonError } from './errors.ts';
import { TimeLimit, unlessAborted } from './wait.ts';

/**
 * The client's credential, in one of these forms. The console in the browser passes access tokens that it already has.
 */
export type Credential =
  /**
   * A personal access token, or the token of an agent, which is exchanged for short-lived access tokens. A function is
   * called before each exchange, so that a rotated token takes effect without a restart.
   */
  | { readonly token: string | (() => string | Promise<string>) }
  /** A service account; its credentials are exchanged in the same way as a token. */
  | { readonly clientId: string; readonly clientSecret: string }
  /**
   * Returns a token that the platform of the program issued, such as that of a CI job, for a workload rule of identity.
   * Called before each exchange. `tenantId` is necessary if several tenants trust the same issuer and audience.
   */
  | { readonly assertion: () => string | Promise<string>; readonly tenantId?: string }
  /** Returns an access token. Called again when the previous one has expired or was rejected. */
  | { readonly accessToken: () => Promise<IssuedToken> };

/** An access token with its remaining lifetime in seconds. */
export interface IssuedToken {
  readonly accessToken: string;
  readonly expiresIn: number;
}

/** A token is used for this share of its lifetime, so that it doesn't expire in transit. */
const usedShare = 0.8;
/** An exchange is aborted after this time, so that a later call can start another one. */
const exchangeMsMax = 60_000;

/**
 * The access token for one audience, exchanged on first use and cached for 80 % of its lifetime. Concurrent calls share
 * one exchange.
 */
export class AccessToken {
  /** The number of exchanges so far. */
  exchanges = 0;
  readonly #exchange: () => Promise<IssuedToken>;
  #held: string | undefined;
  #usedUntilMs = 0;
  #inFlight: Promise<string> | undefined;

  constructor(exchange: () => Promise<IssuedToken>) {
    this.#exchange = exchange;
  }

  /**
   * Returns the cached token, or undefined if there is none or it is about to expire.
   * @example
   * console.log(baton.accessToken?.held() === undefined ? 'the next call exchanges' : 'the next call uses this one');
   */
  held(): string | undefined {
    return performance.now() < this.#usedUntilMs ? this.#held : undefined;
  }

  /**
   * Returns the cached token, or otherwise a new one.
   * @param signal ends this wait; the exchange continues for the other callers
   * @example
   * const headers = { authorization: `Bearer ${await baton.accessToken?.get()}` };
   * console.log((await fetch(`${baton.coordinationUrl}/api/v1/tasks`, { headers })).status);
   * @throws the error of the exchange; the signal's reason
   */
  async get(signal?: AbortSignal): Promise<string> {
    const held = this.held();
    if (held !== undefined) return held;
    this.#inFlight ??= this.#renew().finally(() => {
      this.#inFlight = undefined;
    });
    return signal === undefined ? this.#inFlight : unlessAborted(this.#inFlight, signal);
  }

  /**
   * Discards a token that a service rejected. A newer one, from another call's exchange, remains cached.
   * @example
   * const refused = (await baton.accessToken?.get()) ?? '';
   * baton.accessToken?.forget(refused);
   */
  forget(refused: string): void {
    if (this.#held === refused) this.#held = undefined;
  }

  async #renew(): Promise<string> {
    this.exchanges += 1;
    const beganMs = performance.now();
    const limit = new TimeLimit(exchangeMsMax, undefined);
    try {
      const { accessToken, expiresIn } = await unlessAborted(this.#exchange(), limit.signal);
      this.#held = accessToken;
      // An invalid lifetime must not cache a token forever.
      this.#usedUntilMs = Number.isFinite(expiresIn) ? beganMs + expiresIn * 1000 * usedShare : 0;
      return accessToken;
    } catch (cause) {
      if (!limit.isOver) throw cause;
      const message = `no access token was received within ${exchangeMsMax / 1000} s`;
      throw new BatonError({ code: 'network_error', message, retryable: true, cause });
    } finally {
      limit.end();
    }
  }
}
