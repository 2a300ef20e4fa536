import { createPublicKey, type KeyObject } from 'node:crypto';
import type { JWK } from 'jose';
import { requestJson } from '@baton/kernel/outbound/json-request';
import type { Logger } from '@baton/kernel/process/log';

export interface JwksOptions {
  url: string;
  refreshAfterMs: number;
  staleAfterMs: number;
  minRefreshIntervalMs: number;
  requestTimeoutMs: number;
  /** The keys that may sign tokens; all others are skipped. */
  algorithms: readonly string[];
  log: Logger;
}

/** The key document can't be fetched, and the cached keys are too old. */
export class KeysUnavailableError extends Error {}

export interface SigningKey {
  readonly key: KeyObject;
  /** The accepted algorithms that the key verifies: those of its type, or the one for which it is published. */
  readonly algorithms: readonly string[];
}

/** Identity's published keys, by key id. */
export interface Jwks {
  /**
   * The key with that id, or undefined when identity doesn't publish it. It is the same object until the keys are
   * fetched again.
   * @throws KeysUnavailableError
   */
  find(keyId: string): Promise<SigningKey | undefined>;
}

const documentBytesMax = 256 * 1024;
const keysMax = 50;
const modulusBitsMin = 2048;
/** Retries are more frequent until the first success: both services may be starting. */
const firstPauseMsMax = 1000;

/**
 * Keys are fetched when they are older than `refreshAfterMs`, and at once (but not more often than every
 * `minRefreshIntervalMs`) for an unknown key id, which indicates a rotation. Concurrent callers share one fetch. While
 * the source is unavailable, known keys are used until `staleAfterMs`.
 */
export function createJwks(options: JwksOptions): Jwks {
  return new CachedJwks(options);
}

class CachedJwks implements Jwks {
  readonly #options: JwksOptions;
  #keys = new Map<string, SigningKey>();
  #fetchedAt = Number.NEGATIVE_INFINITY;
  #triedAt = Number.NEGATIVE_INFINITY;
  #unscheduledAt = Number.NEGATIVE_INFINITY;
  #fetching: Promise<void> | undefined;
  /** The last logged state of an outage, so that each state is logged once. */
  #logged: 'nothing' | 'late' | 'out' = 'nothing';

  constructor(options: JwksOptions) {
    this.#options = options;
  }

