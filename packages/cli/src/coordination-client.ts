import type { BatonClient, RequestOptions } from '@baton/sdk';

/** Calls coordination as one principal, by method and path. */
export class CoordinationClient {
  readonly baton: BatonClient;

  constructor(baton: BatonClient) {
    this.baton = baton;
  }

  /** How many access tokens were exchanged so far. */
  get exchanges(): number {
    return this.baton.accessToken?.exchanges ?? 0;
  }

  /**
   * Sends one request below /api/v1.
   * @throws BatonError for any answer but 2xx
   */
  call<Body>(
    method: string,
    path: string,
    body?: unknown,
    options: Omit<RequestOptions, 'body' | 'query'> = {},
  ): Promise<Body> {
    const given = body === undefined ? options : { ...options, body };
    return this.baton.request(method, `/api/v1${path}`, given) as Promise<Body>;
  }
}
