import { z } from 'zod';
import { reply } from '@baton/kernel/http/service';
import { platformAccessTokenIssued } from '../../credentials/platform-access-tokens/platform-access-tokens.events.ts';
import { credentialRevoked } from '../../directory/revocation/credentials.events.ts';
import { endpoint } from '../context.ts';
import {
  authorizeQuery,
  Decided,
  DeviceAuthorization,
  DeviceAuthorizationRequest,
  OauthRequest,
  RequestDecision,
  RequestQuery,
} from './authorization-request.ts';
import { beginAuthorization, resumeAuthorization } from './authorization-requests.ts';
import { decideRequest, readRequest } from './decisions.ts';
import { interactionPage, pageHeaders } from './pages/interaction-page.ts';
import { sealedLengthMax } from './sealed/seals.ts';
import { authorizeDevice } from './token-grants.ts';

const Page = z.string().meta({ contentMediaType: 'text/html' });
const Empty = z.string().meta({ contentMediaType: 'text/plain' });
const exampleToken = 'iam_ses_0123456789ab_the-secret-that-was-shown-once';

export const authorize = endpoint({
  // Keeps its name from version 0.2, in which it only explained that sign-in through the browser isn't offered.
  id: 'explainAuthorization',
  method: 'GET',
  path: '/oauth2/authorize',
  root: true,
  auth: 'none',
  summary: 'Request access for an OAuth client through the browser of a person (RFC 6749, with PKCE).',
  description:
    'Redirects the browser to the page where the person signs in and decides, or back to the client with an error. An unknown client or redirect address gets a page instead.',
  looseQuery: true,
  query: authorizeQuery,
  returns: { 303: Empty, 400: Page },
  transaction: 'none',
  handle: ({ query }, context) => beginAuthorization(context, query),
});

export const resume = endpoint({
  id: 'resumeOauthAuthorization',
  method: 'GET',
  path: '/oauth2/resume',
  root: true,
  auth: 'none',
  summary: 'Send the browser back to the OAuth client after the decision.',
  description: 'Works only once, and only in the browser that began the request.',
  looseQuery: true,
  query: {
    decision: z
      .string()
      .max(2 * sealedLengthMax)
      .default(''),
  },
  returns: { 303: Empty, 400: Page },
  emits: [platformAccessTokenIssued, credentialRevoked],
  transaction: 'none',
  handle: ({ query }, context) => resumeAuthorization(context, query.decision),
});

export const page = endpoint({
  id: 'getOauthPage',
  method: 'GET',
  path: '/oauth2/interaction',
  root: true,
  auth: 'none',
  summary: 'The page where a person signs in and decides about an OAuth client.',
  looseQuery: true,
  returns: { 200: Page },
  handle: (_, { settings }) =>
    reply(200, interactionPage('browser', settings.IAM_OAUTH_CONSOLE_URL), pageHeaders),
});

export const devicePage = endpoint({
  id: 'getDevicePage',
  method: 'GET',
  path: '/oauth2/device',
  root: true,
  auth: 'none',
  summary: 'The page where a person enters the code that a device shows (RFC 8628).',
  looseQuery: true,
  returns: { 200: Page },
  handle: (_, { settings }) =>
    reply(200, interactionPage('device', settings.IAM_OAUTH_CONSOLE_URL), pageHeaders),
});

export const deviceAuthorization = endpoint({
  id: 'authorizeDevice',
  method: 'POST',
  path: '/oauth2/device-authorization',
  root: true,
  auth: 'presented',
  summary: 'Request a code that a person enters in a browser on another machine (RFC 8628).',
  body: DeviceAuthorizationRequest,
  form: true,
  returns: { 200: DeviceAuthorization },
  secrets: ['device_code', 'user_code', 'verification_uri_complete'],
  errors: ['invalid_client', 'audience_not_allowed', 'scope_not_allowed', 'too_many_device_codes'],
  transaction: 'none',
  example: { client_id: 'baton-cli', scope: 'control-plane:read' },
  handle: ({ body }, context) => authorizeDevice(context, body),
});

export const read = endpoint({
  id: 'readOauthRequest',
  method: 'POST',
  path: '/oauth-requests:read',
  auth: 'presented',
  summary: 'Read what an OAuth client requests, as the person who decides about it.',
  description: 'The person presents a browser session.',
  body: RequestQuery,
  returns: { 200: OauthRequest },
  errors: [
    'invalid_token',
    'invalid_authorization_request',
    'invalid_user_code',
    'audience_not_allowed',
    'agent_not_connectable',
    'rate_limited',
  ],
  transaction: 'none',
  example: { token: exampleToken, userCode: 'BCDF-GHJK' },
  handle: ({ body }, context) => readRequest(context, body),
});

export const decide = endpoint({
  id: 'decideOauthRequest',
  method: 'POST',
  path: '/oauth-requests:decide',
  auth: 'presented',
  summary: 'Allow or refuse what an OAuth client requests.',
  description:
    'To allow it, the sign-in must be recent, as for issuing a platform access token. The grant is then listed among the tokens of the person or agent.',
  body: RequestDecision,
  returns: { 200: Decided },
  secrets: ['redirectTo'],
  errors: [
    'invalid_token',
    'invalid_authorization_request',
    'invalid_user_code',
    'authentication_context_expired',
    'audience_not_allowed',
    'scope_not_allowed',
    'agent_not_connectable',
    'rate_limited',
  ],
  emits: [platformAccessTokenIssued, credentialRevoked],
  transaction: 'none',
  example: { token: exampleToken, userCode: 'BCDF-GHJK', decision: 'allow' },
  handle: ({ body }, context) => decideRequest(context, body),
});

export const oauthApi = [authorize, resume, page, devicePage, deviceAuthorization, read, decide];