  async find(keyId: string): Promise<SigningKey | undefined> {
    await this.#refreshWhenDue();
    if (sinceMs(this.#fetchedAt) > this.#options.staleAfterMs) throw new KeysUnavailableError();
    if (!this.#keys.has(keyId)) await this.#refreshForUnknown(keyId);
    return this.#keys.get(keyId);
  }

  async #refreshWhenDue(): Promise<void> {
    const { refreshAfterMs, staleAfterMs, minRefreshIntervalMs } = this.#options;
    if (sinceMs(this.#fetchedAt) <= refreshAfterMs) return;
    const isFirst = this.#fetchedAt === Number.NEGATIVE_INFINITY;
    const pauseMs = isFirst ? Math.min(firstPauseMsMax, minRefreshIntervalMs) : minRefreshIntervalMs;
    if (this.#fetching === undefined && sinceMs(this.#triedAt) < pauseMs) return;
    // Cached keys that are still valid are used at once; the request waits for the fetch only if there are none.
    const refreshed = this.#refresh();
    if (sinceMs(this.#fetchedAt) > staleAfterMs) await refreshed;
  }

  async #refreshForUnknown(keyId: string): Promise<void> {
    // A fetch in progress may have started before the rotation, so it doesn't count as the one unscheduled fetch.
    if (this.#fetching !== undefined) await this.#fetching;
    if (!this.#keys.has(keyId) && sinceMs(this.#unscheduledAt) >= this.#options.minRefreshIntervalMs) {
      this.#unscheduledAt = performance.now();
      void this.#refresh();
    }
    if (!this.#keys.has(keyId) && this.#fetching !== undefined) await this.#fetching;
  }

  #refresh(): Promise<void> {
    this.#fetching ??= this.#load().finally(() => {
      this.#fetching = undefined;
    });
    return this.#fetching;
  }

  async #load(): Promise<void> {
    const { log, algorithms } = this.#options;
    this.#triedAt = performance.now();
    try {
      this.#keys = readKeys(await fetchDocument(this.#options), algorithms, log);
      this.#fetchedAt = performance.now();
      if (this.#logged !== 'nothing') log.info('signing keys can be fetched again');
      this.#logged = 'nothing';
    } catch (error) {
      this.#logOutage(error);
    }
  }

  #logOutage(error: unknown): void {
    const { staleAfterMs, log } = this.#options;
    const ageMs = sinceMs(this.#fetchedAt);
    const about = { err: error, ...(Number.isFinite(ageMs) && { ageSeconds: Math.round(ageMs / 1000) }) };
    const state = ageMs > staleAfterMs ? 'out' : 'late';
    if (state === 'out' && this.#logged !== 'out')
      log.error(about, 'signing keys are unavailable: requests with a token get 503');
    else if (this.#logged === 'nothing')
      log.warn(about, 'signing keys could not be fetched; cached keys are used');
    else return;
    this.#logged = state;
  }
}

function sinceMs(instant: number): number {
  return performance.now() - instant;
}

async function fetchDocument({ url, requestTimeoutMs }: JwksOptions): Promise<unknown> {
  const { status, json } = await requestJson(url, {
    method: 'GET',
    timeoutMs: requestTimeoutMs,
    answerBytesMax: documentBytesMax,
  });
  if (status < 200 || status > 299) throw new Error(`the key document request failed with status ${status}`);
  return json;
}

/** Skips keys of another type or use, as the standard requires. */
function readKeys(document: unknown, accepted: readonly string[], log: Logger): Map<string, SigningKey> {
  const published = (document as { keys?: unknown } | null | undefined)?.keys;
  if (!Array.isArray(published)) throw new Error('the key document has no keys');
  const found = new Map<string, SigningKey>();
  for (const jwk of published.slice(0, keysMax) as (JWK | null)[]) {
    const key = jwk === null ? undefined : signingKeyOf(jwk, accepted, log);
    if (key !== undefined && !found.has(jwk?.kid as string)) found.set(jwk?.kid as string, key);
  }
  return found;
}

function signingKeyOf(jwk: JWK, accepted: readonly string[], log: Logger): SigningKey | undefined {
  const { kid, use = 'sig', alg } = jwk;
  const { members, serves } = kindOf(jwk);
  if (typeof kid !== 'string' || use !== 'sig') return undefined;
  const algorithms = serves.filter((one) => accepted.includes(one) && (alg === undefined || alg === one));
  if (algorithms.length === 0) return undefined;
  try {
    const key = createPublicKey({ key: members, format: 'jwk' });
    const bits = key.asymmetricKeyDetails?.modulusLength ?? modulusBitsMin;
    if (bits >= modulusBitsMin) return { key, algorithms };
    log.warn({ bits }, 'a signing key is too short and was skipped');
  } catch (error) {
    log.warn({ err: error }, 'a signing key cannot be read and was skipped');
  }
  return undefined;
}

/** The algorithms of a key's type and its public members by name, even if the document contains more. */
function kindOf({ kty, crv, n, e, x, y }: JWK): {
  members: Record<string, unknown>;
  serves: readonly string[];
} {
  if (kty === 'RSA') return { members: { kty, n, e }, serves: ['RS256', 'RS384', 'RS512'] };
  if (kty === 'EC' && crv === 'P-256') return { members: { kty, crv, x, y }, serves: ['ES256'] };
  if (kty === 'OKP' && crv === 'Ed25519') return { members: { kty, crv, x }, serves: ['EdDSA'] };
  return { members: {}, serves: [] };
}
