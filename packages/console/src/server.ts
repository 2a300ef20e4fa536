import type { IncomingMessage, ServerResponse } from 'node:http';
import { BatonError, createClient, type IssuedToken, type Transport } from '@baton/sdk';
import { AddressRates } from './address-rates.ts';
import { builtConsole } from './build.ts';
import type { ConsoleDemo } from './demo.ts';
import { Files, securityHeaders } from './files.ts';
import {
  type ProviderGrant,
  ProviderSignIn,
  type ProviderSignInOptions,
  signInBounds,
} from './provider-sign-in.ts';
import { ConsoleRefusal } from './refusal.ts';
import { hashOf, Sessions } from './sessions.ts';

export type { ConsoleDemo } from './demo.ts';
export type { ProviderSecret } from './provider-sign-in.ts';

export interface ConsoleOptions {
  /** Where this process reaches Baton. */
  readonly url: string;
  /** How identity is asked for a browser's request, so that its limits count that browser; over the network without it. */
  readonly transport?: (req: IncomingMessage) => Transport;
  /** The key by which browsers without a session are rate-limited: their address, or their IPv6 network. */
  readonly countedAs: (req: IncomingMessage) => string;
  /** The tenant's identity providers through which people may sign in. */
  readonly signIn?: ProviderSignInOptions;
  /** The live demo; without it the console offers none. */
  readonly demo?: ConsoleDemo;
  /** Folder for the built console, where the checkout can't be written to. */
  readonly cache: string;
  /** Whether browsers reach it by https, so that the cookie may not travel otherwise. */
  readonly isSecure: boolean;
  say(line: string): void;
}

/** The console of one Baton: its page, and the sessions of browsers that are signed in. */
export interface Console {
  /** Answers a request for the console. @returns false for one that is not: it is left alone */
  handle(req: IncomingMessage, res: ServerResponse): boolean;
  /** @returns a code that signs in one browser, within 60 seconds, as the owner of this personal access token */
  newCode(token: string): string;
}

const audience = 'control-plane';
const cookieName = 'baton_console';
/** More cookies of one name than a browser has of the console's own: each is looked up. */
const cookiesMax = 10;
/** The header in which the page sends the key that the storage of its origin has. */
const pageKeyHeader = 'baton-console-key';
/** Holds the sign-in that the browser began, sealed; it must come back from another site, which SameSite=Strict would forbid. */
const beginCookie = 'baton_console_begin';
/** Where identity providers send browsers back to, below the console's address. */
export const callbackPath = '/console/callback';
/** Whose the codes are that this process itself asks for: nobody else's bound counts them. */
const ofThisProcess = 'this process';
const bodyBytesMax = 8192;
const exchangeMsMax = 10_000;
/** At a time. Each takes milliseconds; more would wait in identity's queue in any case. */
const exchangesMax = 64;
/** First words of the paths that are pages of the console, besides `/`. */
const pages = new Set([
  'sign-in',
  'tasks',
  'inbox',
  'approvals',
  'agents',
  'journal',
  'projects',
  'processes',
  'skills',
  'knowledge',
  'administration',
  'system',
]);

