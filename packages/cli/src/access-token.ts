import { ApiError, apiErrorOf } from './api-error.ts';
import type { HttpClient } from './http-client.ts';

interface Exchange {
  readonly accessToken: string;
  readonly expiresIn: number;
}

const audience = 'control-plane';
const renewBeforeSeconds = 30;

/** Exchanges a personal access token for access tokens to coordination, renewing each before it expires. */
export class AccessToken {
  readonly #identity: HttpClient;
  readonly #personalToken: string;
  #current: Promise<string> | undefined;
  #renewAtMs = 0;
  /** The number of exchanges so far. */
  exchanges = 0;

  constructor(identity: HttpClient, personalToken: string) {
    this.#identity = identity;
    this.#personalToken = personalToken;
  }

  /** @throws ApiError when identity refuses the personal access token */
  get(): Promise<string> {
    if (this.#current === undefined || performance.now() >= this.#renewAtMs) {
      this.#renewAtMs = Number.POSITIVE_INFINITY;
      this.#current = this.#exchange().catch((error: unknown) => {
        this.#current = undefined;
        throw error;
      });
    }
    return this.#current;
  }

  /** Discards the current token, after the service refused it; the next `get` exchanges again. */
  discard(): void {
    this.#current = undefined;
  }

  async #exchange(): Promise<string> {
    const { status, headers, body } = await this.#identity.send(
      'POST',
      '/api/v1/platform-access-tokens:exchange',
      { body: { token: this.#personalToken, audience } },
    );
    // Identity gives the same 401 for every reason, so the message says what helps in any case.
    if (status === 401)
      throw new ApiError(
        status,
        'invalid_token',
        `the personal access token is not valid at ${this.#identity.baseUrl}; is the connection file another Baton's? Starting this one again writes a new file.`,
      );
    if (status !== 200) throw apiErrorOf(status, body, headers['retry-after']);
    const { accessToken, expiresIn } = body as Exchange;
    this.exchanges += 1;
    this.#renewAtMs = performance.now() + Math.max(expiresIn - renewBeforeSeconds, expiresIn / 2) * 1000;
    return accessToken;
  }
}
