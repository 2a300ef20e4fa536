import type { OutboundClient } from '@baton/kernel/outbound/outbound';
import type { Logger } from '@baton/kernel/process/log';
import { secretHash } from '../../service/secrets.ts';
import { fail } from '../errors.ts';
import { type KeySet, parseKeySet } from './key-set.ts';
import { ProviderFaults } from './provider-faults.ts';

/** The address of a provider's keys, and how long they may be cached. */
export interface KeySource {
  readonly id: string;
  /** The provider's key (its name) in Baton, for the log. */
  readonly key: string;
  readonly issuer: string;
  readonly registered_issuer: string;
  readonly jwks_uri: string;
  /** Uploaded keys; if there are any, none are fetched. */
  readonly key_set: object | null;
  readonly jwks_cache_ttl_seconds: number;
  readonly jwks_stale_grace_seconds: number;
}

export interface FoundKeys {
  readonly keys: KeySet;
  /** Whether the provider does not respond and these keys are older than its cache TTL. */
  readonly isStale: boolean;
  /** Whether the keys were fetched for this request, so that fetching them again would change nothing. */
  readonly isNew: boolean;
}

interface Entry {
  /** A hash of the addresses and the uploaded keys. */
  readonly source: string;
  keys: KeySet | undefined;
  /** When the fetch that returned these keys started. */
  readAtMs: number;
  /** The fetch in progress, which all callers share. */
  fetching: Promise<KeySet> | undefined;
  /**
   * The time before which no new fetch is attempted. The pause is as long as the failed fetch took, so a timeout does
   * not delay every request.
   */
  failedUntilMs: number;
  /** The time of the last failed fetch, unless one has succeeded since. */
  failedAtMs: number;
  /** The time of the last fetch that an unknown `kid` forced. */
  forcedAtMs: number;
}

const providersMax = 1000;
const forcedIntervalMs = 10_000;
/** After this part of the cache TTL, keys are fetched again in the background, so that no request waits for it. */
const refreshAheadPart = 0.8;
const retryAfterSeconds = 5;
/**
 * After this time a failure is no longer reported: the keys of an unused provider are not fetched, so the failure would
 * never end.
 */
const failingMs = 15 * 60_000;

/** These faults indicate a wrong setting, here or at the provider, or an attack. */
const faultCodes: ReadonlySet<string> = new Set([
  'unsupported_algorithm',
  'unknown_signing_key',
  'invalid_issuer',
  'invalid_audience',
  'missing_subject_claim',
]);

/** Totals over all providers. They identify no provider, so the metrics may be published without authentication. */
export interface ProviderKeysHealth {
  readonly kept: number;
  readonly failing: number;
  /** The age of the oldest keys of a failing provider. */
  readonly failingAgeSeconds: number;
}

class DiscoveryError extends Error {
  override readonly name = 'DiscoveryError';
}

/** The keys of identity providers, cached in the memory of this process (see docs/reference/providers.md#key-cache). */
export class ProviderKeys {
  readonly #outbound: OutboundClient;
  readonly #log: Logger;
  readonly #faults: ProviderFaults;
  readonly #nowMs: () => number;
  /** Ordered by last use, so that the oldest is dropped first. */
  readonly #entries = new Map<string, Entry>();

  constructor(outbound: OutboundClient, log: Logger, nowMs: () => number = () => performance.now()) {
    this.#outbound = outbound;
    this.#log = log;
    this.#faults = new ProviderFaults(log, nowMs);
    this.#nowMs = nowMs;
  }