/** Serves the console; builds it first, in the background, where no earlier build of the same content is there. */
export function createConsole(options: ConsoleOptions): Console {
  const { url, transport, countedAs, signIn, demo, cache, isSecure, say } = options;
  const sessions = new Sessions();
  const bySignIn = signIn && new ProviderSignIn(signIn);
  // Beginning asks identity, finishing asks the provider; anybody may do both.
  const rates = { begin: new AddressRates(), finish: new AddressRates() };
  let files: Files | undefined;
  let failure: string | undefined;
  builtConsole(cache, say).then(
    (folder) => {
      files = new Files(folder);
    },
    (error: Error) => {
      failure = error.message;
      say(error.message);
    },
  );
  let exchanges = 0;
  /** At identity, for this browser. @throws ConsoleRefusal while too many ask */
  async function atIdentity<Answer>(
    req: IncomingMessage,
    ask: (identity: ReturnType<typeof createClient>['identity']) => Promise<Answer>,
  ): Promise<Answer> {
    if (exchanges >= exchangesMax)
      throw new ConsoleRefusal(503, 'unavailable', 'Many sign in now: try again.');
    exchanges += 1;
    try {
      const { identity } = createClient({
        url,
        deadlineMs: exchangeMsMax,
        ...(transport && { transport: transport(req) }),
      });
      return await ask(identity);
    } finally {
      exchanges -= 1;
    }
  }
  const exchange = (req: IncomingMessage, token: string): Promise<IssuedToken> =>
    atIdentity(req, (identity) => identity.platformAccessTokens.exchange({ token, audience }));
  async function exchangeGrant(req: IncomingMessage, grant: ProviderGrant): Promise<IssuedToken> {
    const token = await grant.idToken();
    const body = { identityProvider: grant.provider, token, audience };
    return atIdentity(req, (identity) => identity.federation.exchange(bySignIn?.tenantId ?? '', body));
  }
  /**
   * For the person whom the browser's session is of.
   * @returns the token, and whom it is of: in one browser that can be another person than a moment ago
   * @throws ConsoleRefusal where there is no session, or none any more
   */
  async function tokenOfSession(req: IncomingMessage): Promise<IssuedToken & { person: string }> {
    const { key, session } = sessionOf(req) ?? {};
    if (key === undefined || session === undefined)
      throw new ConsoleRefusal(401, 'signed_out', 'Sign in first.');
    try {
      const issued = await (session.grant === undefined
        ? exchange(req, session.token)
        : exchangeGrant(req, session.grant));
      return { ...tokenOf(issued), person: subjectOf(issued, session.subject) };
    } catch (error) {
      const { status, code, message } = refusalOf(error);
      if (status === 429 || status >= 500) throw error;
      // The token is over, or the provider or identity does not vouch for this person any more.
      sessions.close(key);
      throw new ConsoleRefusal(401, code, message);
    }
  }
  /**
   * The session of the page that asks. Another port of this host can plant cookies of the same name: they don't fit the
   * page's key, and don't hide the one that does.
   * @throws ConsoleRefusal where the page sends no key
   */
  function sessionOf(req: IncomingMessage) {
    const pageKey = pageKeyIn(req);
    for (const key of keysIn(req)) {
      const session = sessions.use(key, pageKey);
      if (session !== undefined) return { key, session };
    }
    return undefined;
  }
  /** A browser has one session: whoever signs in anew leaves none behind that nobody can end. */
  function endEarlierSession(req: IncomingMessage): void {
    for (const key of keysIn(req)) sessions.close(key);
  }
  /** Whether this page has a session of another person than this one. */
  function isOfAnother(req: IncomingMessage, subject: string): boolean {
    const owner = sessionOf(req)?.session.subject;
    return owner !== undefined && owner !== subject;
  }
  /** Who an access token is of, at coordination. */
  async function principalOf(accessToken: string): Promise<string> {
    const { harness } = createClient({
      url,
      deadlineMs: exchangeMsMax,
      credential: { accessToken: () => Promise.resolve({ accessToken, expiresIn: 60 }) },
    });
    return (await harness.getContext()).principal.id;
  }
  /** Opens a session for the browser that comes back from a provider, or says on the page why not. */
  async function finishSignIn(req: IncomingMessage, res: ServerResponse): Promise<void> {
    const answer = new URL(req.url ?? '/', 'http://console').searchParams;
    const forget = `${beginCookieOf('', isSecure)}; Max-Age=0`;
    try {
      if (bySignIn === undefined) throw new ConsoleRefusal(404, 'not_found', 'Nobody signs in so.');
      if (!rates.finish.take(countedAs(req))) throw rateLimited();
      const { grant, next, pageKeyHash, session } = await bySignIn.finish(
        {
          state: answer.get('state') ?? '',
          code: answer.get('code') ?? undefined,
          issuer: answer.get('iss') ?? undefined,
          error: answer.get('error') ?? undefined,
        },
        valuesIn(req, beginCookie, /^[\w-]+$/),
      );
      const subject = subjectOf(await exchangeGrant(req, grant));
      // From a provider of another site the browser comes back without the cookie of its session.
      if (session !== undefined) sessions.close(session);
      endEarlierSession(req);
      redirect(res, next, [cookieOf(sessions.open({ grant }, subject, pageKeyHash), isSecure), forget]);
    } catch (error) {
      const { code } = refusalOf(error);
      redirect(res, `/sign-in?problem=${encodeURIComponent(code)}`, isForeign(code) ? [] : [forget]);
    }
  }

  const acts: Readonly<Record<string, (req: IncomingMessage, res: ServerResponse) => Promise<void>>> = {
    '/console/sign-in': async (req, res) => {
      const { code, token: given, replace } = await readBody(req, ['code', 'token', 'replace']);
      const pageKeyHash = hashOf(pageKeyIn(req));
      if ((code === undefined) === (given === undefined))
        throw new ConsoleRefusal(400, 'invalid_request', 'Send either a code or a personal access token.');
      const token = given ?? (code && sessions.readCode(code)?.token);
      if (token === undefined) throw invalidCode();
      const issued = await exchange(req, token);
      const subject = subjectOf(issued);
      if (code !== undefined) {
        // Anybody can send somebody an address with a code of their own, and would then see what is written here.
        if (replace === undefined && isOfAnother(req, subject))
          throw new ConsoleRefusal(409, 'signed_in_as_other', 'This browser is signed in as somebody else.');
        if (sessions.takeCode(code) === undefined) throw invalidCode();
      }
      endEarlierSession(req);
      const key = sessions.open({ token }, subject, pageKeyHash);
      sendJson(res, 200, tokenOf(issued), { 'set-cookie': cookieOf(key, isSecure) });
    },
    '/console/token': async (req, res) => {
      await readBody(req, []);
      sendJson(res, 200, await tokenOfSession(req));
    },
    '/console/demo': async (req, res) => {
      const { act } = await readBody(req, ['act']);
      if (act !== 'state' && act !== 'start' && act !== 'remove')
        throw new ConsoleRefusal(400, 'invalid_request', 'The act is state, start or remove.');
      const { accessToken } = await tokenOfSession(req);
      const isAllowed = demo?.isFor(await principalOf(accessToken)) ?? false;
      if (act === 'state') return sendJson(res, 200, { isAllowed });
      if (demo === undefined || !isAllowed)
        throw new ConsoleRefusal(
          403,
          'permission_denied',
          'Only the administrator of this Baton starts and removes its demo.',
        );
      await demo[act]().catch((error: Error) => {
        throw new ConsoleRefusal(409, 'demo_refused', error.message);
      });
      sendJson(res, 200, {});
    },
    '/console/sign-out': async (req, res) => {
      const { everywhere } = await readBody(req, ['everywhere']);
      const key = sessionOf(req)?.key;
      if (key !== undefined && everywhere !== undefined) sessions.closeAllOf(key);
      if (key !== undefined) sessions.close(key);
      sendJson(res, 200, {}, { 'set-cookie': `${cookieOf('', isSecure)}; Max-Age=0` });
    },
    '/console/providers': async (req, res) => {
      await readBody(req, []);
      sendJson(res, 200, { providers: bySignIn?.providers ?? [] });
    },
    '/console/provider-sign-in': async (req, res) => {
      const { provider, next = '/' } = await readBody(req, ['provider', 'next']);
      if (bySignIn === undefined || provider === undefined)
        throw new ConsoleRefusal(404, 'identity_provider_not_found', 'Name an identity provider.');
      // The cookie is for one host: at another the browser would not be known when it comes back.
      if (req.headers.host !== new URL(bySignIn.origin).host)
        throw new ConsoleRefusal(409, 'wrong_address', `Open the console at ${bySignIn.origin} for that.`);
      const pageKeyHash = hashOf(pageKeyIn(req));
      if (!rates.begin.take(countedAs(req))) throw rateLimited();
      const { url: at, browser } = await bySignIn.begin(provider, next, pageKeyHash, sessionOf(req)?.key);
      const cookie = `${beginCookieOf(browser, isSecure)}; Max-Age=${signInBounds.lastsMsMax / 1000}`;
      sendJson(res, 200, { url: at }, { 'set-cookie': cookie });
    },
    '/console/codes': async (req, res) => {
      const { token } = await readBody(req, ['token']);
      if (token === undefined)
        throw new ConsoleRefusal(400, 'invalid_request', 'Send a personal access token: {"token": "..."}.');
      const subject = subjectOf(await exchange(req, token));
      sendJson(res, 201, { code: sessions.newCode({ token }, subject), expiresIn: 60 });
    },
  };

  return {
    newCode: (token) => sessions.newCode({ token }, ofThisProcess),
    handle(req, res) {
      // As it came: of `//` URL makes no path, it throws.
      const [path = '/'] = (req.url ?? '/').split('?', 1);
      const act = acts[path];
      if (act !== undefined && req.method === 'POST') {
        act(req, res).catch((error: unknown) => sendError(res, error));
        return true;
      }
      if (path === callbackPath && req.method === 'GET') {
        void finishSignIn(req, res);
        return true;
      }
      if (req.method !== 'GET' && req.method !== 'HEAD') return false;
      const isPage = path === '/' || pages.has(path.split('/')[1] ?? '');
      const file = isPage ? '/index.html' : path;
      if (files === undefined) {
        if (!isPage) return false;
        sendWaiting(res, failure);
        return true;
      }
      if (!files.has(file) || (!isPage && !path.startsWith('/assets/'))) return false;
      files.send(req, res, file);
      return true;
    },
  };
}

