import { InstantInput, Timestamp, Uuid } from '@baton/kernel/wire';
import { z } from 'zod';
import { characters, Issuer, NameSet, principalParams } from '../../service/fields.ts';
import { endpoint } from '../context.ts';
import { recordAuthenticationContext } from './authentication-contexts.ts';

const AuthenticationContext = z.strictObject({
  id: Uuid,
  principalId: Uuid,
  issuer: z.string(),
  acr: z.string().nullable(),
  amr: z.array(z.string()),
  authTime: Timestamp,
  recordedAt: Timestamp,
  source: z.literal('bootstrap'),
});

const ContextRequest = z.strictObject({
  issuer: Issuer,
  acr: characters(0, 200).nullish(),
  amr: NameSet.default([]),
  authTime: InstantInput.nullish().describe('When the person signed in; never later than now.'),
  externalIdentityId: Uuid.nullish(),
});
export type ContextRequest = z.infer<typeof ContextRequest>;

export const record = endpoint({
  id: 'recordAuthenticationContext',
  method: 'POST',
  path: '/tenants/{tenantId}/principals/{principalId}/authentication-contexts',
  summary: 'Record that a person signed in.',
  params: principalParams,
  body: ContextRequest,
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
