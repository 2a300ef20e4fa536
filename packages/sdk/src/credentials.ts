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

/**
 * The access token of one audience: exchanged when it is first asked for, kept for 80 % of its lifetime. Calls that ask
 * while an exchange is in flight wait for that one.
 */
export class AccessToken {
  /** How many tokens were asked for so far. */
  exchanges = 0;
  readonly #exchange: () => Promise<IssuedToken>;
  #current: Promise<string> | undefined;
  #usedUntilMs = 0;

  constructor(exchange: () => Promise<IssuedToken>) {
    this.#exchange = exchange;
  }

  get(): Promise<string> {
    if (this.#current === undefined || performance.now() >= this.#usedUntilMs) this.#current = this.#renew();
    return this.#current;
  }

  /** Forgets the token that a service refused; a newer one, which another call has got meanwhile, stays. */
  async forget(refused: string): Promise<void> {
    const current = this.#current;
    if ((await current?.catch(() => undefined)) === refused && this.#current === current)
      this.#current = undefined;
  }

  #renew(): Promise<string> {
    // Until it is here, everybody waits for this exchange.
    this.#usedUntilMs = Number.POSITIVE_INFINITY;
    this.exchanges += 1;
    const beganMs = performance.now();
    const renewed = this.#exchange().then(
      ({ accessToken, expiresIn }) => {
        this.#usedUntilMs = beganMs + expiresIn * 1000 * usedShare;
        return accessToken;
      },
      (error: unknown) => {
        if (this.#current === renewed) this.#current = undefined;
        throw error;
      },
    );
    return renewed;
  }
}