/**
 * Whether a callback was refused that isn't the answer to the sign-in that this browser has begun. Any site can send a browser to
 * such an address; the sign-in goes on.
 */
function isForeign(code: string): boolean {
  return ['sign_in_expired', 'sign_in_of_another', 'rate_limited'].includes(code);
}

function rateLimited(): ConsoleRefusal {
  return new ConsoleRefusal(
    429,
    'rate_limited',
    'Too many sign-in attempts from your address. Try again in a minute.',
  );
}

function invalidCode(): ConsoleRefusal {
  const message = 'This code was used, or is older than a minute: get a new one with baton console.';
  return new ConsoleRefusal(401, 'code_invalid', message);
}

function tokenOf({ accessToken, expiresIn }: IssuedToken): IssuedToken {
  return { accessToken, expiresIn };
}

/**
 * Identity's name of whom it has just issued an access token to: the tenant and the principal.
 * @param unread what counts where the token can't be read: by itself it is of nobody else, so its session is ended alone
 */
function subjectOf({ accessToken }: IssuedToken, unread: string = crypto.randomUUID()): string {
  const claims = jsonIn(Buffer.from(accessToken.split('.')[1] ?? '', 'base64url').toString());
  const { tenant_id, sub } = (claims ?? {}) as Record<string, unknown>;
  return typeof sub === 'string' ? JSON.stringify([tenant_id, sub]) : unread;
}

