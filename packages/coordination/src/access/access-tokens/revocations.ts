import { hash } from 'node:crypto';
import { requestJson } from '@baton/kernel/outbound/json-request';
import type { Logger } from '@baton/kernel/process/log';
import type { TokenClaims } from './tokens.ts';

export interface RevocationsOptions {
  /** The address of identity's revocation list. */
  readonly url: string;
  readonly intervalMs: number;
  /** How old the latest evidence that a token's principal is active may be; 0: any age. */
  readonly staleAfterMs: number;
  readonly requestTimeoutMs: number;
  readonly log: Logger;
  /**
   * Called after a revocation: open streams must check their credentials again, and the sessions of `revoked` end.
   * @param revoked see `Revocations`
   */
  readonly onRevocation: (revoked: readonly string[]) => void;
}

/** The list is unavailable, and the token is too old to be accepted without it. */
export class RevocationsUnavailableError extends Error {}

/** Revocations published by identity, kept for as long as affected access tokens may be valid. */
export interface Revocations {
  /** Resolves after the first attempt to read the list; undefined if that attempt has already ended. */
  ready(): Promise<void> | undefined;
  /** @throws RevocationsUnavailableError */
  covers(claims: TokenClaims): boolean;
  /**
   * The hashes of what is revoked without a time. An entry with a time rejects earlier tokens only, whose principals
   * may continue with new ones.
   */
  revoked(): readonly string[];
  /** Reads the list at once, after a revocation in the same process. */
  refresh(): Promise<void>;
  close(): Promise<void>;
}

type Entries = ReadonlyMap<string, number | null>;

const answerBytesMax = 2 * 1024 * 1024;
const entriesMax = 20_000;
/** The interval of reads while identity is an older version that doesn't publish the list. */
const unsupportedIntervalMs = 60_000;
/** Failures in this time are not logged: both services may be starting, or identity may be restarting. */
const quietFailureMs = 10_000;

/**
 * Reads the list in the background, from the first access token on; only the first request waits for it. While the list
 * is unavailable, known revocations remain, and a token is accepted for a limited time after the last evidence that its
 * principal was active: its issue, or the last successful read.
 */
export function createRevocations(options: RevocationsOptions): Revocations {
  return new PolledRevocations(options);
}

class PolledRevocations implements Revocations {
  readonly #options: RevocationsOptions;
  #entries: Entries = new Map();
  #notBeforeSeconds = 0;
  #text = '';
  #readAtMs = Number.NEGATIVE_INFINITY;
  #failedSinceMs: number | undefined;
  #isLogged = false;
  #isUnsupported = false;
  #isTried = false;
  #first: Promise<void> | undefined;
  #reading: Promise<void> | undefined;
  #timer: NodeJS.Timeout | undefined;
  #isClosed = false;

  constructor(options: RevocationsOptions) {
    this.#options = options;
  }

  ready(): Promise<void> | undefined {
    this.#first ??= this.#poll();
    return this.#isTried ? undefined : this.#first;
  }

