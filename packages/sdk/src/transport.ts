import type { RawAnswer, RawBody } from './call.ts';

/** One HTTP request. */
export interface WireRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: RawBody | undefined;
  readonly signal: AbortSignal;
}

/** Sends one request and resolves with the response, whatever its status; rejects if there is no response. */
export type Transport = (request: WireRequest) => Promise<RawAnswer>;

/**
 * The transport of browsers, Node, Deno, Bun and Cloudflare Workers: fetch. Redirects aren't followed, because another
 * address would receive the access token. Workers have no `redirect: 'error'`, so the client itself refuses redirects.
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
