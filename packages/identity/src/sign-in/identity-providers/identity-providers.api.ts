import { textsByName, Timestamp, Uuid } from '@baton/kernel/wire';
import { z } from 'zod';
import { characters, Issuer, Key, NameSet, Status, tenantParam } from '../../service/fields.ts';
import { endpoint } from '../context.ts';
import {
  identityProviderDisabled,
  identityProviderEnabled,
  identityProviderRegistered,
  identityProviderUpdated,
} from './identity-providers.events.ts';
import {
  changeProvider,
  listProviders,
  readProvider,
  registerProvider,
  switchProvider,
} from './identity-providers.ts';

const LifecycleProfile = z.enum(['read_only', 'managed']);
const CacheSeconds = z.int().min(0).max(86_400);

const IdentityProvider = z.strictObject({
  id: Uuid,
  tenant_id: Uuid,
  key: z.string(),
  issuer: z.string().describe('Without the slashes at its end; a token may also bear the registered form.'),
  audience: z.string(),
  jwks_uri: z.string(),
  subject_claim: z.string(),
  external_id_claim: z.string(),
  group_claim: z.string(),
  display_name_claim: z.string(),
  group_mappings: z.record(z.string(), z.string()),
  required_acr_values: z.array(z.string()),
  required_amr_values: z.array(z.string()),
  lifecycle_profile: LifecycleProfile,
  jwks_cache_ttl_seconds: CacheSeconds,
  jwks_stale_grace_seconds: CacheSeconds,
  status: Status,
  created_at: Timestamp,
});

/** The address of a key document; empty means discovery. */
const JwksUri = characters(0, 500).refine(
  (uri) => uri === '' || (/^https?:\/\//.test(uri) && URL.canParse(uri)),
  'must be an http or https address',
);

/** Upstream group to our group. Names upstream are compared without spaces around them and slashes before them. */
const GroupMappings = textsByName(z.string().regex(/[^\s/]/, 'must name a group'), Key);

/** What may be chosen at the registration and changed later. */
const choices = {
  audience: characters(1, 200).describe('Must be in the `aud` of upstream tokens.'),
  jwksUri: JwksUri.describe('The key document; empty: found by discovery.'),
  subjectClaim: characters(1, 80),
  externalIdClaim: characters(0, 80),
  groupClaim: characters(0, 80),
  displayNameClaim: characters(0, 80).describe(
    'Names a person at the first sign-in; later ones do not rename. Empty, or absent in a token: the provider and the external id do.',
  ),
  groupMappings: GroupMappings.describe('Upstream group to key of a group here; others do not count.'),
  requiredAcrValues: NameSet.describe('The `acr` must be one of them.'),
  requiredAmrValues: NameSet.describe('All must be in the `amr`.'),
  lifecycleProfile: LifecycleProfile.describe('`managed` allows links by hand and SCIM.'),
  jwksCacheTtlSeconds: CacheSeconds.describe('How long keys are used without asking.'),
  jwksStaleGraceSeconds: CacheSeconds.describe('How much longer while the provider does not answer.'),
};

const ProviderRequest = z.strictObject({
  key: Key.describe('The name that clients pass as `identityProvider`.'),
  issuer: Issuer.describe('The `iss` of upstream tokens: an http or https address.'),
  ...choices,
  jwksUri: choices.jwksUri.default(''),
  subjectClaim: choices.subjectClaim.default('sub'),
  externalIdClaim: choices.externalIdClaim.default('sub'),
  groupClaim: choices.groupClaim.default('groups'),
  displayNameClaim: choices.displayNameClaim.default(''),
  groupMappings: choices.groupMappings.default({}),
  requiredAcrValues: choices.requiredAcrValues.default([]),
  requiredAmrValues: choices.requiredAmrValues.default([]),
  lifecycleProfile: choices.lifecycleProfile.default('read_only'),
  jwksCacheTtlSeconds: choices.jwksCacheTtlSeconds.default(300),
  jwksStaleGraceSeconds: choices.jwksStaleGraceSeconds.default(900),
});
export type ProviderRequest = z.infer<typeof ProviderRequest>;

/** Key and issuer stay: the linked identities hang on them. */
const ProviderChanges = z.strictObject(choices).partial();
export type ProviderChanges = z.infer<typeof ProviderChanges>;

const providerParams = { ...tenantParam, key: z.string().max(120) };

export const register = endpoint({
  id: 'createIdentityProvider',
  method: 'POST',
  path: '/tenants/{tenantId}/identity-providers',
  summary: 'Register an identity provider whose people sign in by federation.',
  params: tenantParam,
  body: ProviderRequest,
  returns: { 201: IdentityProvider },
  errors: ['tenant_not_found', 'invalid_issuer', 'identity_provider_exists'],
  emits: [identityProviderRegistered],
  example: {
    key: 'corporate',
    issuer: 'https://login.example.com',
    audience: 'baton',
    groupMappings: { '/engineering': 'engineers' },
    requiredAmrValues: ['mfa'],
  },
  handle: ({ params, body }, context) => registerProvider(context, params.tenantId, body),
});

export const list = endpoint({
  id: 'listIdentityProviders',
  method: 'GET',
  path: '/tenants/{tenantId}/identity-providers',
  summary: 'List the identity providers of a tenant by key.',
  params: tenantParam,
  returns: { 200: z.array(IdentityProvider) },
  errors: ['tenant_not_found'],
  handle: ({ params }, { db }) => listProviders(db, params.tenantId),
});

export const read = endpoint({
  id: 'getIdentityProvider',
  method: 'GET',
  path: '/tenants/{tenantId}/identity-providers/{key}',
  summary: 'Read an identity provider.',
  params: providerParams,
  returns: { 200: IdentityProvider },
  errors: ['identity_provider_not_found'],
  handle: ({ params }, { db }) => readProvider(db, params.tenantId, params.key),
});

export const change = endpoint({
  id: 'updateIdentityProvider',
  method: 'PATCH',
  path: '/tenants/{tenantId}/identity-providers/{key}',
  summary: 'Change what is expected of upstream tokens; equal values change nothing.',
  params: providerParams,
  body: ProviderChanges,
  returns: { 200: IdentityProvider },
  errors: ['identity_provider_not_found', 'population_managed_by_directory'],
  emits: [identityProviderUpdated],
  example: { groupMappings: { '/engineering': 'engineers' }, requiredAcrValues: ['urn:mfa'] },
  handle: ({ params, body }, context) => changeProvider(context, params.tenantId, params.key, body),
});

export const disable = endpoint({
  id: 'disableIdentityProvider',
  method: 'POST',
  path: '/tenants/{tenantId}/identity-providers/{key}:disable',
  summary: 'Close an identity provider: nobody signs in through it. Tokens that were issued stay.',
  params: providerParams,
  returns: { 200: IdentityProvider },
  errors: ['identity_provider_not_found'],
  emits: [identityProviderDisabled],
  handle: ({ params }, context) => switchProvider(context, params.tenantId, params.key, 'disabled'),
});

export const enable = endpoint({
  id: 'enableIdentityProvider',
  method: 'POST',
  path: '/tenants/{tenantId}/identity-providers/{key}:enable',
  summary: 'Open an identity provider again.',
  params: providerParams,
  returns: { 200: IdentityProvider },
  errors: ['identity_provider_not_found'],
  emits: [identityProviderEnabled],
  handle: ({ params }, context) => switchProvider(context, params.tenantId, params.key, 'active'),
});

export const identityProvidersApi = [register, list, read, change, disable, enable];