/** Only the console's own requests bring it: SameSite=Strict, and below /console. */
function cookieOf(key: string, isSecure: boolean): string {
  return `${cookieName}=${key}; Path=/console; HttpOnly; SameSite=Strict${isSecure ? '; Secure' : ''}`;
}

function beginCookieOf(key: string, isSecure: boolean): string {
  return `${beginCookie}=${key}; Path=${callbackPath}; HttpOnly; SameSite=Lax${isSecure ? '; Secure' : ''}`;
}

/** @returns the values of all cookies of this name that have the given form, ten at most */
function valuesIn(req: IncomingMessage, name: string, form: RegExp): string[] {
  const prefix = `${name}=`;
  return (req.headers.cookie ?? '')
    .split(';')
    .map((pair) => pair.trim())
    .filter((pair) => pair.startsWith(prefix))
    .map((pair) => pair.slice(prefix.length))
    .filter((value) => form.test(value))
    .slice(0, cookiesMax);
}

const keysIn = (req: IncomingMessage): string[] => valuesIn(req, cookieName, /^[\w-]{43}$/);

/** @throws ConsoleRefusal for a request that no page of the console has sent */
function pageKeyIn(req: IncomingMessage): string {
  const key = req.headers[pageKeyHeader];
  if (typeof key === 'string' && /^[\w-]{43}$/.test(key)) return key;
  throw new ConsoleRefusal(400, 'invalid_request', `Send the page's key in the header ${pageKeyHeader}.`);
}

