import { createHash, type KeyObject } from 'node:crypto';
import type { JWTPayload } from 'jose';
import type { Pool } from '@baton/kernel/database/db';
import type { Logger } from '@baton/kernel/process/log';
import type { SigningAlgorithm, SigningAlgorithms } from '../../directory/audiences/audience.ts';
import { awaitAtMost } from '../../service/await-at-most.ts';
import type { Settings } from '../settings.ts';
import { SharedStatement } from '../shared-statement.ts';
import type { JsonWebKey } from './json-web-key.ts';
import { Signatures } from './signatures.ts';
import {
  type KeyRings,
  keysOf,
  type PublishedKey,
  readConfiguredKeys,
  type SigningKey,
  SigningKeyError,
} from './signing-key.ts';
import {
  type AlgorithmUse,
  findAlgorithmUses,
  findKeyNotes,
  type KeyNote,
  noteKeyUses,
  upsertKey,
} from './signing-keys.sql.ts';

/**
 * How long a key is published after its last token has expired. This covers differences between clocks, and the fact
 * that a use is recorded only every 30 seconds.
 */
const overlapMarginSeconds = 60;

/** How long a reader of the key document waits for the database before it gets the cached state. */
const usesMsMax = 2000;

/**
 * No key is configured: requests that need it fail with 500, and nothing is stored (see
 * docs/reference/tokens.md#signing-keys).
 */
class NoSigningKeyError extends Error {
  constructor(algorithm: SigningAlgorithm) {
    const setting =
      algorithm === 'RS256' ? 'IAM_SIGNING_KEY_FILE' : `IAM_SIGNING_${algorithm.toUpperCase()}_KEY_FILE`;
    super(`no ${algorithm} signing key is configured: set ${setting}`);
    this.name = 'NoSigningKeyError';
  }
}

/** The JWKS document, built once from the keys in it. */
interface KeyDocument {
  readonly keys: readonly JsonWebKey[];
  readonly tag: string;
  readonly published: readonly PublishedKey[];
}

/** The configured keys, and the time until which each is needed, on the clock of `performance.now()`. */
interface KeysInUse {
  readonly rings: KeyRings;
  readonly neededSeconds: number;
  /**
   * By algorithm: it is in use while an audience uses it, and until the last token has expired. RS256 is always in use.
   */
  usedUntilMs: ReadonlyMap<SigningAlgorithm, number>;
  /** By `kid`: the key is needed until its last token has expired. */
  neededUntilMs: ReadonlyMap<string, number>;
}

/** The keys in use, parsed once, and their published form. */
export class SigningKeys implements SigningAlgorithms {
  readonly #pool: Pool;
  readonly #signatures: Signatures;
  /** Readers of the key document share a read; one that arrives during a read waits for the next. */
  readonly #uses: SharedStatement<undefined, void>;
  #keys: KeysInUse | undefined;
  #built: KeyDocument | undefined;