  /**
   * The keys to verify with: from the cache while they are fresh, otherwise from the provider; if the provider fails,
   * from the cache during its grace period. Uploaded keys are used as they are.
   * @throws Refusal `identity_provider_unavailable`, with Retry-After
   */
  async keysOf(source: KeySource): Promise<FoundKeys> {
    const entry = this.#entryOf(source);
    if (source.key_set !== null) {
      entry.keys ??= parseKeySet(source.key_set);
      return { keys: entry.keys, isStale: false, isNew: true };
    }
    const ttlMs = source.jwks_cache_ttl_seconds * 1000;
    const ageMs = this.#nowMs() - entry.readAtMs;
    if (entry.keys !== undefined && ageMs < ttlMs) {
      if (ageMs >= ttlMs * refreshAheadPart) this.#fetch(source, entry).catch(() => undefined);
      return { keys: entry.keys, isStale: false, isNew: false };
    }
    try {
      return { keys: await this.#fetch(source, entry), isStale: false, isNew: true };
    } catch (error) {
      const graceMs = ttlMs + source.jwks_stale_grace_seconds * 1000;
      if (entry.keys !== undefined && this.#nowMs() - entry.readAtMs < graceMs)
        return { keys: entry.keys, isStale: true, isNew: true };
      const headers = { 'retry-after': String(retryAfterSeconds) };
      return fail('identity_provider_unavailable', {}, { headers, cause: error });
    }
  }

  /**
   * The keys for a `kid` that `found` does not contain. They are fetched again, but at most every 10 seconds per
   * provider, because anyone can invent a `kid`.
   */
  async keysBeyond(source: KeySource, found: FoundKeys): Promise<KeySet> {
    const entry = this.#entryOf(source);
    if (found.isNew) return found.keys;
    const nowMs = this.#nowMs();
    if (entry.fetching === undefined) {
      if (nowMs - entry.forcedAtMs < forcedIntervalMs) return entry.keys ?? found.keys;
      entry.forcedAtMs = nowMs;
    }
    return this.#fetch(source, entry).catch(() => found.keys);
  }

  /**
   * The number of providers with cached keys, and the state of the keys whose provider failed recently. The age of
   * other keys is not a sign of failure, because unused keys are not fetched again.
   */
  health(): ProviderKeysHealth {
    const nowMs = this.#nowMs();
    const failing = [...this.#entries.values()].filter(({ failedAtMs }) => nowMs - failedAtMs < failingMs);
    const agesSeconds = failing
      .filter(({ keys }) => keys !== undefined)
      .map(({ readAtMs }) => (nowMs - readAtMs) / 1000);
    return {
      kept: this.#entries.size,
      failing: failing.length,
      failingAgeSeconds: Math.max(0, ...agesSeconds),
    };
  }

  #entryOf(source: KeySource): Entry {
    const { id, issuer, registered_issuer, jwks_uri, key_set } = source;
    // Hashed, because uploaded keys may be as large as 300 KB.
    const address = secretHash(JSON.stringify([issuer, registered_issuer, jwks_uri, key_set]));
    const known = this.#entries.get(id);
    this.#entries.delete(id);
    const entry: Entry =
      known?.source === address
        ? known
        : {
            source: address,
            keys: undefined,
            readAtMs: Number.NEGATIVE_INFINITY,
            fetching: undefined,
            failedUntilMs: Number.NEGATIVE_INFINITY,
            failedAtMs: Number.NEGATIVE_INFINITY,
            forcedAtMs: Number.NEGATIVE_INFINITY,
          };
    this.#entries.set(id, entry);
    const [oldest] = this.#entries.keys();
    if (this.#entries.size > providersMax && oldest !== undefined) this.#entries.delete(oldest);
    return entry;
  }

  /** Fetches the keys; concurrent callers share one fetch. */
  #fetch(source: KeySource, entry: Entry): Promise<KeySet> {
    if (entry.fetching !== undefined) return entry.fetching;
    const beganMs = this.#nowMs();
    if (beganMs < entry.failedUntilMs) return Promise.reject(new Error('the last fetch has just failed'));
    entry.fetching = this.#fetchKeys(source)
      .then(
        (keys) => {
          entry.keys = keys;
          entry.readAtMs = beganMs;
          entry.failedAtMs = Number.NEGATIVE_INFINITY;
          this.#noteKeys(source, keys);
          return keys;
        },
        (error: unknown) => {
          entry.failedAtMs = this.#nowMs();
          entry.failedUntilMs = entry.failedAtMs + (entry.failedAtMs - beganMs);
          this.#faults.note(
            source.id,
            'keys',
            { err: error, identityProvider: source.key, issuer: source.issuer },
            'the keys of an identity provider could not be fetched: sign-ins through it will fail once the cached keys are too old',
          );
          throw error;
        },
      )
      .finally(() => {
        entry.fetching = undefined;
      });
    return entry.fetching;
  }

  #noteKeys({ id, key: identityProvider, issuer }: KeySource, keys: KeySet): void {
    if (this.#faults.end(id, 'keys'))
      this.#log.info(
        { identityProviderId: id, identityProvider },
        'the keys of an identity provider can be fetched again',
      );
    if (keys.size + keys.unnamed.length > 0) return;
    this.#faults.note(
      id,
      'no_keys',
      { identityProvider, issuer },
      'the key document of an identity provider has no key that verifies a signature: sign-ins through it fail',
    );
  }

  /** Records a refused sign-in whose cause is more likely a wrong setting than an attack. */
  noteRefusal({ id, key: identityProvider }: KeySource, code: string): void {
    if (!faultCodes.has(code)) return;
    this.#faults.note(
      id,
      code,
      { identityProvider, code },
      "a sign-in was refused because of its token's claims: compare the settings here with those at the identity provider",
    );
  }

  /** Takes 5 seconds at most, including discovery. */
  async #fetchKeys(source: KeySource): Promise<KeySet> {
    const deadline = AbortSignal.timeout(this.#outbound.timeoutMs);
    const address = source.jwks_uri === '' ? await this.#discover(source, deadline) : source.jwks_uri;
    return parseKeySet(await this.#outbound.readJson(address, deadline));
  }

  async #discover(source: KeySource, deadline: AbortSignal): Promise<string> {
    const { issuer, registered_issuer } = source;
    const address = `${issuer}/.well-known/openid-configuration`;
    const document = (await this.#outbound.readJson(address, deadline)) as Record<string, unknown> | null;
    const { issuer: named, jwks_uri: jwksUri } = document ?? {};
    if (named !== issuer && named !== registered_issuer)
      throw new DiscoveryError('the discovery document has another issuer');
    if (typeof jwksUri !== 'string' || jwksUri === '')
      throw new DiscoveryError('the discovery document has no key document address');
    return jwksUri;
  }
}
