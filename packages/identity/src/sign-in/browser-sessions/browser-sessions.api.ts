import { Uuid } from '@baton/values/wire';
import { browserSessionRevoked } from '../../directory/revocation/browser-sessions.events.ts';
import { TokenExchange } from '../../issuing/exchange/exchange.ts';
import { principalParams, Reason } from '../../service/fields.ts';
import { endpoint } from '../context.ts';
import {
  BrowserSessionList,
  OtherSessionsEnd,
  OwnBrowserSessionList,
  OwnSessionEnd,
  SessionEnd,
  SessionExchangeRequest,
  SessionRequest,
} from './browser-session.ts';
import { endOwnBrowserSession, listBrowserSessions, revokeBrowserSession } from './browser-sessions.ts';
import {
  listOwnBrowserSessions,
  revokeOtherBrowserSessions,
  revokeOwnBrowserSession,
} from './own-sessions.ts';
import { exchangeBrowserSession } from './session-exchange.ts';

const exampleToken = 'iam_ses_0123456789ab_the-secret-that-was-shown-once';

export const exchange = endpoint({
  id: 'exchangeBrowserSession',
  method: 'POST',
  path: '/browser-sessions:exchange',
  auth: 'presented',
  summary: 'Exchange a browser session for a short-lived access token of one audience.',
  body: SessionExchangeRequest,
  returns: { 200: TokenExchange },
  secrets: ['accessToken'],
  errors: ['invalid_token', 'audience_not_allowed', 'scope_not_allowed', 'rate_limited'],
  transaction: 'none',
  example: { token: exampleToken, audience: 'control-plane', scopes: ['control-plane:read'] },
  handle: ({ body }, context) => exchangeBrowserSession(context, body),
});

export const revokeSelf = endpoint({
  id: 'endOwnBrowserSession',
  method: 'POST',
  path: '/browser-sessions:revoke-self',
  auth: 'presented',
  summary: 'End the browser session that is presented.',
  body: SessionEnd,
  returns: { 204: null },
  errors: ['invalid_token', 'rate_limited'],
  emits: [browserSessionRevoked],
  example: { token: exampleToken },
  handle: ({ body }, context) => endOwnBrowserSession(context, body.token, body.reason),
});

export const listOwn = endpoint({
  id: 'listOwnBrowserSessions',
  method: 'POST',
  path: '/browser-sessions:list',
  auth: 'presented',
  summary: 'List the live browser sessions of the signed-in person, newest first; at most 20.',
  body: SessionRequest,
  returns: { 200: OwnBrowserSessionList },
  errors: ['invalid_token', 'rate_limited'],
  transaction: 'none',
  example: { token: exampleToken },
  handle: ({ body }, context) => listOwnBrowserSessions(context, body.token),
});

export const revokeOwn = endpoint({
  id: 'revokeOwnBrowserSession',
  method: 'POST',
  path: '/browser-sessions:revoke',
  auth: 'presented',
  summary: 'End a browser session of the signed-in person. Repeating the call changes nothing.',
  description:
    'Its access tokens are revoked, too. Ending another session than the presented one requires a recent sign-in, as for issuing a platform access token.',
  body: OwnSessionEnd,
  returns: { 204: null },
  errors: ['invalid_token', 'authentication_context_expired', 'browser_session_not_found', 'rate_limited'],
  emits: [browserSessionRevoked],
  transaction: 'none',
  example: { token: exampleToken, browserSessionId: '5f0a7d2e-3b64-4c1c-9d43-0f6f1f1d2a11' },
  handle: ({ body }, context) => revokeOwnBrowserSession(context, body),
});

export const revokeOthers = endpoint({
  id: 'revokeOtherBrowserSessions',
  method: 'POST',
  path: '/browser-sessions:revoke-others',
  auth: 'presented',
  summary: 'End every other browser session of the signed-in person in the tenant.',
  description:
    'Their access tokens are revoked, too. The sign-in must be recent, as for issuing a platform access token, unless the presented session ends with them.',
  body: OtherSessionsEnd,
  returns: { 204: null },
  errors: ['invalid_token', 'authentication_context_expired', 'rate_limited'],
  emits: [browserSessionRevoked],
  transaction: 'none',
  example: { token: exampleToken },
  handle: ({ body }, context) => revokeOtherBrowserSessions(context, body),
});

export const list = endpoint({
  id: 'listBrowserSessions',
  method: 'GET',
  path: '/tenants/{tenantId}/principals/{principalId}/browser-sessions',
  summary: 'List the live browser sessions of a person, newest first; at most 20.',
  params: principalParams,
  returns: { 200: BrowserSessionList },
  errors: ['principal_not_found'],
  handle: ({ params }, context) => listBrowserSessions(context, params.tenantId, params.principalId),
});

export const revoke = endpoint({
  id: 'revokeBrowserSession',
  isEmergency: true,
  method: 'POST',
  path: '/tenants/{tenantId}/principals/{principalId}/browser-sessions/{browserSessionId}:revoke',
  summary: 'End a browser session. Repeating the call changes nothing and keeps the first reason.',
  description: 'Its access tokens are revoked, too.',
  params: { ...principalParams, browserSessionId: Uuid },
  query: { reason: Reason.default('revoked') },
  returns: { 204: null },
  errors: ['browser_session_not_found'],
  emits: [browserSessionRevoked],
  handle: ({ params, query }, context) => revokeBrowserSession(context, { ...params, reason: query.reason }),
});

export const browserSessionsApi = [exchange, revokeSelf, listOwn, revokeOwn, revokeOthers, list, revoke];
