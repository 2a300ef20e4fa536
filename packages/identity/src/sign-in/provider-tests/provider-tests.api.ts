import { endpoint } from '../context.ts';
import { providerParams } from '../identity-providers/identity-provider.ts';
import { ProviderTest, ProviderTestRequest } from './provider-test.ts';
import { testIdentityProvider } from './provider-tests.ts';

export const test = endpoint({
  id: 'testIdentityProvider',
  method: 'POST',
  path: '/tenants/{tenantId}/identity-providers/{key}:test',
  summary: 'Test an identity provider step by step: discovery, keys, redirect, token, claims, result.',
  description:
    'Changes nothing, even with a token: nobody is created or admitted. Another `issuer` and `audience` are tested before they are set. A failed step is part of the response.',
  params: providerParams,
  body: ProviderTestRequest,
  bodyBytesMax: 131_072,
  unprinted: ['token'],
  returns: { 200: ProviderTest },
  errors: ['identity_provider_not_found', 'invalid_issuer'],
  // The test calls the provider, and no transaction may stay open during that call.
  transaction: 'none',
  example: { redirectUri: 'https://baton.example/console/callback' },
  handle: ({ params, body }, context) => testIdentityProvider(context, params.tenantId, params.key, body),
});

export const providerTestsApi = [test];
