import { randomBytes } from 'node:crypto';
import { Refusal } from '@baton/kernel/http/refusal';
import { type Reply, reply } from '@baton/kernel/http/service';
import { recordedTransaction } from '../../records/journal/recorded-transaction.ts';
import { isSecretOf, secretHash } from '../../service/secrets.ts';
import type { Context } from '../context.ts';
import { fail } from '../errors.ts';
import type { AuthorizeQuery, SealedDecision, SealedRequest } from './authorization-request.ts';
import { createGrant, revokeGrant } from './oauth-grants.ts';
import { failurePage, pageHeaders } from './pages/interaction-page.ts';
import { defaultResource, requestSeconds, routes } from './provider/authorization-server.ts';
import { callProvider } from './provider/provider-request.ts';
import type { ProviderState } from './provider/provider-state.ts';
import { seal, sealedLengthMax, unseal } from './sealed/seals.ts';

/** The part of the flow in which the client's browser calls identity: see docs/reference/oauth.md#requests. */

type Page = Reply<string>;

const refusalTexts: Readonly<Record<string, string>> = {
  invalid_token: 'the sign-in has ended, or the account is not active',
  invalid_authorization_request: 'this request was decided before',
  authentication_context_expired: 'the sign-in is too old',
};

/** The secret with which a browser proves that it began a request. */
const cookieName = 'baton_oauth';
const cookieForm = /^baton_oauth=([\w-]{43})$/;
const browserSecretBytes = 32;

/**
 * Validates an authorization request and sends the browser to the page where the person decides, or back to the client
 * with an error. Without a valid client and redirect address it shows the error instead.
 */
export async function beginAuthorization(context: Context, query: AuthorizeQuery): Promise<Page> {
  const state: ProviderState = { context };
  const params = normalizedParams(context, query);
  const path = `${routes.authorization}?${new URLSearchParams(params)}`;
  const { status, location, body } = await callProvider(state, { method: 'GET', path });
  if (location === undefined || status < 300 || status > 399) return errorPage(body);
  const { interaction, client } = state;
  if (interaction === undefined || client === undefined) return returnError(query, location);
  const { uid } = interaction;
  const browserSecret = cookieIn(context) ?? randomBytes(browserSecretBytes).toString('base64url');
  const sealed: SealedRequest = {
    uid,
    params: interaction.payload['params'] as Record<string, string>,
    client,
    browserHash: secretHash(browserSecret),
    endsAtMs: Date.now() + requestSeconds * 1000,
  };
  const request = seal(context, 'request', sealed);
  if (request.length > sealedLengthMax)
    return errorPage({ error: 'invalid_request', error_description: 'the request is too long' });
  // The request is in the fragment, so that no server and no log on the way sees it.
  const page = `${context.settings.oauthPagesUrl}/oauth2/interaction#request=${request}`;
  return redirect(page, cookieOf(context, browserSecret));
}

/**
 * Returns an error to the client, or shows it on a page. Anybody can publish a client, so a redirect without a decision
 * by the person would turn identity's trusted address into a link to any site (RFC 9700, section 4.11.2). A redirect to
 * the person's own machine only reaches their program.
 */
function returnError({ client_id: clientId = '' }: AuthorizeQuery, location: string): Page {
  const { hostname, protocol, search, hash } = new URL(location);
  const isOfThisMachine = protocol === 'http:' && ['127.0.0.1', '[::1]', 'localhost'].includes(hostname);
  if (!isDocumentId(clientId) || isOfThisMachine) return redirect(location);
  return errorPage(
    Object.fromEntries([...new URLSearchParams(search), ...new URLSearchParams(hash.slice(1))]),
  );
}

/**
 * Completes a request after the decision, in the browser that began it: grants it and sends the browser back to the
 * client with a code, or with the refusal.
 */
export async function resumeAuthorization(context: Context, decisionText: string): Promise<Page> {
  const decision = unseal<SealedDecision>(context, 'decision', decisionText);
  if (decision === undefined || decision.endsAtMs <= Date.now())
    return errorPage({ error: 'invalid_request', error_description: 'the decision has expired' });
  if (!isSecretOf(cookieIn(context) ?? '', decision.request.browserHash))
    return errorPage({
      error: 'access_denied',
      error_description: 'the request began in another browser, or its cookies were deleted',
    });
  let credentialId: string | undefined;
  try {
    credentialId = await grantDecision(context, decision);
  } catch (error) {
    // The person sees a page, because the refusal concerns their own account or a second decision.
    if (!(error instanceof Refusal) || error.code === 'unavailable') throw error;
    return errorPage({ error: error.code, error_description: refusalTexts[error.code] });
  }
  const result =
    credentialId === undefined
      ? { error: 'access_denied', error_description: 'the person refused the request' }
      : { login: { accountId: credentialId, remember: false }, consent: { grantId: credentialId } };
  let hasCode = false;
  try {
    const { status, location, body } = await resume(context, decision, result);
    const isBack = location !== undefined && status >= 300 && status <= 399;
    hasCode = isBack && URL.parse(location)?.searchParams.has('code') === true;
    return isBack ? redirect(location) : errorPage(body);
  } finally {
    // Without a code, nobody can redeem this grant.
    if (credentialId !== undefined && !hasCode) await revokeGrant(context, credentialId, 'not_redeemed');
  }
}

