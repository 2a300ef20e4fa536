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
  readonly endsAtMs: number;
  usedAtMs: number;
};

/** In milliseconds and numbers. A browser that is left alone for a night is signed out. */
export const sessionBounds = {
  idleMsMax: 12 * 3_600_000,
  lastsMsMax: 7 * 24 * 3_600_000,
  sessionsMax: 1000,
  codeMsMax: 60_000,
  codesMax: 100,
};

/**
 * The browsers that are signed in, and the codes by which others may. Both are in memory only: a restart signs everybody
 * out. Keys are hashed, so that how long a look-up takes says nothing of a key.
 */
export class Sessions {
  readonly #sessions = new Map<string, Session>();
  readonly #codes = new Map<string, ByToken & { readonly endsAtMs: number }>();
  readonly #now: () => number;

  /** @param now milliseconds of a clock that does not go back */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  /** @returns a code that signs one browser in within 60 seconds; the oldest of a hundred ends for a new one */
  newCode(signedIn: ByToken): string {
    return put(this.#codes, sessionBounds.codesMax, {
      ...signedIn,
      endsAtMs: this.#now() + sessionBounds.codeMsMax,
    });
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
   * @returns the session's key for the browser; the session that was unused for longest ends for a new one
   */
  open(signedIn: SignedIn, subject: string): string {
    const nowMs = this.#now();
    return put(this.#sessions, sessionBounds.sessionsMax, {
      ...signedIn,
      subject,
      endsAtMs: nowMs + sessionBounds.lastsMsMax,
      usedAtMs: nowMs,
    });
  }

  /** @returns what the browser signed in with, or undefined when its session is over */
  use(key: string): SignedIn | undefined {
    const hash = hashOf(key);
    const session = this.#sessions.get(hash);
    if (session === undefined) return undefined;
    const nowMs = this.#now();
    this.#sessions.delete(hash);
    if (nowMs >= session.endsAtMs || nowMs - session.usedAtMs > sessionBounds.idleMsMax) return undefined;
    session.usedAtMs = nowMs;
    // Set again, it is the last of the map: the first is the one that was unused for longest.
    this.#sessions.set(hash, session);
    return session;
  }

  /** @returns whose session this is, or undefined when it is over */
  subjectOf(key: string): string | undefined {
    return this.use(key) && this.#sessions.get(hashOf(key))?.subject;
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

/** Puts a value under a new key of 256 random bits, and drops the oldest where there are too many. */
function put<Value>(map: Map<string, Value>, max: number, value: Value): string {
  const key = randomBytes(32).toString('base64url');
  const [oldest] = map.keys();
  if (map.size >= max && oldest !== undefined) map.delete(oldest);
  map.set(hashOf(key), value);
  return key;
}

function hashOf(key: string): string {
  return createHash('sha256').update(key).digest('base64url');
}
