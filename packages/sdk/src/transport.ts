import type { RawAnswer, RawBody } from './call.ts';

/** One request as it goes over the wire. */
export interface WireRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: RawBody | undefined;
  readonly signal: AbortSignal;
}

/** Sends one request and resolves with the answer, whatever its status; rejects where there is none. */
export type Transport = (request: WireRequest) => Promise<RawAnswer>;

/**
 * The transport of browsers, Node, Deno, Bun and Cloudflare Workers: fetch. Redirects aren't followed: the access token would
 * reach another address. Workers have no `redirect: 'error'`, so the client refuses the redirect itself.
 * @example
 * const transport: Transport = (request) => {
 *   console.log(request.method, request.url);
 *   return fetchTransport(request);
 * };
 * await createClient({ url, credential: { token }, transport }).tasks.list({ limit: 1 });
 */
export const fetchTransport: Transport = ({ method, url, headers, body, signal }) => {
  const isStream = body instanceof ReadableStream;
  return fetch(url, {
    method,
    headers,
    signal,
    redirect: 'manual',
    ...(body !== undefined && { body }),
    ...(isStream && { duplex: 'half' }),
  });
};
