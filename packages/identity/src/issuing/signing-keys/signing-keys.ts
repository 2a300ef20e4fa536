import { createHash, sign } from 'node:crypto';
import { availableParallelism } from 'node:os';
import type { JWTPayload } from 'jose';
import type { Pool } from '@baton/kernel/db';
import type { Logger } from '@baton/kernel/log';
import { fail } from '../errors.ts';
import type { Settings } from '../settings.ts';
import type { JsonWebKey } from './json-web-key.ts';
import {
  type ConfiguredKeys,
  type PublishedKey,
  readConfiguredKeys,
  type SigningKey,
  SigningKeyError,
} from './signing-key.ts';
import { type KeyNote, updateKeyUse, upsertKey } from './signing-keys.sql.ts';

/**
 * How long a key is published after its last token has expired. It covers differences between clocks, and that a use is
 * noted only every 30 seconds.
 */
const overlapMarginSeconds = 60;

/** With fewer signatures under way or waiting, a core could soon be idle. */
const signaturesAheadMin = availableParallelism() + 1;

/** No key is configured: key document and exchanges answer 500, and nothing is stored (contract, section 4). */
class NoSigningKeyError extends Error {
  constructor() {
    super('no signing key is configured: set IAM_SIGNING_KEY_FILE');
    this.name = 'NoSigningKeyError';
  }
}

/** The JWKS document, built once from the keys in it. */
interface KeyDocument {
  readonly keys: readonly JsonWebKey[];
  readonly tag: string;
  readonly published: readonly PublishedKey[];
}

/** The keys of the settings, and what is built from them once. */
interface KeysInUse {
  readonly configured: ConfiguredKeys;
  readonly neededSeconds: number;
  readonly document: KeyDocument;
  /** Without the previous key, for the time after its last token. */
  readonly laterDocument: KeyDocument;
}

/** The keys in use, parsed once, and the bounded queue of signatures. */
export class SigningKeys {
  #keys: KeysInUse | undefined;
  /** On the clock of `performance.now()`. */
  #previousEndsAtMs = 0;
  #waiting = 0;
  #free: PromiseWithResolvers<void> | undefined;
  readonly #waitingMax: number;

  constructor(waitingMax: number) {
    this.#waitingMax = waitingMax;
  }

  /** Signatures under way or waiting for a thread. */
  get waiting(): number {
    return this.#waiting;
  }