  covers(claims: TokenClaims): boolean {
    this.#refuseUnproven(claims);
    if (claims.issuedAtSeconds < this.#notBeforeSeconds) return true;
    if (this.#entries.size === 0) return false;
    return [revocationHash(claims.iamTenantId), ...revocableByOf(claims)].some((key) => {
      const notBefore = this.#entries.get(key);
      return notBefore !== undefined && (notBefore === null || claims.issuedAtSeconds < notBefore);
    });
  }

  revoked(): readonly string[] {
    return [...this.#entries].filter(([, notBefore]) => notBefore === null).map(([key]) => key);
  }

  async refresh(): Promise<void> {
    if (this.#first === undefined || this.#isClosed) return;
    // A read in progress may have started before the revocation, so another one follows.
    await this.#reading;
    await this.#read();
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    await this.#reading;
  }

  #refuseUnproven({ issuedAtSeconds }: TokenClaims): void {
    const { staleAfterMs } = this.#options;
    if (staleAfterMs === 0 || this.#isUnsupported) return;
    const ageMs = Math.min(performance.now() - this.#readAtMs, Date.now() - issuedAtSeconds * 1000);
    if (ageMs > staleAfterMs) throw new RevocationsUnavailableError();
  }

  async #poll(): Promise<void> {
    await this.#read();
    if (this.#isClosed) return;
    const waitMs = this.#isUnsupported ? unsupportedIntervalMs : this.#options.intervalMs;
    this.#timer = setTimeout(() => void this.#poll(), waitMs).unref();
  }

  #read(): Promise<void> {
    this.#reading ??= this.#load().finally(() => {
      this.#reading = undefined;
    });
    return this.#reading;
  }

  async #load(): Promise<void> {
    const { url, requestTimeoutMs: timeoutMs } = this.#options;
    const startedAtMs = performance.now();
    try {
      const { status, json } = await requestJson(url, { method: 'GET', timeoutMs, answerBytesMax });
      const list = status === 200 ? listIn(json) : undefined;
      if (list !== undefined) this.#take(list, startedAtMs, JSON.stringify(json));
      else if (status === 404 && this.#readAtMs === Number.NEGATIVE_INFINITY) this.#noteUnsupported();
      else throw new Error(`the revocation list has status ${status} or an invalid form`);
    } catch (error) {
      this.#noteFailure(error);
    }
    this.#isTried = true;
  }

  #take(list: { entries: Entries; notBeforeSeconds: number }, readAtMs: number, text: string): void {
    const { log, onRevocation } = this.#options;
    if (this.#isLogged) log.info('the revocation list can be read again');
    this.#isLogged = this.#isUnsupported = false;
    this.#failedSinceMs = undefined;
    this.#readAtMs = readAtMs;
    this.#entries = list.entries;
    this.#notBeforeSeconds = list.notBeforeSeconds;
    const isChanged = text !== this.#text;
    this.#text = text;
    if (isChanged && (list.entries.size > 0 || list.notBeforeSeconds > 0)) onRevocation(this.revoked());
  }

  #noteUnsupported(): void {
    if (!this.#isUnsupported)
      this.#options.log.warn(
        'identity does not publish revocations (404): the access tokens of a disabled principal are accepted until they expire. Update identity, or let the proxy in front of it pass /.well-known/revocations.json',
      );
    this.#isUnsupported = true;
  }

  #noteFailure(error: unknown): void {
    const nowMs = performance.now();
    this.#failedSinceMs ??= nowMs;
    if (this.#isLogged || nowMs - this.#failedSinceMs < quietFailureMs) return;
    this.#isLogged = true;
    this.#options.log.warn(
      { err: error },
      'the revocation list is unavailable: access tokens of principals disabled meanwhile are accepted until they expire, or until they are too old to be accepted without the list',
    );
  }
}

/** The form in which the list names an id. */
export const revocationHash = (id: string) => hash('sha256', id, 'base64url');

/** The hashes under which the list names a token's credential, principal and identity provider. */
export function revocableByOf(claims: TokenClaims): string[] {
  const { iamPrincipalId, credentialId, iamTenantId, clientId } = claims;
  return [iamPrincipalId, credentialId, clientId && `${iamTenantId} ${clientId}`]
    .filter((id) => id !== undefined)
    .map(revocationHash);
}

function listIn(json: unknown): { entries: Entries; notBeforeSeconds: number } | undefined {
  const { not_before: notBeforeSeconds, revoked } = (json ?? {}) as Record<string, unknown>;
  if (typeof notBeforeSeconds !== 'number' || !Array.isArray(revoked) || revoked.length > entriesMax)
    return undefined;
  const entries = new Map<string, number | null>();
  for (const entry of revoked as (Record<string, unknown> | null)[]) {
    const { sha256, not_before: notBefore } = entry ?? {};
    if (typeof sha256 !== 'string') return undefined;
    // A malformed time counts as none: every token of the entry is revoked.
    entries.set(sha256, typeof notBefore === 'number' ? notBefore : null);
  }
  return { entries, notBeforeSeconds };
}

/** The address of the list, by default next to the key document; undefined if neither setting determines it. */
export function revocationsUrlOf({
  CP_IAM_REVOCATIONS_URL: given,
  CP_IAM_JWKS_URL: keys,
}: {
  CP_IAM_REVOCATIONS_URL: string;
  CP_IAM_JWKS_URL: string;
}): string | undefined {
  if (given !== '') return given;
  return keys.endsWith('/jwks.json') ? keys.replace(/jwks\.json$/, 'revocations.json') : undefined;
}
