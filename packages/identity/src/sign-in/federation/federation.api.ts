import { Timestamp, Uuid } from '@baton/kernel/wire';
import { z } from 'zod';
import { externalIdentityLinked } from '../../directory/external-identities/external-identities.events.ts';
import { characters, NameSet, tenantParam } from '../../service/fields.ts';
import {
  groupCreated,
  groupMembershipAdded,
  groupMembershipRemoved,
} from '../../directory/groups/groups.events.ts';
import { principalCreated } from '../../directory/principals/principals.events.ts';
import { endpoint } from '../context.ts';
import { authenticate, exchange } from './federation.ts';

const AuthenticateRequest = z.strictObject({
  identityProvider: characters(1, 120).describe('The key of the identity provider.'),
  token: z.string().min(1).describe('An ID token of that provider.'),
});
export type AuthenticateRequest = z.infer<typeof AuthenticateRequest>;

const FederatedExchangeRequest = AuthenticateRequest.extend({
  audience: characters(1, 120),
  scopes: NameSet.default([]).describe('Empty: all that the audience allows, without the privileged ones.'),
});
export type FederatedExchangeRequest = z.infer<typeof FederatedExchangeRequest>;

const signIn = {
  principalId: Uuid,
  identityProvider: z.string(),
  groups: z.array(z.string()).describe('Our groups that the person is in through this provider.'),
  authenticationContext: z.strictObject({
    acr: z.string().nullable(),
    amr: z.array(z.string()),
    authTime: Timestamp.nullable(),
  }),
  identityProviderStale: z.boolean().describe('The provider does not answer; its former keys were used.'),
};

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

const example = { identityProvider: 'corporate', token: 'the ID token of the provider' };

export const confirmSignIn = endpoint({
  id: 'authenticateFederatedUser',
  method: 'POST',
  path: '/tenants/{tenantId}/federation:authenticate',
  auth: 'presented',
  summary: "Sign in with an ID token of the tenant's identity provider.",
  description:
    'The first sign-in makes the person. For 300 seconds it allows issuing platform access tokens.',
  params: tenantParam,
  body: AuthenticateRequest,
  returns: { 200: z.strictObject(signIn) },
  errors: refusals,
  emits: effects,
  // The keys may have to be fetched, which no transaction waits for.
  transaction: 'none',
  example,
  handle: ({ params, body }, context) => authenticate(context, params.tenantId, body),
});

export const exchangeSignIn = endpoint({
  id: 'exchangeFederatedToken',
  method: 'POST',
  path: '/tenants/{tenantId}/federation:exchange',
  auth: 'presented',
  summary: 'Sign in with an ID token and get a short-lived access token of one audience.',
  params: tenantParam,
  body: FederatedExchangeRequest,
  returns: {
    200: z.strictObject({
      accessToken: z.string(),
      tokenType: z.literal('Bearer'),
      expiresIn: z.int().describe('Seconds.'),
      audience: z.string(),
      scope: z.array(z.string()),
      sessionId: Uuid,
      ...signIn,
    }),
  },
  errors: [...refusals, 'human_principal_required', 'audience_not_allowed', 'scope_not_allowed'],
  emits: effects,
  transaction: 'none',
  example: { ...example, audience: 'control-plane', scopes: ['control-plane:read'] },
  handle: ({ params, body }, context) => exchange(context, params.tenantId, body),
});

export const federationApi = [confirmSignIn, exchangeSignIn];
