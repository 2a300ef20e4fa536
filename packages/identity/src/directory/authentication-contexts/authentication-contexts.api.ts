import { principalParams } from '../../service/fields.ts';
import { endpoint } from '../context.ts';
import { AuthenticationContext, NewAuthenticationContext } from './authentication-context.ts';
import { recordAuthenticationContext } from './authentication-contexts.ts';

export const record = endpoint({
  id: 'recordAuthenticationContext',
  method: 'POST',
  path: '/tenants/{tenantId}/principals/{principalId}/authentication-contexts',
  summary: 'Record that a person signed in.',
  params: principalParams,
  body: NewAuthenticationContext,
  returns: { 201: AuthenticationContext },
  errors: [
    'tenant_not_found',
    'principal_not_found',
    'principal_not_active',
    'human_principal_required',
    'external_identity_not_found',
  ],
  example: { issuer: 'https://login.example.com', acr: 'urn:mfa', amr: ['pwd', 'otp'] },
  handle: ({ params, body }, context) =>
    recordAuthenticationContext(context, params.tenantId, params.principalId, body),
});

export const authenticationContextsApi = [record];
