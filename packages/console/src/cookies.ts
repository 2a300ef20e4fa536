import type { IncomingMessage } from 'node:http';
import { ConsoleRefusal } from './refusal.ts';

/** The path of the redirect URI for identity providers, relative to the console's address. */
export const callbackPath = '/console/callback';
const sessionCookie = 'baton_console';
/**
 * The sealed sign-in of this browser. The cookie isn't SameSite=Strict, because it must be sent when the browser
 * returns from another site.
 */
const signInCookie = 'baton_console_begin';
/** Limits the lookups per request. The console sets fewer cookies of one name than this in a browser. */
const cookiesMax = 10;
/** The header in which the page sends the key from the storage of its origin. */
const pageKeyHeader = 'baton-console-key';

/** A session cookie, sent with the console's own requests only: SameSite=Strict. */
export function sessionCookieOf(key: string, isSecure: boolean): string {
  return cookieOf({ name: sessionCookie, value: key, path: '/console', sameSite: 'Strict', isSecure });
}

export function signInCookieOf(sealed: string, isSecure: boolean): string {
  return cookieOf({ name: signInCookie, value: sealed, path: callbackPath, sameSite: 'Lax', isSecure });
}

/**
 * Over https, the name has the prefix `__Host-`. Browsers accept such a cookie only from this host itself (RFC
 * 6265bis), so neither another subdomain nor a page over http can set one.
 */
function nameOf(name: string, isSecure: boolean): string {
  return isSecure ? `__Host-${name}` : name;
}

interface NewCookie {
  readonly name: string;
  readonly value: string;
  /** Used over http only: over https, the prefix of the name requires the path `/`. */
  readonly path: string;
  readonly sameSite: 'Strict' | 'Lax';
  readonly isSecure: boolean;
}

function cookieOf({ name, value, path, sameSite, isSecure }: NewCookie): string {
  const place = isSecure ? '/' : path;
  const pair = `${nameOf(name, isSecure)}=${value}`;
  return `${pair}; Path=${place}; HttpOnly; SameSite=${sameSite}${isSecure ? '; Secure' : ''}`;
}

/**
 * @returns the keys in all session cookies. Over http there may be several, because a service on another port of this
 * host can set cookies with the same name.
 */
export const readSessionKeys = (req: IncomingMessage, isSecure: boolean): string[] =>
  readCookies(req, nameOf(sessionCookie, isSecure), /^[\w-]{43}$/);

export const readSealedSignIns = (req: IncomingMessage, isSecure: boolean): string[] =>
  readCookies(req, nameOf(signInCookie, isSecure), /^[\w-]+$/);

/** @returns the values of all cookies of this name that have the given form, ten at most */
function readCookies(req: IncomingMessage, name: string, form: RegExp): string[] {
  const prefix = `${name}=`;
  return (req.headers.cookie ?? '')
    .split(';')
    .map((pair) => pair.trim())
    .filter((pair) => pair.startsWith(prefix))
    .map((pair) => pair.slice(prefix.length))
    .filter((value) => form.test(value))
    .slice(0, cookiesMax);
}

/** @throws ConsoleRefusal for a request that doesn't come from a page of the console */
export function readPageKey(req: IncomingMessage): string {
  const key = req.headers[pageKeyHeader];
  if (typeof key === 'string' && /^[\w-]{43}$/.test(key)) return key;
  throw new ConsoleRefusal(
    400,
    'invalid_request',
    `The header ${pageKeyHeader} must contain the page's key.`,
  );
}
