import { externalIdentityLinked } from '../../directory/external-identities/external-identities.events.ts';
import {
  groupCreated,
  groupMembershipAdded,
  groupMembershipRemoved,
} from '../../directory/groups/groups.events.ts';
import { principalCreated } from '../../directory/principals/principals.events.ts';
import { browserSessionRevoked } from '../../directory/revocation/browser-sessions.events.ts';
import { tenantParam } from '../../service/fields.ts';
import { StartedSession } from '../browser-sessions/browser-session.ts';
import { browserSessionStarted } from '../browser-sessions/browser-sessions.events.ts';
import { endpoint } from '../context.ts';
import { signInRequestCreated } from '../sign-in-requests/sign-in-requests.events.ts';
import { authenticateFederatedUser, exchangeFederatedToken, startFederatedSession } from './federation.ts';
import { FederatedSignIn, FederatedSignInRequest, FederatedToken, FederatedTokenRequest } from './sign-in.ts';

const refusals = [
  'identity_provider_not_found',
  'identity_provider_unavailable',
  'invalid_token',
  'unsupported_algorithm',
  'unknown_signing_key',
  'invalid_signature',
  'token_expired',
  'invalid_issuer',
  'invalid_audience',
  'missing_subject_claim',
  'step_up_required',
  'claim_not_allowed',
  'external_identity_conflict',
  'identity_disabled',
  'principal_disabled',
  'principal_not_in_tenant',
  'admission_pending',
  'rate_limited',
] as const;

const effects = [
  signInRequestCreated,
  principalCreated,
  externalIdentityLinked,
  groupCreated,
  groupMembershipAdded,
  groupMembershipRemoved,
];

/**
 * An ID token of a provider that lists many groups is longer than other unauthenticated bodies (see
 * docs/reference/directory.md#body-sizes).
 */
const bodyBytesMax = 65_536;
const example = { identityProvider: 'corporate', token: 'the ID token of the provider' };

export const authenticate = endpoint({
  id: 'authenticateFederatedUser',
  method: 'POST',
  path: '/tenants/{tenantId}/federation:authenticate',
  auth: 'presented',
  summary: "Sign in with an ID or access token of the tenant's identity provider.",
  description:
    'The first sign-in creates the person, or a request that an administrator decides (`unknownPeople` of the provider). For 300 seconds, the sign-in allows platform access tokens to be issued.',
  params: tenantParam,
  body: FederatedSignInRequest,
  bodyBytesMax,
  returns: { 200: FederatedSignIn },
  errors: refusals,
  emits: effects,
  // The handler may have to fetch keys first, so it opens its transaction afterwards.
  transaction: 'none',
  example,
  handle: ({ params, body }, context) => authenticateFederatedUser(context, params.tenantId, body),
});

export const exchange = endpoint({
  id: 'exchangeFederatedToken',
  method: 'POST',
  path: '/tenants/{tenantId}/federation:exchange',
  auth: 'presented',
  summary: 'Sign in with an upstream ID or access token and get a short-lived access token for one audience.',
  params: tenantParam,
  body: FederatedTokenRequest,
  bodyBytesMax,
  returns: { 200: FederatedToken },
  secrets: ['accessToken', 'admissionStatement'],
  errors: [...refusals, 'human_principal_required', 'audience_not_allowed', 'scope_not_allowed'],
  emits: effects,
  transaction: 'none',
  example: { ...example, audience: 'control-plane', scopes: ['control-plane:read'] },
  handle: ({ params, body }, context) => exchangeFederatedToken(context, params.tenantId, body),
});

export const startSession = endpoint({
  id: 'startFederatedSession',
  method: 'POST',
  path: '/tenants/{tenantId}/federation:start-session',
  auth: 'presented',
  summary: "Sign in with a token of the tenant's identity provider and begin a browser session.",
  description: 'The session has the same rights as one that begins by a passkey. People only.',
  params: tenantParam,
  body: FederatedSignInRequest,
  bodyBytesMax,
  returns: { 200: StartedSession },
  secrets: ['token'],
  errors: [...refusals, 'human_principal_required'],
  emits: [...effects, browserSessionStarted, browserSessionRevoked],
  transaction: 'none',
  example,
  handle: ({ params, body }, context) => startFederatedSession(context, params.tenantId, body),
});

export const federationApi = [authenticate, exchange, startSession];
