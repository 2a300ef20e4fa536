import { BatonError } from './errors.ts';
import { TimeLimit, unlessAborted } from './waiting.ts';

/** How the client proves who it is. One of these; the browser's console gives access tokens that it got elsewhere. */
export type Credential =
  /**
   * A personal access token, or the token of an agent: it is exchanged for short-lived access tokens. A function is asked
   * before each exchange, so that a token that was rotated is found without a restart.
   */
  | { readonly token: string | (() => string | Promise<string>) }
  /** A service account: exchanged likewise. */
  | { readonly clientId: string; readonly clientSecret: string }
  /** Gives an access token when asked; asked again when the one before is over or was refused. */
  | { readonly accessToken: () => Promise<IssuedToken> };

/** An access token with its remaining lifetime in seconds. */
export interface IssuedToken {
  readonly accessToken: string;
  readonly expiresIn: number;
}

/** A token is used for this share of its lifetime, so that it does not expire on its way. */
const usedShare = 0.8;
/** An exchange that takes longer is given up, so that a later call can begin another one. */
const exchangeMsMax = 60_000;

/**
 * The access token of one audience: exchanged when it is first asked for, kept for 80 % of its lifetime. Calls that ask
 * while an exchange is in flight wait for that one.
 */
export class AccessToken {
  /** How many tokens were asked for so far. */
  exchanges = 0;
  readonly #exchange: () => Promise<IssuedToken>;
  #held: string | undefined;
  #usedUntilMs = 0;
  #inFlight: Promise<string> | undefined;

  constructor(exchange: () => Promise<IssuedToken>) {
    this.#exchange = exchange;
  }

  /**
   * The token that is kept; undefined where there is none, or it is to be used no more.
   * @example
   * console.log(baton.accessToken?.held() === undefined ? 'the next call exchanges' : 'the next call uses this one');
   */
  held(): string | undefined {
    return performance.now() < this.#usedUntilMs ? this.#held : undefined;
  }

  /**
   * The token that is kept, else a new one.
   * @param signal ends this wait; the exchange goes on for the others that wait
   * @example
   * const headers = { authorization: `Bearer ${await baton.accessToken?.get()}` };
   * console.log((await fetch(`${baton.coordinationUrl}/api/v1/tasks`, { headers })).status);
   * @throws what the exchange failed with; the signal's reason
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
   * Forgets the token that a service refused; a newer one, which another call has got meanwhile, stays.
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
      // A lifetime that is no number must not make a token that is kept forever.
      this.#usedUntilMs = Number.isFinite(expiresIn) ? beganMs + expiresIn * 1000 * usedShare : 0;
      return accessToken;
    } catch (cause) {
      if (!limit.isOver) throw cause;
      const message = `no access token came in ${exchangeMsMax / 1000} s`;
      throw new BatonError({ code: 'network_error', message, retryable: true, cause });
    } finally {
      limit.end();
    }
  }
}
