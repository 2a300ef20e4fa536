import type { Logger } from '@baton/kernel/log';
import { type CryptoKey, importJWK, type JWK, type KeyObject } from 'jose';

export interface JwksOptions {
  url: string;
  refreshAfterMs: number;
  staleAfterMs: number;
  minRefreshIntervalMs: number;
  requestTimeoutMs: number;
  log: Logger;
}

/** The key source is out of reach and what is known is too old. */
export class KeysUnavailableError extends Error {}

/** The published keys of identity, by key id. */
export interface Jwks {
  /**
   * The key with that id, or undefined when identity doesn't publish it.
   * @throws KeysUnavailableError
   */
  find(keyId: string): Promise<CryptoKey | KeyObject | Uint8Array | undefined>;
}

const documentBytesMax = 256 * 1024;
const keysMax = 50;

/**
 * Keys are fetched when they are older than `refreshAfterMs`, and at once (but not more often than every
 * `minRefreshIntervalMs`) for a key id that isn't known, which is how a rotation is met. One fetch serves everybody who
 * waits for it. While the source is out of reach, known keys serve until `staleAfterMs`.
 */
export function createJwks(options: JwksOptions): Jwks {
  let keys = new Map<string, CryptoKey | KeyObject | Uint8Array>();
  let fetchedAt = Number.NEGATIVE_INFINITY;
  let triedAt = Number.NEGATIVE_INFINITY;
  let underWay: Promise<void> | undefined;

  const age = () => performance.now() - fetchedAt;
  const mayTry = () => performance.now() - triedAt >= options.minRefreshIntervalMs;

  function refresh(): Promise<void> {
    underWay ??= load().finally(() => {
      underWay = undefined;
    });
    return underWay;
  }

  async function load(): Promise<void> {
    triedAt = performance.now();
    try {
      keys = await readKeys(await fetchDocument(options));
      fetchedAt = performance.now();
    } catch (error) {
      options.log.warn(
        { err: error, ageSeconds: Math.round(age() / 1000) },
        'signing keys could not be fetched',
      );
    }
  }

  return {
    async find(keyId) {
      if (age() > options.refreshAfterMs && (mayTry() || underWay !== undefined || fetchedAt < 0)) {
        // Keys that still serve are used at once; only without them is the answer waited for.
        const fetched = refresh();
        if (age() > options.staleAfterMs) await fetched;
      }
      if (age() > options.staleAfterMs) throw new KeysUnavailableError();
      if (!keys.has(keyId) && (mayTry() || underWay !== undefined)) await refresh();
      return keys.get(keyId);
    },
  };
}

async function fetchDocument({ url, requestTimeoutMs }: JwksOptions): Promise<string> {
  const response = await fetch(url, {
    redirect: 'error',
    signal: AbortSignal.timeout(requestTimeoutMs),
    headers: { accept: 'application/json' },
  });
  if (!response.ok) throw new Error(`the key document answered ${response.status}`);
  let text = '';
  const decoder = new TextDecoder();
  for await (const chunk of response.body ?? []) {
    text += decoder.decode(chunk as Uint8Array, { stream: true });
    if (text.length > documentBytesMax) throw new Error('the key document is too large');
  }
  return text;
}

/** Keys of another type or use are passed over: consumers ignore what they don't know. */
async function readKeys(text: string): Promise<Map<string, CryptoKey | KeyObject | Uint8Array>> {
  const { keys } = JSON.parse(text) as { keys?: JWK[] };
  if (!Array.isArray(keys)) throw new Error('the key document has no keys');
  const usable = keys
    .slice(0, keysMax)
    .filter((key) => key.kty === 'RSA' && typeof key.kid === 'string' && (key.use ?? 'sig') === 'sig');
  const imported = await Promise.all(
    usable.map(async (key) => [key.kid as string, await importJWK(key, key.alg ?? 'RS256')] as const),
  );
  return new Map(imported);
}