  /**
   * Reads the configured keys again, and compares them with those that had their names before. On an error the keys that
   * were in use stay in use.
   * @throws SigningKeyError, also when the signing key is gone; errors of the database
   */
  async load(settings: Settings, pool: Pool, log: Logger): Promise<void> {
    const configured = await readConfiguredKeys(settings);
    if (configured === undefined) {
      if (this.#keys !== undefined) throw new SigningKeyError('The signing key is gone.');
      log.warn('no signing key: the key document and every exchange answer 500 until one is configured');
      return;
    }
    const { signing, next, previous } = configured;
    refuseOtherName(this.#keys?.configured.next, signing);
    const neededSeconds = settings.IAM_TOKEN_TTL_SECONDS + overlapMarginSeconds;
    // The current signing key may become the previous one: its last use is now.
    await this.noteUse(pool);
    const noted = await pool.transaction(async (tx) => {
      const notes = new Map<string, KeyNote | undefined>();
      // All processes lock in the same order, or two that change back and forth could deadlock.
      const keys: PublishedKey[] = previous === undefined ? [signing] : [signing, previous];
      for (const key of keys.sort((one, other) => (one.kid < other.kid ? -1 : 1)))
        notes.set(
          key.kid,
          await tx.row(upsertKey(key.kid, key.thumbprint, neededSeconds, key.kid === signing.kid)),
        );
      return notes;
    });
    const previousNote = noted.get(previous?.kid ?? '');
    const lasting = [signing, ...(next === undefined ? [] : [next])];
    this.#keys = {
      configured,
      neededSeconds,
      document: documentOf(previous === undefined ? lasting : [...lasting, previous]),
      laterDocument: documentOf(lasting),
    };
    this.#keepPrevious(previousNote);
    warnOfAnotherKey(log, signing, noted.get(signing.kid));
    if (previous !== undefined) warnOfAnotherKey(log, previous, previousNote);
    const published = this.#document().published.map(({ kid }) => kid);
    log.info({ kid: signing.kid, published }, 'the signing key is in use');
  }

  /** Notes that this process still signs with the key, and reads whether another process still uses the previous one. */
  async noteUse(pool: Pool): Promise<void> {
    if (this.#keys === undefined) return;
    const { configured, neededSeconds } = this.#keys;
    const { signing, previous } = configured;
    const note = await pool.row(updateKeyUse(signing.kid, neededSeconds, previous?.kid ?? null));
    // A reload may have replaced the keys meanwhile; then this answer is out of date.
    if (this.#keys.configured === configured) this.#keepPrevious(note);
  }

  #keepPrevious(note: Pick<KeyNote, 'needed_seconds'> | undefined): void {
    this.#previousEndsAtMs = performance.now() + (note?.needed_seconds ?? 0) * 1000;
  }

  /** @throws NoSigningKeyError, answered 500 */
  current(): SigningKey {
    if (this.#keys === undefined) throw new NoSigningKeyError();
    return this.#keys.configured.signing;
  }

  get isPresent(): boolean {
    return this.#keys !== undefined;
  }

  /**
   * The key document as it is now: without the previous key once every token that it signed has expired.
   * @throws NoSigningKeyError, answered 500
   */
  document(): Pick<KeyDocument, 'keys' | 'tag'> {
    return this.#document();
  }

  get publishedCount(): number {
    return this.isPresent ? this.#document().published.length : 0;
  }

  /** The published key with this name, which verifies our tokens. */
  published(kid: string | undefined): PublishedKey | undefined {
    return this.isPresent ? this.#document().published.find((key) => key.kid === kid) : undefined;
  }

  #document(): KeyDocument {
    if (this.#keys === undefined) throw new NoSigningKeyError();
    const { document, laterDocument } = this.#keys;
    return performance.now() < this.#previousEndsAtMs ? document : laterDocument;
  }

  /** Resolves when a core could soon be idle; undefined when one could be now. */
  whenFree(): Promise<void> | undefined {
    if (this.#waiting < signaturesAheadMin) return undefined;
    this.#free ??= Promise.withResolvers<void>();
    return this.#free.promise;
  }

  /**
   * Signs an access token (RS256) on the thread pool. Without a key, or with a full queue, it throws at once instead of
   * returning a promise, so that the caller records nothing.
   * @throws NoSigningKeyError; Refusal `unavailable` when the queue is full
   */
  sign(claims: JWTPayload): Promise<string> {
    const { kid, privateKey } = this.current();
    if (this.#waiting >= this.#waitingMax) fail('unavailable', {}, { headers: { 'retry-after': '1' } });
    this.#waiting += 1;
    const header = { alg: 'RS256', typ: 'at+jwt', kid };
    const signed = `${base64urlOf(header)}.${base64urlOf(claims)}`;
    return new Promise((done, failed) => {
      sign('RSA-SHA256', Buffer.from(signed, 'latin1'), privateKey, (error, signature) => {
        this.#waiting -= 1;
        if (this.#waiting < signaturesAheadMin) this.#resolveFree();
        if (error === null) done(`${signed}.${signature.toString('base64url')}`);
        else failed(error);
      });
    });
  }

  #resolveFree(): void {
    this.#free?.resolve();
    this.#free = undefined;
  }
}

function base64urlOf(part: object): string {
  return Buffer.from(JSON.stringify(part)).toString('base64url');
}

/** A key that was published as the next one must keep the name that consumers know. */
function refuseOtherName(announced: PublishedKey | undefined, { kid, thumbprint }: SigningKey): void {
  if (announced?.thumbprint === thumbprint && announced.kid !== kid)
    throw new SigningKeyError(
      `The signing key was published as ${announced.kid} and would sign as ${kid}: set IAM_SIGNING_KEY_ID to thumbprint, or to that name, and start again.`,
    );
}

function documentOf(published: readonly PublishedKey[]): KeyDocument {
  const keys = published.map(({ jwk }) => jwk);
  const digest = createHash('sha256').update(JSON.stringify({ keys })).digest('base64url');
  return { keys, tag: `"${digest.slice(0, 22)}"`, published };
}

function warnOfAnotherKey(log: Logger, { kid, thumbprint }: PublishedKey, note: KeyNote | undefined): void {
  const formerThumbprint = note?.former_thumbprint ?? thumbprint;
  if (formerThumbprint !== thumbprint)
    log.warn(
      { kid, thumbprint, formerThumbprint },
      'ANOTHER KEY UNDER THE SAME KID: consumers go on trusting the old one. Change IAM_SIGNING_KEY_ID with the key.',
    );
}
