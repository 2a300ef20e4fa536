import { hash } from 'node:crypto';
import { requestJson } from '@baton/kernel/outbound/json-request';
import type { Logger } from '@baton/kernel/process/log';
import type { TokenClaims } from './tokens.ts';

export interface RevocationsOptions {
  /** Where identity publishes what it revoked. */
  readonly url: string;
  readonly intervalMs: number;
  /** How old the newest proof may be that a token's principal is active; 0: any age. */
  readonly staleAfterMs: number;
  readonly requestTimeoutMs: number;
  readonly log: Logger;
  /** Called when something was revoked: what was admitted for longer than a request is checked again. */
  readonly onRevocation: () => void;
}

/** The list can't be read, and the token is too old to be accepted without it. */
export class RevocationsUnavailableError extends Error {}

/** What identity revoked while access tokens that rest on it may be valid. */
export interface Revocations {
  /** Resolves after the first attempt to read the list; undefined when there was one. */
  ready(): Promise<void> | undefined;
  /** @throws RevocationsUnavailableError */
  covers(claims: TokenClaims): boolean;
  /** Reads the list at once: something was revoked just now. */
  refresh(): Promise<void>;
  close(): Promise<void>;
}

type Entries = ReadonlyMap<string, number | null>;

const answerBytesMax = 2 * 1024 * 1024;
const entriesMax = 20_000;
/** An older identity doesn't publish the list. */
const unsupportedIntervalMs = 60_000;
/** Both services may be starting, and identity may be restarted. */
const quietFailureMs = 10_000;

/**
 * Reads the list in the background, from the first access token on: no request waits for it, except the first one. While it
 * can't be read, entries stay, and a token is accepted for as long as something proves that its principal was active not
 * long ago: its own issue, or the last list that could be read.
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
    const { iamPrincipalId, credentialId, iamTenantId, clientId } = claims;
    return [iamPrincipalId, credentialId, iamTenantId, `${iamTenantId} ${clientId}`].some((id) => {
      const notBefore = id === undefined ? undefined : this.#entries.get(hash('sha256', id, 'base64url'));
      return notBefore !== undefined && (notBefore === null || claims.issuedAtSeconds < notBefore);
    });
  }

  async refresh(): Promise<void> {
    if (this.#first === undefined || this.#isClosed) return;
    // One that is under way may have begun before the revocation.
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
      else throw new Error(`the list of revocations has the status ${status}, or is no such document`);
    } catch (error) {
      this.#noteFailure(error);
    }
    this.#isTried = true;
  }

  #take(list: { entries: Entries; notBeforeSeconds: number }, readAtMs: number, text: string): void {
    const { log, onRevocation } = this.#options;
    if (this.#isLogged) log.info('the list of revocations is read again');
    this.#isLogged = this.#isUnsupported = false;
    this.#failedSinceMs = undefined;
    this.#readAtMs = readAtMs;
    this.#entries = list.entries;
    this.#notBeforeSeconds = list.notBeforeSeconds;
    const isChanged = text !== this.#text;
    this.#text = text;
    if (isChanged && (list.entries.size > 0 || list.notBeforeSeconds > 0)) onRevocation();
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
      'the list of revocations can not be read: access tokens of principals that are disabled meanwhile are accepted until they expire, or are too old to be accepted without it',
    );
  }
}

function listIn(json: unknown): { entries: Entries; notBeforeSeconds: number } | undefined {
  const { not_before: notBeforeSeconds, revoked } = (json ?? {}) as Record<string, unknown>;
  if (typeof notBeforeSeconds !== 'number' || !Array.isArray(revoked) || revoked.length > entriesMax)
    return undefined;
  const entries = new Map<string, number | null>();
  for (const entry of revoked as (Record<string, unknown> | null)[]) {
    const { sha256, not_before: notBefore } = entry ?? {};
    if (typeof sha256 !== 'string') return undefined;
    // A value of another form revokes everything.
    entries.set(sha256, typeof notBefore === 'number' ? notBefore : null);
  }
  return { entries, notBeforeSeconds };
}

/** The address of the list, by default beside the key document; undefined where neither setting gives it. */
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
