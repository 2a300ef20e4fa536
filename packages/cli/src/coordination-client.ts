import { setTimeout as sleep } from 'node:timers/promises';
import type { AccessToken } from './access-token.ts';
import { apiErrorOf } from './api-error.ts';
import type { HttpClient, HttpResponse, RequestOptions } from './http-client.ts';

const retriesMax = 5;
const retryWaitSecondsMax = 5;

/** Calls coordination as one principal. */
export class CoordinationClient {
  readonly access: AccessToken;
  readonly #http: HttpClient;

  constructor(http: HttpClient, access: AccessToken) {
    this.#http = http;
    this.access = access;
  }

  /**
   * Sends one request below /api/v1 and returns the body of a 2xx response. After a 401 it renews the token once; after
   * 429 and 503 it retries up to five times, with growing waits or after Retry-After.
   * @throws ApiError for any other response
   */
  async call<Body>(
    method: string,
    path: string,
    body?: unknown,
    sending: RequestOptions = {},
  ): Promise<Body> {
    let renewed = false;
    for (let attempt = 1; ; attempt += 1) {
      const { status, headers, body: answer } = await this.#send(method, path, body, sending);
      if (status < 300) return answer as Body;
      const error = apiErrorOf(status, answer, headers['retry-after']);
      if (status === 401 && !renewed) {
        renewed = true;
        this.access.discard();
      } else if ((status === 429 || status === 503) && attempt <= retriesMax) {
        await sleep(1000 * Math.min(error.retryAfterSeconds ?? attempt / 4, retryWaitSecondsMax));
      } else throw error;
    }
  }

  async #send(method: string, path: string, body: unknown, sending: RequestOptions): Promise<HttpResponse> {
    const headers = { ...sending.headers, authorization: `Bearer ${await this.access.get()}` };
    return await this.#http.send(method, `/api/v1${path}`, { ...sending, body, headers });
  }
}
