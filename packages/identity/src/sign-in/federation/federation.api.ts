import { externalIdentityLinked } from '../../directory/external-identities/external-identities.events.ts';
import {
  groupCreated,
  groupMembershipAdded,
  groupMembershipRemoved,
} from '../../directory/groups/groups.events.ts';
import { principalCreated } from '../../directory/principals/principals.events.ts';
import { tenantParam } from '../../service/fields.ts';
import { endpoint } from '../context.ts';
import { authenticateFederatedUser, exchangeFederatedToken } from './federation.ts';
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
  'rate_limited',
] as const;

const effects = [
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
    'The first sign-in creates the person. For 300 seconds, the sign-in allows platform access tokens to be issued.',
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
  secrets: ['accessToken'],
  errors: [...refusals, 'human_principal_required', 'audience_not_allowed', 'scope_not_allowed'],
  emits: effects,
  transaction: 'none',
  example: { ...example, audience: 'control-plane', scopes: ['control-plane:read'] },
  handle: ({ params, body }, context) => exchangeFederatedToken(context, params.tenantId, body),
});

export const federationApi = [authenticate, exchange];