  constructor(pool: Pool, waitingMax: number) {
    this.#pool = pool;
    this.#signatures = new Signatures(waitingMax);
    this.#uses = new SharedStatement(async () => {
      if (this.#keys !== undefined) await this.#readUses(this.#keys);
      return [];
    });
  }

  /** The number of signatures that run or wait for a thread. */
  get waiting(): number {
    return this.#signatures.waiting;
  }

  /**
   * Reloads the configured keys, and compares them with the previous keys of the same names. On an error, the current
   * keys remain in use.
   * @throws SigningKeyError, also if a key is missing that is still needed; errors of the database
   */
  async load(settings: Settings, log: Logger): Promise<void> {
    const rings = await readConfiguredKeys(settings);
    const ring = rings?.get('RS256');
    if (rings === undefined || ring === undefined) {
      if (this.#keys !== undefined) throw new SigningKeyError('The signing key is missing.');
      log.warn('no signing key: the key document and every exchange answer 500 until one is configured');
      return;
    }
    refuseOtherName(this.#keys?.rings.get('RS256')?.next, ring.signing);
    // The current signing key may become the previous one, in which case its last use is now.
    await this.noteUse();
    const neededSeconds = settings.IAM_TOKEN_TTL_SECONDS + overlapMarginSeconds;
    const uses = await this.#pool.rows(findAlgorithmUses(neededSeconds));
    const usedUntilMs = endsOf(uses);
    for (const [algorithm, untilMs] of usedUntilMs) {
      if (rings.has(algorithm) || !isAhead(untilMs)) continue;
      if (this.#keys?.rings.has(algorithm))
        throw new SigningKeyError(`The ${algorithm} signing key is missing.`);
      log.warn({ algorithm }, 'audiences use an algorithm without a key: their exchanges answer 500');
    }
    const noted = await this.#noteKeys(rings, usedUntilMs, neededSeconds);
    this.#keys = { rings, neededSeconds, usedUntilMs, neededUntilMs: neededUntilOf([...noted.values()]) };
    for (const key of [...rings.values()].flatMap(keysOf)) warnOfAnotherKey(log, key, noted.get(key.kid));
    const published = this.#document().published.map(({ kid }) => kid);
    log.info({ kid: ring.signing.kid, published }, 'the signing key is in use');
  }

  /** Records the names of the keys that may sign or have signed, and reads how long each of them is needed. */
  #noteKeys(
    rings: KeyRings,
    usedUntilMs: KeysInUse['usedUntilMs'],
    neededSeconds: number,
  ): Promise<Map<string, KeyNote>> {
    const noted: { key: PublishedKey; isSigning: boolean }[] = [];
    const others: string[] = [];
    for (const [algorithm, { signing, next, previous }] of rings) {
      const isUsed = isAhead(usedUntilMs.get(algorithm));
      if (next !== undefined) others.push(next.kid);
      for (const key of previous === undefined ? [signing] : [signing, previous])
        if (isUsed) noted.push({ key, isSigning: key === signing });
        else others.push(key.kid);
    }
    // All processes lock in the same order; otherwise two processes that swap keys could deadlock.
    noted.sort(({ key: one }, { key: other }) => (one.kid < other.kid ? -1 : 1));
    return this.#pool.transaction(async (tx) => {
      const notes = new Map<string, KeyNote>();
      for (const { key, isSigning } of noted) {
        const note = await tx.row(upsertKey(key.kid, key.thumbprint, neededSeconds, isSigning));
        if (note !== undefined) notes.set(key.kid, note);
      }
      for (const note of await tx.rows(findKeyNotes(others))) notes.set(note.kid, note);
      return notes;
    });
  }

  /** Records that this process still signs with its keys, and reads whether other processes still use the others. */
  async noteUse(): Promise<void> {
    const keys = this.#keys;
    if (keys === undefined) return;
    await this.#readUses(keys);
    const rings = [...keys.rings.values()];
    const signing = rings
      .map((ring) => ring.signing)
      .filter(({ algorithm }) => isAhead(keys.usedUntilMs.get(algorithm)));
    const kids = rings.flatMap(keysOf).map(({ kid }) => kid);
    // If a reload replaces the keys in the meantime, this updates the old object, which has no effect.
    keys.neededUntilMs = neededUntilOf(await this.#pool.rows(noteKeyUses(signing, keys.neededSeconds, kids)));
  }

  async #readUses(keys: KeysInUse): Promise<void> {
    keys.usedUntilMs = endsOf(await this.#pool.rows(findAlgorithmUses(keys.neededSeconds)));
  }

  /** The signing key of an algorithm. @throws NoSigningKeyError, status 500 */
  current(algorithm: SigningAlgorithm = 'RS256'): SigningKey {
    const ring = this.#keys?.rings.get(algorithm);
    if (ring === undefined) throw new NoSigningKeyError(algorithm);
    return ring.signing;
  }

  /**
   * The private RS256 keys, which all processes share: the key that signs, then the next one, with which processes that
   * have reloaded earlier already sign.
   * @throws NoSigningKeyError, status 500
   */
  sharedKeys(): readonly KeyObject[] {
    const { signing, next } = this.#keys?.rings.get('RS256') ?? fail();
    return next === undefined ? [signing.privateKey] : [signing.privateKey, next.privateKey];
  }

  get isPresent(): boolean {
    return this.#keys !== undefined;
  }

  isAvailable(algorithm: SigningAlgorithm): boolean {
    return this.#keys?.rings.has(algorithm) === true;
  }

  /**
   * The current key document: keys of an algorithm other than RS256 while an audience uses it, previous keys until
   * every token that they signed has expired. Another process may have added an audience, so the database is read.
   * @throws NoSigningKeyError, status 500
   */
  async document(): Promise<Pick<KeyDocument, 'keys' | 'tag'>> {
    const { rings, usedUntilMs } = this.#keys ?? fail();
    const isCertain = [...rings.keys()].every(
      (algorithm) => usedUntilMs.get(algorithm) === Number.POSITIVE_INFINITY,
    );
    if (!isCertain) await awaitAtMost(usesMsMax, this.#uses.call(undefined));
    return this.#document();
  }

  get publishedCount(): number {
    return this.isPresent ? this.#document().published.length : 0;
  }

  /**
   * The key with this name that verifies our tokens: one that signs now or will sign in this process, or one that is
   * still needed.
   */
  verifying(kid: string | undefined): PublishedKey | undefined {
    if (this.#keys === undefined) return undefined;
    const configured = [...this.#keys.rings.values()].flatMap(({ signing, next }) => [signing, next]);
    return [...configured, ...this.#document().published].find((key) => key?.kid === kid);
  }

  #document(): KeyDocument {
    const { rings, usedUntilMs, neededUntilMs } = this.#keys ?? fail();
    const published = [...rings].flatMap(([algorithm, ring]) => {
      const isUsed = isAhead(usedUntilMs.get(algorithm));
      return keysOf(ring).filter(
        (key) => (isUsed && key !== ring.previous) || isAhead(neededUntilMs.get(key.kid)),
      );
    });
    const isBuilt = this.#built?.published.length === published.length;
    if (
      this.#built === undefined ||
      !isBuilt ||
      published.some((key, at) => key !== this.#built?.published[at])
    )
      this.#built = documentOf(published);
    return this.#built;
  }

  /** Resolves when a core could soon be idle; undefined if that is already so. */
  whenFree(): Promise<void> | undefined {
    return this.#signatures.whenFree();
  }

  /**
   * Signs an access token. Without a key, or with a full queue, it throws at once instead of returning a promise, so
   * that the caller records nothing.
   * @throws NoSigningKeyError; Refusal `unavailable` when the queue is full
   */
  sign(algorithm: SigningAlgorithm, claims: JWTPayload, typ?: string): Promise<string> {
    return this.#signatures.sign(this.current(algorithm), claims, typ);
  }
}

function fail(): never {
  throw new NoSigningKeyError('RS256');
}

function isAhead(untilMs: number | undefined): boolean {
  return untilMs !== undefined && untilMs > performance.now();
}

/** The time at which each algorithm stops being used, on the clock of `performance.now()`. */
function endsOf(uses: readonly AlgorithmUse[]): Map<SigningAlgorithm, number> {
  const ends = new Map<SigningAlgorithm, number>([['RS256', Number.POSITIVE_INFINITY]]);
  for (const { algorithm, is_carried, needed_seconds } of uses)
    ends.set(
      algorithm,
      is_carried ? Number.POSITIVE_INFINITY : performance.now() + (needed_seconds ?? 0) * 1000,
    );
  return ends;
}

function neededUntilOf(notes: readonly Pick<KeyNote, 'kid' | 'needed_seconds'>[]): Map<string, number> {
  return new Map(
    notes.map(({ kid, needed_seconds }) => [kid, performance.now() + (needed_seconds ?? 0) * 1000]),
  );
}

/** Refuses another name for a key that was published as the next one: it must keep its name. */
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
      'ANOTHER KEY UNDER THE SAME KID: consumers continue to trust the old one. Change IAM_SIGNING_KEY_ID with the key.',
    );
}
