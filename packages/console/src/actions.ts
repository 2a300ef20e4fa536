import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressRates } from './address-rates.ts';
import type { BrowserSessions } from './browser-sessions.ts';
import { readPageKey, readSealedSignIns, sessionCookieOf, signInCookieOf } from './cookies.ts';
import type { ConsoleDemo } from './demo.ts';
import { type ProviderSignIn, signInBounds } from './provider-sign-in.ts';
import { ConsoleRefusal } from './refusal.ts';
import { readBody } from './request-body.ts';
import { redirect, sendJson, toRefusal } from './responses.ts';
import { hashKey, type Sessions } from './sessions.ts';
import { publicToken, readSubject, type TokenExchange } from './token-exchange.ts';

/** The context of the console's own endpoints. */
export interface ConsoleContext {
  readonly sessions: Sessions;
  readonly browsers: BrowserSessions;
  readonly exchange: TokenExchange;
  readonly providers: ProviderSignIn | undefined;
  readonly demo: ConsoleDemo | undefined;
  /**
   * Starting a sign-in sends a request to identity, and finishing it sends one to the provider. Neither needs a
   * session.
   */
  readonly rates: { readonly begin: AddressRates; readonly finish: AddressRates };
  readonly countedAs: (req: IncomingMessage) => string;
  readonly isSecure: boolean;
}

type Action = (context: ConsoleContext, req: IncomingMessage, res: ServerResponse) => Promise<void>;

/** The console's own endpoints, all of them POST. */
export const actions: Readonly<Record<string, Action>> = {
  '/console/sign-in': signIn,
  '/console/token': issueToken,
  '/console/demo': controlDemo,
  '/console/sign-out': signOut,
  '/console/providers': listProviders,
  '/console/provider-sign-in': beginProviderSignIn,
  '/console/codes': createCode,
};

async function signIn(
  { sessions, browsers, exchange, isSecure }: ConsoleContext,
  req: IncomingMessage,
  res: ServerResponse,
): Promise<void> {
  const { code, token: given, replace } = await readBody(req, ['code', 'token', 'replace']);
  const pageKeyHash = hashKey(readPageKey(req));
  if ((code === undefined) === (given === undefined))
    throw new ConsoleRefusal(400, 'invalid_request', 'Send either a code or a personal access token.');
  const token = given ?? (code && sessions.readCode(code)?.token);
  if (token === undefined) throw invalidCode();
  const issued = await exchange.exchangeToken(req, token);
  const subject = readSubject(issued);
  if (code !== undefined) {
    // Otherwise an attacker could send a link with their own code, and would then see what the victim writes.
    if (replace === undefined && browsers.isOfAnother(req, subject))
      throw new ConsoleRefusal(409, 'signed_in_as_other', 'This browser is signed in as somebody else.');
    if (sessions.takeCode(code) === undefined) throw invalidCode();
  }
  browsers.closeEarlier(req);
  const key = sessions.open({ token }, subject, pageKeyHash);
  sendJson(res, 200, publicToken(issued), { 'set-cookie': sessionCookieOf(key, isSecure) });
}

async function issueToken({ browsers }: ConsoleContext, req: IncomingMessage, res: ServerResponse) {
  await readBody(req, []);
  sendJson(res, 200, await browsers.issueToken(req));
}

async function controlDemo(
  { browsers, exchange, demo }: ConsoleContext,
  req: IncomingMessage,
  res: ServerResponse,
): Promise<void> {
  const { act } = await readBody(req, ['act']);
  if (act !== 'state' && act !== 'start' && act !== 'remove')
    throw new ConsoleRefusal(400, 'invalid_request', '`act` must be state, start or remove.');
  const { accessToken } = await browsers.issueToken(req);
  const isAllowed = demo?.isFor(await exchange.findPrincipal(accessToken)) ?? false;
  if (act === 'state') return sendJson(res, 200, { isAllowed });
  if (demo === undefined || !isAllowed)
    throw new ConsoleRefusal(
      403,
      'permission_denied',
      'Only the administrator of this Baton can start and remove its demo.',
    );
  await demo[act]().catch((error: Error) => {
    throw new ConsoleRefusal(409, 'demo_refused', error.message);
  });
  sendJson(res, 200, {});
}

