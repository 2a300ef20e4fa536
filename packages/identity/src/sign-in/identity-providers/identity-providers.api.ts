import { z } from 'zod';
import { tenantParam } from '../../service/fields.ts';
import { endpoint } from '../context.ts';
import {
  IdentityProvider,
  IdentityProviderChange,
  NewIdentityProvider,
  providerParams,
} from './identity-provider.ts';
import {
  identityProviderDisabled,
  identityProviderEnabled,
  identityProviderRegistered,
  identityProviderUpdated,
} from './identity-providers.events.ts';
import {
  createIdentityProvider,
  getIdentityProvider,
  listIdentityProviders,
  setIdentityProviderStatus,
  updateIdentityProvider,
} from './identity-providers.ts';

export const create = endpoint({
  id: 'createIdentityProvider',
  method: 'POST',
  path: '/tenants/{tenantId}/identity-providers',
  summary: 'Register an identity provider through which people sign in by federation.',
  params: tenantParam,
  body: NewIdentityProvider,
  returns: { 201: IdentityProvider },
  errors: ['tenant_not_found', 'invalid_issuer', 'too_many_identity_providers', 'identity_provider_exists'],
  emits: [identityProviderRegistered],
  example: {
    key: 'corporate',
    issuer: 'https://login.example.com',
    audience: 'baton',
    groupMappings: { '/engineering': 'engineers' },
    requiredAmrValues: ['mfa'],
  },
  handle: ({ params, body }, context) => createIdentityProvider(context, params.tenantId, body),
});

export const list = endpoint({
  id: 'listIdentityProviders',
  method: 'GET',
  path: '/tenants/{tenantId}/identity-providers',
  summary: 'List the identity providers of a tenant by key.',
  params: tenantParam,
  returns: { 200: z.array(IdentityProvider) },
  errors: ['tenant_not_found'],
  handle: ({ params }, { db }) => listIdentityProviders(db, params.tenantId),
});

export const get = endpoint({
  id: 'getIdentityProvider',
  method: 'GET',
  path: '/tenants/{tenantId}/identity-providers/{key}',
  summary: 'Read an identity provider.',
  params: providerParams,
  returns: { 200: IdentityProvider },
  errors: ['identity_provider_not_found'],
  handle: ({ params }, { db }) => getIdentityProvider(db, params.tenantId, params.key),
});

export const update = endpoint({
  id: 'updateIdentityProvider',
  method: 'PATCH',
  path: '/tenants/{tenantId}/identity-providers/{key}',
  summary: 'Change the requirements for upstream tokens; equal values change nothing.',
  params: providerParams,
  body: IdentityProviderChange,
  returns: { 200: IdentityProvider },
  errors: [
    'identity_provider_not_found',
    'invalid_issuer',
    'workload_rules_too_wide',
    'population_managed_by_directory',
    'issuer_not_changeable',
    'identity_provider_exists',
    'linked_people_undecided',
    'external_identity_conflict',
  ],
  emits: [identityProviderUpdated],
  example: { groupMappings: { '/engineering': 'engineers' }, requiredAcrValues: ['urn:mfa'] },
  handle: ({ params, body }, context) => updateIdentityProvider(context, params.tenantId, params.key, body),
});

export const disable = endpoint({
  id: 'disableIdentityProvider',
  method: 'POST',
  path: '/tenants/{tenantId}/identity-providers/{key}:disable',
  summary:
    'Disable an identity provider: sign-ins through it are refused. Issued platform access tokens remain valid.',
  params: providerParams,
  returns: { 200: IdentityProvider },
  errors: ['identity_provider_not_found'],
  emits: [identityProviderDisabled],
  handle: ({ params }, context) =>
    setIdentityProviderStatus(context, params.tenantId, params.key, 'disabled'),
});

export const enable = endpoint({
  id: 'enableIdentityProvider',
  method: 'POST',
  path: '/tenants/{tenantId}/identity-providers/{key}:enable',
  summary: 'Enable an identity provider.',
  params: providerParams,
  returns: { 200: IdentityProvider },
  errors: ['identity_provider_not_found'],
  emits: [identityProviderEnabled],
  handle: ({ params }, context) => setIdentityProviderStatus(context, params.tenantId, params.key, 'active'),
});

export const identityProvidersApi = [create, list, get, update, disable, enable];
