import { createHash, randomBytes } from 'node:crypto';
import type { ProviderGrant } from './provider-sign-in.ts';

/** Of a personal access token. */
interface ByToken {
  readonly token: string;
  readonly grant?: undefined;
}

/** What a browser signed in with, kept here so that no page ever holds it. */
type SignedIn = ByToken | { readonly grant: ProviderGrant; readonly token?: undefined };

type Session = SignedIn & {
  /** Identity's name of the person, so that all their sessions can be ended at once. */
  readonly subject: string;
  readonly pageKeyHash: string;
  readonly endsAtMs: number;
  usedAtMs: number;
};

type Code = ByToken & { readonly subject: string; readonly endsAtMs: number };

/**
 * In milliseconds and numbers. A browser that is left alone for a night is signed out. Whoever has a token can ask for as
 * many sessions and codes as they like: each person has bounds of their own, so that nobody ends those of others.
 */
export const sessionBounds = {
  idleMsMax: 12 * 3_600_000,
  lastsMsMax: 7 * 24 * 3_600_000,
  sessionsMax: 1000,
  sessionsOfOneMax: 20,
  codeMsMax: 60_000,
  codesMax: 1000,
  codesOfOneMax: 10,
};

/**
 * The browsers that are signed in, and the codes by which others may. Both are in memory only: a restart signs everybody
 * out. Keys are hashed, so that how long a look-up takes says nothing of a key.
 *
 * A session has two keys. Browsers send a cookie to every port of a host, and every port can set one, so the cookie's key
 * alone opens nothing: the page's key is in the storage of the console's origin, which no other port can read or write.
 */
export class Sessions {
  readonly #sessions = new Map<string, Session>();
  readonly #codes = new Map<string, Code>();
  readonly #now: () => number;

  /** @param now milliseconds of a clock that does not go back */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  /**
   * @param subject whom it signs in
   * @returns a code that signs one browser in within 60 seconds; the person's oldest of ten ends for a new one
   */
  newCode(signedIn: ByToken, subject: string): string {
    const { codesMax, codesOfOneMax, codeMsMax } = sessionBounds;
    const endsAtMs = this.#now() + codeMsMax;
    return put(this.#codes, codesMax, codesOfOneMax, { ...signedIn, subject, endsAtMs });
  }

  /** @returns what a code signs in with, and leaves the code; undefined for one that is unknown, used or too old */
  readCode(code: string): ByToken | undefined {
    const found = this.#codes.get(hashOf(code));
    return found !== undefined && found.endsAtMs > this.#now() ? { token: found.token } : undefined;
  }

  /** As `readCode`, and the code is gone then. */
  takeCode(code: string): ByToken | undefined {
    const signedIn = this.readCode(code);
    this.#codes.delete(hashOf(code));
    return signedIn;
  }

  /**
   * @param subject whose session it is
   * @param pageKeyHash of the page that signs in
   * @returns the session's key for the browser; of twenty, the person's session that was unused for longest ends for it
   */
  open(signedIn: SignedIn, subject: string, pageKeyHash: string): string {
    const { sessionsMax, sessionsOfOneMax, lastsMsMax } = sessionBounds;
    const nowMs = this.#now();
    return put(this.#sessions, sessionsMax, sessionsOfOneMax, {
      ...signedIn,
      subject,
      pageKeyHash,
      endsAtMs: nowMs + lastsMsMax,
      usedAtMs: nowMs,
    });
  }

  /** @returns what the browser signed in with, and who; undefined when its session is over or is another page's */
  use(key: string, pageKey: string): (SignedIn & { readonly subject: string }) | undefined {
    const hash = hashOf(key);
    const session = this.#sessions.get(hash);
    if (session === undefined || session.pageKeyHash !== hashOf(pageKey)) return undefined;
    const nowMs = this.#now();
    this.#sessions.delete(hash);
    if (nowMs >= session.endsAtMs || nowMs - session.usedAtMs > sessionBounds.idleMsMax) return undefined;
    session.usedAtMs = nowMs;
    // Set again, it is the last of the map: the first is the one that was unused for longest.
    this.#sessions.set(hash, session);
    return session;
  }

  close(key: string): void {
    this.#sessions.delete(hashOf(key));
  }

  /** Ends every session of the person whose session this is. */
  closeAllOf(key: string): void {
    const subject = this.#sessions.get(hashOf(key))?.subject;
    if (subject === undefined) return;
    for (const [hash, session] of this.#sessions)
      if (session.subject === subject) this.#sessions.delete(hash);
  }
}

/**
 * Puts a value under a new key of 256 random bits. Where its subject has too many the oldest of these is dropped, and where
 * all together are too many the oldest of all.
 */
function put<Value extends { readonly subject: string }>(
  map: Map<string, Value>,
  max: number,
  ofOneMax: number,
  value: Value,
): string {
  const all = [...map.keys()];
  const own = all.filter((hash) => map.get(hash)?.subject === value.subject);
  const [oldest] = own.length >= ofOneMax ? own : all.length >= max ? all : [];
  if (oldest !== undefined) map.delete(oldest);
  const key = randomBytes(32).toString('base64url');
  map.set(hashOf(key), value);
  return key;
}

/** @returns the SHA-256 of a key, in base64url */
export function hashOf(key: string): string {
  return createHash('sha256').update(key).digest('base64url');
}