function grantDecision(context: Context, { request, granted }: SealedDecision): Promise<string> | undefined {
  if (granted === undefined) return undefined;
  const { client, params, uid } = request;
  return recordedTransaction(context, (inside) =>
    createGrant(inside, {
      uid,
      ...granted,
      clientId: client.id,
      clientName: client.name,
      resource: String(params['resource']),
    }),
  );
}

function resume(context: Context, { request, granted }: SealedDecision, result: object) {
  const { uid, params, endsAtMs } = request;
  const scope = granted?.scopes.join(' ') ?? params['scope'] ?? '';
  const payload = {
    kind: 'Interaction',
    jti: uid,
    iat: Math.floor(Date.now() / 1000),
    exp: Math.ceil(endsAtMs / 1000) + requestSeconds,
    returnTo: `${context.settings.issuer}${routes.authorization}/${uid}`,
    prompt: { name: 'login', reasons: [], details: {} },
    params: { ...params, scope },
    result,
  };
  const state: ProviderState = { context, interaction: { uid, payload } };
  const path = `${routes.authorization}/${uid}`;
  return callProvider(state, { method: 'GET', path, resumes: uid });
}

/** The request as passed to the library: `resource` in one form, and always with a resource and scopes. */
export function normalizedParams(
  { settings }: Pick<Context, 'settings'>,
  query: Readonly<Record<string, string | undefined>>,
): Record<string, string> {
  const params: Record<string, string> = {};
  for (const [name, value] of Object.entries(query)) if (value !== undefined) params[name] = value;
  const resource = params['resource']?.replace(/\/+$/, '') ?? defaultResource(settings);
  if (resource !== undefined) params['resource'] = resource;
  // Identity issues no ID tokens, and issues refresh tokens to every client that supports them.
  const scopes = (params['scope'] ?? '')
    .split(' ')
    .filter((name) => name !== '' && name !== 'openid' && name !== 'offline_access');
  params['scope'] = (scopes.length === 0 ? settings.IAM_OAUTH_DEFAULT_SCOPES : scopes).join(' ');
  return params;
}

/** Whether a client is described by the document at its id. */
export function isDocumentId(clientId: string): boolean {
  return /^https:/i.test(clientId);
}

/** @throws Refusal `invalid_authorization_request` */
export function openRequest(context: Context, text: string): SealedRequest {
  const request = unseal<SealedRequest>(context, 'request', text);
  return request === undefined || request.endsAtMs <= Date.now()
    ? fail('invalid_authorization_request')
    : request;
}

function redirect(location: string, cookie?: string): Page {
  return reply(303, '', {
    location,
    'cache-control': 'no-store',
    'referrer-policy': 'no-referrer',
    'content-type': 'text/plain; charset=utf-8',
    ...(cookie !== undefined && { 'set-cookie': cookie }),
  });
}

function errorPage({ error, error_description: description }: Readonly<Record<string, unknown>>): Page {
  return reply(400, failurePage(String(error ?? 'invalid_request'), String(description ?? '')), pageHeaders);
}

/** One cookie for all requests of a browser, so that no page can fill its cookie jar by opening many. */
function cookieOf({ settings }: Pick<Context, 'settings'>, secret: string): string {
  const { pathname, protocol } = new URL(settings.issuer);
  const secure = protocol === 'https:' ? '; Secure' : '';
  const path = `${pathname.replace(/\/+$/, '')}/oauth2`;
  return `${cookieName}=${secret}; Path=${path}; Max-Age=${requestSeconds}; HttpOnly; SameSite=Lax${secure}`;
}

function cookieIn({ headers }: Pick<Context, 'headers'>): string | undefined {
  const pairs = String(headers['cookie'] ?? '').split(';');
  const found = pairs.map((pair) => cookieForm.exec(pair.trim())?.[1]);
  return found.find((secret) => secret !== undefined);
}
