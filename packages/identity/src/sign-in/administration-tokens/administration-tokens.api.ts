import { Uuid } from '@baton/values/wire';
import { tenantParam } from '../../service/fields.ts';
import { endpoint } from '../context.ts';
import { IssuedAdministrationToken, NewAdministrationToken } from './administration-token.ts';
import { createAdministrationToken, revokeAdministrationToken } from './administration-tokens.ts';

const exampleId = '5f0e7a52-6f1c-4d7e-9a53-0a1f7c1f2b3d';

export const create = endpoint({
  id: 'createAdministrationToken',
  method: 'POST',
  path: '/tenants/{tenantId}/administration-tokens',
  auth: 'delegation',
  summary: 'Issue a token with which a person administers the identities of their tenant.',
  description:
    'For the service that knows who is an administrator: coordination. The token lives for at most 300 seconds after the sign-in of the person, and ends at once with their session, their account or their tenant.',
  params: tenantParam,
  body: NewAdministrationToken,
  returns: { 201: IssuedAdministrationToken },
  secrets: ['token'],
  errors: ['tenant_not_found', 'fresh_sign_in_required'],
  example: { principalId: exampleId, credentialId: exampleId },
  handle: ({ params, body }, context) => createAdministrationToken(context, params.tenantId, body),
});

export const revoke = endpoint({
  id: 'revokeAdministrationToken',
  isEmergency: true,
  method: 'POST',
  path: '/tenants/{tenantId}/administration-tokens/{administrationTokenId}:revoke',
  auth: 'delegation',
  summary: 'Revoke an administration token. Repeating the call changes nothing.',
  params: { ...tenantParam, administrationTokenId: Uuid },
  returns: { 204: null },
  errors: ['administration_token_not_found'],
  handle: ({ params }, context) =>
    revokeAdministrationToken(context, params.tenantId, params.administrationTokenId),
});

export const administrationTokensApi = [create, revoke];
