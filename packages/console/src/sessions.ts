import { createHash, randomBytes } from 'node:crypto';
import type { ProviderGrant, TestedSignIn } from './provider-sign-in.ts';

/** A sign-in with a personal access token. */
interface ByToken {
  readonly token: string;
  /** Whether the sign-in used a code that this process printed for its operator. */
  readonly isOperator?: boolean;
  readonly grant?: undefined;
  readonly secret?: undefined;
}

/** A sign-in through an identity provider. The session at identity ends with the grant of the provider. */
interface ByGrant {
  readonly grant: ProviderGrant;
  readonly secret: string;
  readonly token?: undefined;
}

/** A sign-in with a passkey or an invitation, with the secret of its browser session in identity. */
interface BySecret {
  readonly secret: string;
  readonly token?: undefined;
  readonly grant?: undefined;
}

/** The credential of a sign-in, kept on the server so that no page holds it. */
export type SignedIn = ByToken | ByGrant | BySecret;

type Session = SignedIn & {
  /** Identifies the person, so that all their sessions can be ended. */
  readonly subject: string;
  readonly pageKeyHash: string;
  readonly endsAtMs: number;
  usedAtMs: number;
  /** The result of the last test of a provider, until the page takes it. */
  tested?: { readonly result: TestedSignIn; readonly endsAtMs: number } | undefined;
};

type Code = ByToken & { readonly subject: string; readonly endsAtMs: number };

/**
 * In milliseconds and counts. A browser that is idle overnight is signed out. The owner of a token can create any
 * number of sessions and codes, so each person has limits of their own, and nobody can evict those of others.
 */
export const sessionBounds = {
  idleMsMax: 12 * 3_600_000,
  lastsMsMax: 7 * 24 * 3_600_000,
  sessionsMax: 1000,
  sessionsOfOneMax: 20,
  codeMsMax: 60_000,
  codesMax: 1000,
  codesOfOneMax: 10,
  testedMsMax: 300_000,
};

/**
 * Signed-in browsers, and sign-in codes. Both are kept in memory only, so a restart signs everybody out. Keys are
 * hashed, so that the time of a lookup reveals nothing about a key.
 *
 * A session has two keys. Browsers send a cookie to every port of a host, and every port can set one, so the cookie
 * alone is not accepted: the page's key is in the storage of the console's origin, which no other port can read or
 * write.
 */
export class Sessions {
  readonly #sessions = new Map<string, Session>();
  readonly #codes = new Map<string, Code>();
  readonly #now: () => number;

  /** @param now a monotonic clock, in milliseconds */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  /**
   * @param subject the person that it signs in
   * @returns a code that signs in one browser within 60 seconds. An eleventh code replaces the person's oldest.
   */
  newCode(signedIn: ByToken, subject: string): string {
    const { codesMax, codesOfOneMax, codeMsMax } = sessionBounds;
    const endsAtMs = this.#now() + codeMsMax;
    return put(this.#codes, codesMax, codesOfOneMax, { ...signedIn, subject, endsAtMs });
  }

  /** @returns the credential of a code, without consuming the code; undefined if it is unknown, used or expired */
  readCode(code: string): ByToken | undefined {
    const found = this.#codes.get(hashKey(code));
    return found !== undefined && found.endsAtMs > this.#now()
      ? { token: found.token, ...(found.isOperator === true && { isOperator: true }) }
      : undefined;
  }

  /** Like `readCode`, and consumes the code. */
  takeCode(code: string): ByToken | undefined {
    const signedIn = this.readCode(code);
    this.#codes.delete(hashKey(code));
    return signedIn;
  }

  /**
   * @param subject the owner of the session
   * @param pageKeyHash of the page that signs in
   * @returns the session's key for the browser. A 21st session replaces the person's least recently used.
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

  /**
   * @returns the browser's credential, its owner and the age of the sign-in; undefined if the session has ended or
   * belongs to another page
   */
  use(
    key: string,
    pageKey: string,
  ): (SignedIn & { readonly subject: string; readonly ageMs: number }) | undefined {
    const hash = hashKey(key);
    const session = this.#sessions.get(hash);
    if (session === undefined || session.pageKeyHash !== hashKey(pageKey)) return undefined;
    const nowMs = this.#now();
    this.#sessions.delete(hash);
    if (nowMs >= session.endsAtMs || nowMs - session.usedAtMs > sessionBounds.idleMsMax) return undefined;
    session.usedAtMs = nowMs;
    // Reinserted at the end of the map, so that the first entry is the least recently used.
    this.#sessions.set(hash, session);
    return { ...session, ageMs: nowMs - session.endsAtMs + sessionBounds.lastsMsMax };
  }

  /** Stores the result of a test in the session that began it. @returns false if that session has ended */
  keepTested(key: string, result: TestedSignIn): boolean {
    const session = this.#sessions.get(hashKey(key));
    if (session === undefined) return false;
    session.tested = { result, endsAtMs: this.#now() + sessionBounds.testedMsMax };
    return true;
  }

  /**
   * @returns the result of the session's last test, once; undefined if there is none, or it is more than five minutes
   * old
   */
  takeTested(key: string): TestedSignIn | undefined {
    const session = this.#sessions.get(hashKey(key));
    const tested = session?.tested;
    if (session !== undefined) session.tested = undefined;
    return tested !== undefined && tested.endsAtMs > this.#now() ? tested.result : undefined;
  }

  /** @returns the credential of the session, which may have to be revoked; undefined if there was none */
  close(key: string): SignedIn | undefined {
    const hash = hashKey(key);
    const session = this.#sessions.get(hash);
    this.#sessions.delete(hash);
    return session;
  }

  /** Ends every other session of this session's owner. */
  closeOthersOf(key: string): void {
    const own = hashKey(key);
    const subject = this.#sessions.get(own)?.subject;
    if (subject === undefined) return;
    for (const [hash, session] of this.#sessions)
      if (session.subject === subject && hash !== own) this.#sessions.delete(hash);
  }
}

/**
 * Stores a value under a new key of 256 random bits. Beyond the limit per subject the subject's oldest value is
 * dropped; beyond the total limit the oldest of all.
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
  map.set(hashKey(key), value);
  return key;
}

/** @returns the SHA-256 of a key, in base64url */
export function hashKey(key: string): string {
  return createHash('sha256').update(key).digest('base64url');
}