async function signOut(
  { sessions, browsers, isSecure }: ConsoleContext,
  req: IncomingMessage,
  res: ServerResponse,
): Promise<void> {
  const { everywhere } = await readBody(req, ['everywhere']);
  const key = browsers.find(req)?.key;
  if (key !== undefined && everywhere !== undefined) sessions.closeAllOf(key);
  if (key !== undefined) sessions.close(key);
  sendJson(res, 200, {}, { 'set-cookie': `${sessionCookieOf('', isSecure)}; Max-Age=0` });
}

async function listProviders({ providers }: ConsoleContext, req: IncomingMessage, res: ServerResponse) {
  await readBody(req, []);
  sendJson(res, 200, { providers: providers?.keys ?? [] });
}

async function beginProviderSignIn(
  { providers, browsers, rates, countedAs, isSecure }: ConsoleContext,
  req: IncomingMessage,
  res: ServerResponse,
): Promise<void> {
  const { provider, next = '/' } = await readBody(req, ['provider', 'next']);
  if (providers === undefined || provider === undefined)
    throw new ConsoleRefusal(
      404,
      'identity_provider_not_found',
      '`provider` must be the key of an identity provider.',
    );
  // The sign-in cookie belongs to one host. A browser that starts on another host would come back without it.
  if (req.headers.host !== new URL(providers.origin).host)
    throw new ConsoleRefusal(
      409,
      'wrong_address',
      `Open the console at ${providers.origin} to sign in with an identity provider.`,
    );
  const pageKeyHash = hashKey(readPageKey(req));
  if (!rates.begin.take(countedAs(req))) throw rateLimited();
  const { url, browser } = await providers.begin(provider, next, pageKeyHash, browsers.find(req)?.key);
  const cookie = `${signInCookieOf(browser, isSecure)}; Max-Age=${signInBounds.lastsMsMax / 1000}`;
  sendJson(res, 200, { url }, { 'set-cookie': cookie });
}

async function createCode({ sessions, exchange }: ConsoleContext, req: IncomingMessage, res: ServerResponse) {
  const { token } = await readBody(req, ['token']);
  if (token === undefined)
    throw new ConsoleRefusal(400, 'invalid_request', 'Send a personal access token: {"token": "..."}.');
  const subject = readSubject(await exchange.exchangeToken(req, token));
  sendJson(res, 201, { code: sessions.newCode({ token }, subject), expiresIn: 60 });
}

/**
 * Opens a session for a browser that an identity provider redirects back; on failure, redirects to the sign-in page.
 */
export async function finishProviderSignIn(
  { sessions, browsers, exchange, providers, rates, countedAs, isSecure }: ConsoleContext,
  req: IncomingMessage,
  res: ServerResponse,
): Promise<void> {
  const answer = new URL(req.url ?? '/', 'http://console').searchParams;
  const deleteSignIn = `${signInCookieOf('', isSecure)}; Max-Age=0`;
  try {
    if (providers === undefined)
      throw new ConsoleRefusal(404, 'not_found', 'This console has no identity providers.');
    if (!rates.finish.take(countedAs(req))) throw rateLimited();
    const { grant, next, pageKeyHash, session } = await providers.finish(
      {
        state: answer.get('state') ?? '',
        code: answer.get('code') ?? undefined,
        issuer: answer.get('iss') ?? undefined,
        error: answer.get('error') ?? undefined,
      },
      readSealedSignIns(req),
    );
    const subject = readSubject(await exchange.exchangeGrant(req, grant));
    // A redirect from another site does not carry the session cookie, so the sealed sign-in contains the session.
    if (session !== undefined) sessions.close(session);
    browsers.closeEarlier(req);
    const key = sessions.open({ grant }, subject, pageKeyHash);
    redirect(res, next, [sessionCookieOf(key, isSecure), deleteSignIn]);
  } catch (error) {
    const { code } = toRefusal(error);
    const cookies = isForeignCallback(code) ? [] : [deleteSignIn];
    redirect(res, `/sign-in?problem=${encodeURIComponent(code)}`, cookies);
  }
}

/**
 * Whether a rejected callback does not belong to this browser's own sign-in, which then stays valid: any site can send
 * a browser to such an address.
 */
function isForeignCallback(code: string): boolean {
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
  return new ConsoleRefusal(
    401,
    'code_invalid',
    'This code was already used or has expired. Run `baton console` to get a new one.',
  );
}
