import { setTimeout as sleep } from 'node:timers/promises';
import type { AccessToken } from './access-token.ts';
import { apiErrorOf } from './api-error.ts';
import type { Answer, HttpClient, Sending } from './http-client.ts';

const retriesMax = 5;
const retryWaitSecondsMax = 5;

/** Calls coordination in the name of one principal. */
export class CoordinationClient {
  readonly access: AccessToken;
  readonly #http: HttpClient;

  constructor(http: HttpClient, access: AccessToken) {
    this.#http = http;
    this.access = access;
  }

  /**
   * Sends one request below /api/v1 and gives the body of a good answer. A token that was refused is renewed once; an
   * overloaded service (429, 503) is asked again, a little later each time.
   * @throws ApiError for every other refusal
   */
  async call<Body>(method: string, path: string, body?: unknown, sending: Sending = {}): Promise<Body> {
    let renewed = false;
    for (let attempt = 1; ; attempt += 1) {
      const { status, headers, body: answer } = await this.#send(method, path, body, sending);
      if (status < 300) return answer as Body;
      const error = apiErrorOf(status, answer, headers['retry-after']);
      if (status === 401 && !renewed) {
        renewed = true;
        this.access.forget();
      } else if ((status === 429 || status === 503) && attempt <= retriesMax) {
        await sleep(1000 * Math.min(error.retryAfterSeconds ?? attempt / 4, retryWaitSecondsMax));
      } else throw error;
    }
  }

  async #send(method: string, path: string, body: unknown, sending: Sending): Promise<Answer> {
    const headers = { ...sending.headers, authorization: `Bearer ${await this.access.get()}` };
    return await this.#http.send(method, `/api/v1${path}`, { ...sending, body, headers });
  }
}
