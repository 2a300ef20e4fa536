import type { IncomingMessage, ServerResponse } from 'node:http';
import { beginFirstPasskey } from './account/first-passkey.ts';
import { acceptByProvider, acceptInvitation } from './account/invitation-acceptance.ts';
import { answerOauthRequest } from './account/oauth-request.ts';
import { changePasskeys, changeSessions, endGrant, readAccount } from './account/own-account.ts';
import { signInByPasskey } from './account/passkey-sign-in.ts';
import { signedOut } from './browser-sessions.ts';
import type { ConsoleContext } from './context.ts';
import { readPageKey, readSealedSignIns, sessionCookieOf, signInCookieOf } from './cookies.ts';
import { signInBounds } from './provider-sign-in.ts';
import { requireAdministrator, takeTested } from './provider-test.ts';
import { ConsoleRefusal } from './refusal.ts';
import { readBody } from './request-body.ts';
import { redirect, sendJson, toRefusal } from './responses.ts';
import { hashKey } from './sessions.ts';
import { publicToken, readSubject } from './token-exchange.ts';

type Action = (context: ConsoleContext, req: IncomingMessage, res: ServerResponse) => Promise<void>;

/** The console's own endpoints, all of them POST. */
export const actions: Readonly<Record<string, Action>> = {
  '/console/sign-in': signIn,
  '/console/token': issueToken,
  '/console/demo': controlDemo,
  '/console/sign-out': signOut,
  '/console/providers': listProviders,
  '/console/provider-sign-in': beginProviderSignIn,
  '/console/provider-test': takeTested,
  '/console/codes': createCode,
  '/console/passkey-sign-in': signInByPasskey,
  '/console/invitation': acceptInvitation,
  '/console/account': readAccount,
  '/console/passkeys': changePasskeys,
  '/console/first-passkey': beginFirstPasskey,
  '/console/sessions': changeSessions,
  '/console/oauth-request': answerOauthRequest,
  '/console/grant-end': endGrant,
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
  const signedIn = given === undefined ? sessions.readCode(code ?? '') : { token: given };
  if (signedIn === undefined) throw invalidCode();
  const { token } = signedIn;
  const issued = await exchange.exchangeToken(req, token);
  const subject = readSubject(issued);
  if (code !== undefined) {
    // Refused, because otherwise an attacker could send a link with their own code, and would then see what the victim
    // writes.
    if (replace === undefined && browsers.isOfAnother(req, subject))
      throw new ConsoleRefusal(409, 'signed_in_as_other', 'This browser is signed in as somebody else.');
    if (sessions.takeCode(code) === undefined) throw invalidCode();
  }
  await browsers.closeEarlier(req);
  const key = sessions.open(signedIn, subject, pageKeyHash);
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
  const isAllowed = demo?.isFor((await exchange.findPrincipal(accessToken)).id) ?? false;
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
  { sessions, browsers, exchange, isSecure }: ConsoleContext,
  req: IncomingMessage,
  res: ServerResponse,
): Promise<void> {
  const { everywhere } = await readBody(req, ['everywhere']);
  const { key, session } = browsers.find(req) ?? {};
  if (key !== undefined && everywhere !== undefined) {
    const token = session?.secret;
    // Fails if identity doesn't respond. Otherwise the person would believe that the other browsers were signed out.
    if (token !== undefined)
      await exchange
        .run(req, ({ browserSessions }) =>
          browserSessions.revokeOther({ token, reason: 'logout', withThis: true }),
        )
        .catch((error: unknown) => {
          if (toRefusal(error).status !== 401) throw error;
        });
    sessions.closeOthersOf(key);
    sessions.close(key);
  } else if (key !== undefined) await browsers.close(req, key, 'logout');
  sendJson(res, 200, {}, { 'set-cookie': `${sessionCookieOf('', isSecure)}; Max-Age=0` });
}

async function listProviders({ providers }: ConsoleContext, req: IncomingMessage, res: ServerResponse) {
  await readBody(req, []);
  sendJson(res, 200, { providers: (await providers?.listKeys()) ?? [] });
}

async function beginProviderSignIn(
  context: ConsoleContext,
  req: IncomingMessage,
  res: ServerResponse,
): Promise<void> {
  const { providers, browsers, rates, countedAs, isSecure } = context;
  const members = ['provider', 'next', 'invitation', 'test', 'fresh'] as const;
  const { provider, next = '/', ...given } = await readBody(req, members);
  if (providers === undefined || provider === undefined)
    throw new ConsoleRefusal(
      404,
      'identity_provider_not_found',
      '`provider` must be the key of an identity provider.',
    );
  // The sign-in cookie belongs to one host. A browser that starts on another host would come back without it.
  const redirectUri = providers.redirectUriAt(req.headers.host);
  if (redirectUri === undefined)
    throw new ConsoleRefusal(
      409,
      'wrong_address',
      `Open the console at ${providers.origin} to sign in with an identity provider.`,
    );
  const pageKeyHash = hashKey(readPageKey(req));
  if (!rates.begin.take(countedAs(req))) throw rateLimited();
  const isTest = given.test !== undefined;
  if (isTest) await requireAdministrator(context, req);
  const { invitation } = isTest ? {} : given;
  // The person who accepts an invitation is linked to the account at the provider, so they must authenticate there
  // again: the open session may be somebody else's.
  const isFresh = given.fresh !== undefined || invitation !== undefined;
  const from = { redirectUri, invitation, isTest, isFresh, session: browsers.find(req)?.key };
  const { url, browser } = await providers.begin(provider, next, pageKeyHash, from);
  const cookie = `${signInCookieOf(browser, isSecure)}; Max-Age=${signInBounds.lastsMsMax / 1000}`;
  sendJson(res, 200, { url }, { 'set-cookie': cookie });
}

async function createCode(
  { sessions, exchange, browserUrl }: ConsoleContext,
  req: IncomingMessage,
  res: ServerResponse,
) {
  const { token } = await readBody(req, ['token']);
  if (token === undefined)
    throw new ConsoleRefusal(400, 'invalid_request', 'Send a personal access token: {"token": "..."}.');
  const subject = readSubject(await exchange.exchangeToken(req, token));
  const code = sessions.newCode({ token }, subject);
  sendJson(res, 201, { code, expiresIn: 60, ...(browserUrl !== undefined && { url: browserUrl }) });
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
    const finished = await providers.finish(
      {
        state: answer.get('state') ?? '',
        code: answer.get('code') ?? undefined,
        issuer: answer.get('iss') ?? undefined,
        error: answer.get('error') ?? undefined,
      },
      readSealedSignIns(req, isSecure),
    );
    const { next, pageKeyHash, session, invitation } = finished;
    if ('tested' in finished) {
      if (session === undefined || !sessions.keepTested(session, finished.tested)) throw signedOut();
      return redirect(res, next, [deleteSignIn]);
    }
    const { grant } = finished;
    const { subject, ...signedIn } =
      invitation === undefined
        ? await exchange.enterWithGrant(req, grant)
        : await acceptByProvider(exchange, req, invitation, grant);
    // A redirect from another site does not carry the session cookie, so the sealed sign-in contains the session.
    if (session !== undefined) await browsers.close(req, session, 'replaced');
    await browsers.closeEarlier(req);
    const key = sessions.open(signedIn, subject, pageKeyHash);
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
