import { lookup as lookupOfSystem } from 'node:dns/promises';
import http, { type IncomingMessage, type RequestOptions } from 'node:http';
import https from 'node:https';
import { isIP, type LookupFunction } from 'node:net';
import { isPublicAddress } from './public-addresses.ts';

/**
 * Requests to addresses that were set through the API: issuers, key documents, upstream bases, token endpoints of
 * providers.
 */

export type OutboundFailure =
  | 'bad_address'
  | 'not_https'
  | 'not_public'
  | 'name_not_found'
  | 'unreachable'
  | 'too_late'
  | 'bad_status'
  | 'bad_encoding'
  | 'too_large'
  | 'not_json';

/** A request that is not allowed, or that failed. The message contains only the host. */
export class OutboundError extends Error {
  override readonly name = 'OutboundError';
  readonly failure: OutboundFailure;

  constructor(failure: OutboundFailure, host: string, cause?: unknown) {
    super(`${host}: ${failure}`, { cause });
    this.failure = failure;
  }
}

export interface ResolvedAddress {
  readonly address: string;
  readonly family: number;
}

export type Resolver = (host: string) => Promise<readonly ResolvedAddress[]>;

export interface OutboundOptions {
  /** `host` or `host:port`: these may be private and may be called over http. */
  readonly allowedHosts: readonly string[];
  /** Defaults to the system's resolver. */
  readonly resolve?: Resolver;
  readonly timeoutMs?: number;
  readonly bytesMax?: number;
  readonly userAgent?: string;
}

/** A request other than a plain read. */
export interface OutboundRequest {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH';
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  /** The body of the response isn't read, whatever it contains. */
  readonly ignoresBody?: boolean;
}

export interface OutboundAnswer {
  readonly status: number;
  readonly location: string | undefined;
  /** The parsed body of a successful response; undefined without one. Other bodies are not read. */
  readonly json: unknown;
}

const decoder = new TextDecoder('utf-8', { fatal: true });

export class OutboundClient {
  readonly timeoutMs: number;
  readonly #allowedHosts: ReadonlySet<string>;
  readonly #resolve: Resolver;
  readonly #bytesMax: number;
  readonly #userAgent: string;

  constructor(options: OutboundOptions) {
    this.timeoutMs = options.timeoutMs ?? 5000;
    this.#allowedHosts = new Set(options.allowedHosts.map((host) => host.toLowerCase()));
    this.#resolve = options.resolve ?? ((host) => lookupOfSystem(host, { all: true }));
    this.#bytesMax = options.bytesMax ?? 262_144;
    this.#userAgent = options.userAgent ?? 'baton';
  }

  /**
   * Reads a JSON document: status 200, at most 256 KiB, no redirects, no credentials, no proxy. The name is resolved
   * here and the connection goes to the address that was checked, so the name can't resolve to another one in between.
   * @param signal a deadline shared with other requests; 5 seconds by default
   * @throws OutboundError
   */
  async readJson(
    address: string,
    signal: AbortSignal = AbortSignal.timeout(this.timeoutMs),
  ): Promise<unknown> {
    const url = parseAddress(address);
    const { status, text } = await this.#ask(url, { method: 'GET' }, (code) => code === 200, signal);
    if (status !== 200) throw new OutboundError('bad_status', url.host);
    return parseJson(text, url.host);
  }

  /**
   * Sends a request under the rules of `readJson`. Any status is returned; redirects are not followed.
   * @throws OutboundError
   */
  async send(address: string, request: OutboundRequest, signal: AbortSignal): Promise<OutboundAnswer> {
    const url = parseAddress(address);
    const isRead = (code: number) => request.ignoresBody !== true && code >= 200 && code < 300;
    const { status, location, text } = await this.#ask(url, request, isRead, signal);
    return { status, location, json: text === '' ? undefined : parseJson(text, url.host) };
  }

