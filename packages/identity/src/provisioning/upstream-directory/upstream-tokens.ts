import { type OutboundClient, untilAborted } from '@baton/kernel/outbound/outbound';
import { observer } from '@baton/kernel/process/observer';
import type { UpstreamCredentials } from './credentials.ts';
import { fieldsOf } from './protocols.ts';
import { errorOfStatus, UpstreamError, upstreamErrorOf } from './upstream-error.ts';

type Client = Extract<UpstreamCredentials, { clientId: string }>;

interface Entry {
  readonly realm: string;
  token: string | undefined;
  goodUntilMs: number;
  /** The token request in progress, which all callers share. */
  request: Promise<string> | undefined;
}

const tokenForm = /^[\x21-\x7e]{1,16384}$/;
const renewAheadSeconds = 30;
/** The lifetime if the response has no `expires_in`, which is optional in RFC 6749. */
const lifetimeSeconds = 60;

/** Access tokens of directories, obtained by client_credentials and cached until 30 seconds before they expire. */
export class UpstreamTokens {
  readonly #outbound: OutboundClient;
  /** The requests and tokens, by the id of their source. */
  readonly #entries = new Map<string, Entry>();

  constructor(outbound: OutboundClient) {
    this.#outbound = outbound;
  }

  /** @throws UpstreamError `token_…` */
  async tokenOf(sourceId: string, realm: string, client: Client, deadline: AbortSignal): Promise<string> {
    const entry = this.#entryOf(sourceId, realm);
    if (entry.token !== undefined && performance.now() < entry.goodUntilMs) return entry.token;
    entry.request ??= this.#requestToken(entry, client).finally(() => {
      entry.request = undefined;
    });
    try {
      return await untilAborted(entry.request, deadline, 'the token endpoint');
    } catch (error) {
      const { why, cause } = upstreamErrorOf(error);
      // Nothing was written: without a token, no request was sent to the directory.
      throw new UpstreamError(`token_${why}`, true, cause);
    }
  }

  /** Discards a token that the directory refused, unless it has already been replaced. */
  drop(sourceId: string, token: string): void {
    if (this.#entries.get(sourceId)?.token === token) this.#entries.delete(sourceId);
  }

  clear(): void {
    this.#entries.clear();
  }

  #entryOf(sourceId: string, realm: string): Entry {
    const known = this.#entries.get(sourceId);
    if (known?.realm === realm) return known;
    const entry: Entry = { realm, token: undefined, goodUntilMs: 0, request: undefined };
    this.#entries.set(sourceId, entry);
    return entry;
  }

  async #requestToken(entry: Entry, { baseUrl, clientId, clientSecret }: Client): Promise<string> {
    const address = `${baseUrl}/realms/${encodeURIComponent(entry.realm)}/protocol/openid-connect/token`;
    const pair = `${encodeURIComponent(clientId)}:${encodeURIComponent(clientSecret)}`;
    const beganMs = performance.now();
    const { status, json } = await this.#outbound.send(
      address,
      {
        method: 'POST',
        headers: {
          authorization: `Basic ${Buffer.from(pair).toString('base64')}`,
          'content-type': 'application/x-www-form-urlencoded',
        },
        body: 'grant_type=client_credentials',
      },
      // Has its own deadline rather than the caller's, because other callers that share the request may have more time
      // left.
      AbortSignal.timeout(this.#outbound.timeoutMs),
    );
    if (status !== 200) throw errorOfStatus(status);
    const { access_token: token, expires_in: expiresIn = lifetimeSeconds } = fieldsOf(json);
    if (typeof token !== 'string' || !tokenForm.test(token) || typeof expiresIn !== 'number')
      throw new UpstreamError('malformed', true);
    observer()?.made('upstream access token', token);
    entry.token = token;
    entry.goodUntilMs = beganMs + (expiresIn - renewAheadSeconds) * 1000;
    return token;
  }
}