/**
 * Reads a body of JSON with these members, all of them texts that may be left out.
 * @throws ConsoleRefusal for another body, or one of another page: a browser sends JSON across origins only after asking
 */
async function readBody<Name extends string>(
  req: IncomingMessage,
  names: readonly Name[],
): Promise<Partial<Record<Name, string>>> {
  const invalid = (message: string) => new ConsoleRefusal(400, 'invalid_request', message);
  const site = req.headers['sec-fetch-site'];
  if (site !== undefined && site !== 'same-origin' && site !== 'none')
    throw new ConsoleRefusal(403, 'origin_not_allowed', 'Only pages of the console may ask this.');
  if (!/^application\/json\b/.test(req.headers['content-type'] ?? '')) throw invalid('Send JSON.');
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of req as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > bodyBytesMax) throw new ConsoleRefusal(413, 'payload_too_large', 'The body is too large.');
    chunks.push(chunk);
  }
  const body = jsonIn(Buffer.concat(chunks).toString());
  if (typeof body !== 'object' || body === null || Array.isArray(body))
    throw invalid('The body must be a JSON object.');
  const values = body as Record<string, unknown>;
  if (
    Object.keys(values).some((name) => !names.includes(name as Name)) ||
    names.some((name) => values[name] !== undefined && typeof values[name] !== 'string')
  )
    throw invalid(`The body may have ${names.join(', ') || 'no members'}.`);
  return values as Partial<Record<Name, string>>;
}

function jsonIn(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

function sendJson(
  res: ServerResponse,
  status: number,
  body: object,
  headers: Record<string, string> = {},
): void {
  res.writeHead(status, {
    ...securityHeaders,
    'content-type': 'application/json; charset=utf-8',
    'cache-control': 'no-store',
    ...headers,
  });
  res.end(JSON.stringify(body));
}

/** To another page of the console. Neither the address that was left nor the answer stays anywhere. */
function redirect(res: ServerResponse, path: string, cookies: readonly string[]): void {
  res.writeHead(303, {
    ...securityHeaders,
    'cache-control': 'no-store',
    location: path,
    'set-cookie': [...cookies],
  });
  res.end();
}

/** In the form of the services' errors, so that the page's client reads it alike. */
function sendError(res: ServerResponse, error: unknown): void {
  const requestId = crypto.randomUUID();
  const refusal = refusalOf(error);
  sendJson(
    res,
    refusal.status,
    { error: { code: refusal.code, message: refusal.message, details: {}, requestId } },
    refusal.status === 413 ? { connection: 'close' } : {},
  );
}

function refusalOf(error: unknown): { status: number; code: string; message: string } {
  if (error instanceof ConsoleRefusal) return error;
  if (error instanceof BatonError && error.status >= 400 && error.status < 500)
    return { status: error.status, code: error.code, message: error.message };
  return { status: 503, code: 'unavailable', message: 'Baton could not check this now: try again.' };
}

/** Shown while the console is built; it asks again by itself, without a script. */
function sendWaiting(res: ServerResponse, failure: string | undefined): void {
  const text =
    failure === undefined
      ? 'The console is being built; it takes some seconds.'
      : 'The console could not be built; the terminal that runs Baton says why.';
  res.writeHead(503, {
    ...securityHeaders,
    'content-type': 'text/html; charset=utf-8',
    'cache-control': 'no-store',
    'retry-after': '2',
    ...(failure === undefined && { refresh: '2' }),
  });
  res.end(`<!doctype html><html lang="en"><meta charset="utf-8"><title>Baton</title><p>${text}</p></html>`);
}
