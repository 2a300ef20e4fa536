import { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import type Provider from 'oidc-provider';
import { type ProviderState, providerState } from './provider-state.ts';

/**
 * Calls the provider library within the process. Every route is an endpoint of identity, with its bounds, limits and
 * description; the library never sees the network.
 */

export interface ProviderCall {
  readonly method: 'GET' | 'POST';
  readonly path: string;
  /** The request that is resumed. The caller has checked that it belongs to this browser. */
  readonly resumes?: string;
  /** The fields of a form. */
  readonly form?: Readonly<Record<string, string>>;
}

export interface ProviderAnswer {
  readonly status: number;
  readonly location: string | undefined;
  readonly body: Readonly<Record<string, unknown>>;
}

/** @throws the refusal that a callback stored, instead of the library's server error */
export async function callProvider(state: ProviderState, call: ProviderCall): Promise<ProviderAnswer> {
  const provider = await state.context.authorizationServer.load();
  const answer = await providerState.run(state, () => send(provider, call));
  if (state.failure instanceof Error) throw state.failure;
  if (answer.status >= 500) throw new Error(`the provider library failed: ${JSON.stringify(answer.body)}`);
  return answer;
}

function send(provider: Provider, { method, path, resumes, form }: ProviderCall): Promise<ProviderAnswer> {
  const request = new IncomingMessage(new Socket());
  // The library uses this cookie to bind a request to a browser; identity uses a secret cookie of its own.
  const cookie = resumes === undefined ? undefined : `${provider.cookieName('resume')}=${resumes}`;
  const body = form === undefined ? '' : new URLSearchParams(form).toString();
  Object.assign(request, { method, url: path, complete: true });
  Object.assign(request.headers, {
    host: new URL(provider.issuer).host,
    accept: 'application/json',
    ...(cookie !== undefined && { cookie }),
    ...(form !== undefined && {
      'content-type': 'application/x-www-form-urlencoded',
      'content-length': String(Buffer.byteLength(body)),
    }),
  });
  request.push(body === '' ? null : body);
  if (body !== '') request.push(null);
  return new Promise((resolve, reject) => {
    const response = new CapturedResponse(request, (text) => {
      const location = response.getHeader('location');
      resolve({
        status: response.statusCode,
        location: typeof location === 'string' ? location : undefined,
        body: parsed(text),
      });
    });
    // The library's handler responds to its own errors; one that escapes must not leave the request waiting.
    Promise.resolve(provider.callback()(request, response)).catch(reject);
  });
}

/** Keeps the response instead of sending it. */
class CapturedResponse extends ServerResponse {
  readonly #done: (text: string) => void;

  constructor(request: IncomingMessage, done: (text: string) => void) {
    super(request);
    this.#done = done;
  }

  override end(...given: unknown[]): this {
    const [chunk] = given;
    this.#done(typeof chunk === 'string' ? chunk : Buffer.isBuffer(chunk) ? chunk.toString() : '');
    this.emit('finish');
    return this;
  }
}

/** The library sends JSON, or text for a redirect, which nobody reads. */
function parsed(text: string): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
  } catch {
    return {};
  }
}
