import { createHash, sign } from 'node:crypto';
import { availableParallelism } from 'node:os';
import type { Pool } from '@baton/kernel/db';
import type { Logger } from '@baton/kernel/log';
import type { JWTPayload } from 'jose';
import { fail } from '../errors.ts';
import type { Settings } from '../settings.ts';
import {
  type ConfiguredKeys,
  type PublicJwk,
  type PublishedKey,
  readConfiguredKeys,
  type SigningKey,
  SigningKeyError,
} from './signing-key.ts';
import { type KeyNote, noteKey, noteKeyUse } from './signing-keys.sql.ts';

/**
 * How long a key is published after its last token has ended. It covers the clocks of consumers, and that a use is noted
 * every 30 seconds only.
 */
const overlapMarginSeconds = 60;

/** With fewer under way or waiting, a core could soon be idle; more at once only make smaller batches of what follows. */
const signaturesAheadMin = availableParallelism() + 1;

/** No key is configured: key document and exchanges answer 500, and nothing is stored (contract, section 4). */
class NoSigningKeyError extends Error {
  constructor() {
    super('no signing key is configured: set IAM_SIGNING_KEY_FILE');
    this.name = 'NoSigningKeyError';
  }
}

/** What consumers are shown, made once of the keys in it. */
interface KeyDocument {
  readonly keys: readonly PublicJwk[];
  readonly tag: string;
  readonly published: readonly PublishedKey[];
}

/** The keys of the settings with all that is made of them once. */
interface KeysInUse {
  readonly configured: ConfiguredKeys;
  readonly neededSeconds: number;
  readonly document: KeyDocument;
  /** Without the previous key, for when its time is over. */
  readonly laterDocument: KeyDocument;
}

/** The keys in use, parsed once, and the bounded line of signatures that wait for the one that signs. */
export class SigningKeys {
  #keys: KeysInUse | undefined;
  /** On the clock of `performance.now()`. */
  #previousEndsAtMs = 0;
  #waiting = 0;
  #signersBusy: PromiseWithResolvers<void> | undefined;
  readonly #waitingMax: number;

  constructor(waitingMax: number) {
    this.#waitingMax = waitingMax;
  }

  /** Signatures under way or waiting for a thread. */
  get waiting(): number {
    return this.#waiting;
  }

  /**
   * Reads the keys from their settings again, and compares them with those that were last used under their names.
   * @throws SigningKeyError, also for a key that is gone, or what the store threw; the keys that were in use stay in use
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
    // The key that signs until now may become the previous one: its last use is now.
    await this.noteUse(pool);
    const noted = await pool.transaction(async (tx) => {
      const notes = new Map<string, KeyNote | undefined>();
      // In one order everywhere: two processes that change back and forth would wait for each other.
      const keys: PublishedKey[] = previous === undefined ? [signing] : [signing, previous];
      for (const key of keys.sort((one, other) => (one.kid < other.kid ? -1 : 1)))
        notes.set(
          key.kid,
          await tx.row(noteKey(key.kid, key.thumbprint, neededSeconds, key.kid === signing.kid)),
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

  /** Notes that the key signs still, and learns whether a process beside still uses the previous one. */
  async noteUse(pool: Pool): Promise<void> {
    if (this.#keys === undefined) return;
    const { configured, neededSeconds } = this.#keys;
    const { signing, previous } = configured;
    const note = await pool.row(noteKeyUse(signing.kid, neededSeconds, previous?.kid ?? null));
    // A reload that ended meanwhile knows better.
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
   * The key document of this moment: the previous key leaves it when no token that it signed can be live.
   * @throws NoSigningKeyError, answered 500
   */
  document(): Pick<KeyDocument, 'keys' | 'tag'> {
    return this.#document();
  }

  get publishedCount(): number {
    return this.isPresent ? this.#document().published.length : 0;
  }

  /** The published key of a name: what a token of ours may be signed with. */
  published(kid: string | undefined): PublishedKey | undefined {
    return this.isPresent ? this.#document().published.find((key) => key.kid === kid) : undefined;
  }

  #document(): KeyDocument {
    if (this.#keys === undefined) throw new NoSigningKeyError();
    const { document, laterDocument } = this.#keys;
    return performance.now() < this.#previousEndsAtMs ? document : laterDocument;
  }

  /** A promise of when the signers run short of work; undefined when they do now. */
  whenFree(): Promise<void> | undefined {
    if (this.#waiting < signaturesAheadMin) return undefined;
    this.#signersBusy ??= Promise.withResolvers<void>();
    return this.#signersBusy.promise;
  }

  /**
   * Signs an access token (RS256) off the event loop. Without a key, or when too many wait already, it throws at once:
   * what returns a promise is on its way.
   * @throws NoSigningKeyError; Refusal `unavailable`, because a longer line would only answer later
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
        if (this.#waiting < signaturesAheadMin) this.#callForWork();
        if (error === null) done(`${signed}.${signature.toString('base64url')}`);
        else failed(error);
      });
    });
  }

  #callForWork(): void {
    this.#signersBusy?.resolve();
    this.#signersBusy = undefined;
  }
}

function base64urlOf(part: object): string {
  return Buffer.from(JSON.stringify(part)).toString('base64url');
}

/** A key that was announced must sign under the name that consumers know. */
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