  async #ask(
    url: URL,
    request: OutboundRequest,
    isRead: (status: number) => boolean,
    signal: AbortSignal,
  ): Promise<{ status: number; location: string | undefined; text: string }> {
    const isAllowed = this.#isAllowedByName(url);
    if (url.protocol !== 'https:' && !isAllowed) throw new OutboundError('not_https', url.host);
    const targets = await untilAborted(this.#targetsOf(url, isAllowed), signal, url.host);
    const options: RequestOptions = {
      method: request.method,
      // Connections aren't shared, because a shared one could go to an address that was checked for another request.
      agent: false,
      lookup: answerWith(targets),
      signal,
      maxHeaderSize: 16_384,
      headers: {
        accept: 'application/json',
        'accept-encoding': 'identity',
        'user-agent': this.#userAgent,
        ...request.headers,
        ...(request.body === undefined ? {} : { 'content-length': Buffer.byteLength(request.body) }),
      },
    };
    return new Promise((resolve, reject) => {
      const open = url.protocol === 'https:' ? https.request : http.request;
      const sent = open(url, options, (response) => {
        const { statusCode: status = 0 } = response;
        const { location } = response.headers;
        if (!isRead(status)) {
          sent.destroy();
          return resolve({ status, location, text: '' });
        }
        this.#readBody(url, response).then(
          (text) => resolve({ status, location, text }),
          (error: unknown) => {
            sent.destroy();
            reject(failureOf(error, signal, url.host));
          },
        );
      });
      sent.on('error', (error) => reject(failureOf(error, signal, url.host)));
      sent.end(request.body);
    });
  }

  #isAllowedByName(url: URL): boolean {
    const port = url.port || (url.protocol === 'https:' ? '443' : '80');
    return this.#allowedHosts.has(url.hostname) || this.#allowedHosts.has(`${url.hostname}:${port}`);
  }

  async #targetsOf(url: URL, isAllowed: boolean): Promise<readonly ResolvedAddress[]> {
    const host = url.hostname.replace(/^\[(.*)\]$/, '$1');
    const targets = isIP(host) === 0 ? await this.#lookUp(host) : [{ address: host, family: isIP(host) }];
    // If a name also has a private address, it is refused even if its other addresses are public: the system chooses
    // which of them is used.
    if (!isAllowed && !targets.every((target) => isPublicAddress(target.address)))
      throw new OutboundError('not_public', url.host);
    return targets;
  }

  async #lookUp(host: string): Promise<readonly ResolvedAddress[]> {
    const found = await this.#resolve(host).catch((error: unknown) => {
      throw new OutboundError('name_not_found', host, error);
    });
    if (found.length === 0) throw new OutboundError('name_not_found', host);
    return found;
  }

  async #readBody(url: URL, response: IncomingMessage): Promise<string> {
    const encoding = response.headers['content-encoding'] ?? 'identity';
    if (encoding !== 'identity') throw new OutboundError('bad_encoding', url.host);
    const chunks: Buffer[] = [];
    let bytes = 0;
    for await (const chunk of response as AsyncIterable<Buffer>) {
      bytes += chunk.length;
      if (bytes > this.#bytesMax) throw new OutboundError('too_large', url.host);
      chunks.push(chunk);
    }
    try {
      return decoder.decode(Buffer.concat(chunks));
    } catch {
      throw new OutboundError('not_json', url.host);
    }
  }
}

function parseAddress(address: string): URL {
  let url: URL;
  try {
    url = new URL(address);
  } catch {
    throw new OutboundError('bad_address', 'an address');
  }
  const isHttp = url.protocol === 'https:' || url.protocol === 'http:';
  if (!isHttp || url.username !== '' || url.password !== '') throw new OutboundError('bad_address', url.host);
  return url;
}

function parseJson(text: string, host: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new OutboundError('not_json', host);
  }
}

/** A resolver that returns only the checked addresses. */
function answerWith(targets: readonly ResolvedAddress[]): LookupFunction {
  return (_host, options, answer) => {
    const [first] = targets;
    if (options.all === true) answer(null, targets as { address: string; family: number }[]);
    else answer(null, first?.address ?? '', first?.family ?? 4);
  };
}

/** @throws OutboundError `too_late` when the deadline passes first; the work itself continues */
export function untilAborted<T>(work: Promise<T>, signal: AbortSignal, host: string): Promise<T> {
  return new Promise((resolve, reject) => {
    const abort = () => reject(new OutboundError('too_late', host));
    if (signal.aborted) abort();
    signal.addEventListener('abort', abort, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort));
  });
}

function failureOf(error: unknown, signal: AbortSignal, host: string): OutboundError {
  if (error instanceof OutboundError) return error;
  return new OutboundError(signal.aborted ? 'too_late' : 'unreachable', host, error);
}
