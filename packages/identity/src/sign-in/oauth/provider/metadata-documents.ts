import { clientOfAddress } from '@baton/kernel/listener/counted-address';
import { type OutboundClient, OutboundError, type OutboundFailure } from '@baton/kernel/outbound/outbound';
import { isRedirectUri } from '../clients/oauth-client.ts';

/**
 * Client ID metadata documents: a client is described by a document at its id (see docs/reference/oauth.md#clients).
 */

/** How many documents strangers can have fetched, per address and minute, and at the same time. */
export const documentBounds = {
  ofAddressMax: 20,
  windowMs: 60_000,
  addressesMax: 10_000,
  runningMax: 20,
  // Lower than the total, so that documents that arrive slowly can't occupy everybody's slots.
  runningOfAddressMax: 4,
};
const timeoutMs = 4000;
/** The failures of a public address that responded, but without a usable document. */
const badDocuments: readonly OutboundFailure[] = ['bad_status', 'bad_encoding', 'too_large', 'not_json'];

/** The client no longer has a document, in contrast to one that can't be fetched now. */
export class BadDocument extends Error {
  override readonly name = 'BadDocument';
}

export interface DocumentFetch {
  /** Whether another document may be fetched for this address now. */
  isAllowed(address: string): boolean;
  /** Has the signature of `fetch`, as the library requires, except for the additional address of the caller. */
  fetch(url: string | URL | Request, address: string): Promise<Response>;
}

/** Fetches under the outbound rules: https, public addresses only, no redirects, one deadline, a bounded size. */
export function createDocumentFetch(outbound: OutboundClient): DocumentFetch {
  const windows = new Map<string, { count: number; endsMs: number }>();
  /** The keys of the callers' addresses, one for each running fetch. */
  const running: string[] = [];
  const isFull = (key: string) =>
    running.length >= documentBounds.runningMax ||
    running.filter((one) => one === key).length >= documentBounds.runningOfAddressMax;
  return {
    isAllowed(address) {
      const nowMs = performance.now();
      for (const [oldest, { endsMs }] of windows) {
        if (endsMs > nowMs && windows.size < documentBounds.addressesMax) break;
        windows.delete(oldest);
      }
      const key = clientOfAddress(address);
      const window = windows.get(key) ?? { count: 0, endsMs: nowMs + documentBounds.windowMs };
      window.count += 1;
      windows.set(key, window);
      return window.count <= documentBounds.ofAddressMax && !isFull(key);
    },
    async fetch(url, address) {
      const key = clientOfAddress(address);
      if (isFull(key)) throw new Error('too many documents are being fetched');
      running.push(key);
      try {
        const document = await outbound.readJson(
          url instanceof Request ? url.url : String(url),
          AbortSignal.timeout(timeoutMs),
        );
        return Response.json(withApplicationType(withSafeRedirects(document)));
      } catch (error) {
        // The client chooses the address, so it must not learn what is behind it.
        if (error instanceof OutboundError && badDocuments.includes(error.failure))
          throw new BadDocument('the address has no document', { cause: error });
        if (error instanceof OutboundError)
          throw new Error('the document could not be read', { cause: error });
        throw error;
      } finally {
        running.splice(running.indexOf(key), 1);
      }
    },
  };
}

/**
 * Strangers write the document, and the library accepts any scheme and, for web applications, unencrypted addresses.
 * Addresses that nobody could register are ignored, so that the client's others still work.
 */
function withSafeRedirects(document: unknown): unknown {
  if (typeof document !== 'object' || document === null) return document;
  const { redirect_uris: uris } = document as { redirect_uris?: unknown };
  if (!Array.isArray(uris)) return document;
  const safe = uris.filter((uri) => typeof uri === 'string' && isRedirectUri(uri));
  return { ...document, redirect_uris: safe };
}

/**
 * Clients on people's machines seldom declare that they are native, and listen on any port of the loopback address (RFC
 * 8252, section 7.3).
 */
function withApplicationType(document: unknown): unknown {
  if (typeof document !== 'object' || document === null || 'application_type' in document) return document;
  const { redirect_uris: uris } = document as { redirect_uris?: unknown };
  const isNative = Array.isArray(uris) && uris.some((uri) => typeof uri === 'string' && isOfThisMachine(uri));
  return isNative ? { ...document, application_type: 'native' } : document;
}

function isOfThisMachine(uri: string): boolean {
  const url = URL.parse(uri);
  if (url === null || url.protocol === 'https:') return false;
  return url.protocol !== 'http:' || ['127.0.0.1', '[::1]', 'localhost'].includes(url.hostname);
}
