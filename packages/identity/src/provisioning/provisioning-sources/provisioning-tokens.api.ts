import { z } from 'zod';
import { Uuid } from '@baton/values/wire';
import { endpoint } from '../context.ts';
import { sourceParams } from './provisioning-source.ts';
import { provisioningTokenRevoked } from './provisioning-sources.events.ts';
import { IssuedProvisioningToken, NewProvisioningToken, ProvisioningToken } from './provisioning-token.ts';
import {
  createProvisioningToken,
  listProvisioningTokens,
  revokeProvisioningToken,
} from './provisioning-tokens.ts';

export const create = endpoint({
  id: 'createProvisioningToken',
  method: 'POST',
  path: '/tenants/{tenantId}/provisioning-sources/{sourceId}/tokens',
  summary:
    'Issue a long-lived SCIM token of a source; its secret is shown once, and at most two are valid at a time.',
  params: sourceParams,
  body: NewProvisioningToken,
  returns: { 201: IssuedProvisioningToken },
  errors: ['provisioning_source_not_found', 'idempotency_key_reused', 'token_limit_reached'],
  idempotency: 'own',
  secrets: ['token'],
  example: { name: 'Entra ID' },
  handle: ({ params, body }, context) =>
    createProvisioningToken(context, params.tenantId, params.sourceId, body),
});

export const list = endpoint({
  id: 'listProvisioningTokens',
  method: 'GET',
  path: '/tenants/{tenantId}/provisioning-sources/{sourceId}/tokens',
  summary: 'List the SCIM tokens of a source by creation, without their secrets.',
  params: sourceParams,
  returns: { 200: z.array(ProvisioningToken) },
  errors: ['provisioning_source_not_found'],
  handle: ({ params }, context) => listProvisioningTokens(context, params.tenantId, params.sourceId),
});

export const revoke = endpoint({
  id: 'revokeProvisioningToken',
  isEmergency: true,
  method: 'POST',
  path: '/tenants/{tenantId}/provisioning-sources/{sourceId}/tokens/{tokenId}:revoke',
  summary: 'Revoke a SCIM token. Revoking it again changes nothing.',
  params: { ...sourceParams, tokenId: Uuid },
  returns: { 204: null },
  errors: ['credential_not_found'],
  emits: [provisioningTokenRevoked],
  handle: ({ params }, context) =>
    revokeProvisioningToken(context, params.tenantId, params.sourceId, params.tokenId),
});

export const provisioningTokensApi = [create, list, revoke];
