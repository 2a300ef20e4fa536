import { Timestamp, Uuid } from '@baton/kernel/wire';
import { z } from 'zod';
import { Name } from '../../service/fields.ts';
import { endpoint } from '../context.ts';
import { sourceParams } from './provisioning-sources.api.ts';
import { provisioningTokenRevoked } from './provisioning-sources.events.ts';
import {
  endProvisioningToken,
  issueProvisioningToken,
  listProvisioningTokens,
} from './provisioning-tokens.ts';

const yearSeconds = 31_536_000;

const TokenRequest = z.strictObject({
  name: Name,
  expiresInSeconds: z.int().min(60).max(yearSeconds).default(yearSeconds),
});
export type TokenRequest = z.infer<typeof TokenRequest>;

const view = {
  id: Uuid,
  name: z.string(),
  publicPrefix: z.string(),
  createdAt: Timestamp,
  expiresAt: Timestamp,
};
const ProvisioningToken = z.strictObject({ ...view, revokedAt: Timestamp.nullable() });
export type ProvisioningToken = z.infer<typeof ProvisioningToken>;
const TokenIssuance = z.strictObject({
  ...view,
  token: z.string().nullable().describe('The secret: in the first answer only.'),
});
export type TokenIssuance = z.infer<typeof TokenIssuance>;

export const issue = endpoint({
  id: 'createProvisioningToken',
  method: 'POST',
  path: '/tenants/{tenantId}/provisioning-sources/{sourceId}/tokens',
  summary: 'Issue a long-lived SCIM token of a source; its secret is shown once, and two may live at a time.',
  params: sourceParams,
  body: TokenRequest,
  returns: { 201: TokenIssuance },
  errors: ['provisioning_source_not_found', 'idempotency_key_reused', 'token_limit_reached'],
  idempotency: 'own',
  secrets: ['token'],
  example: { name: 'Entra ID' },
  handle: ({ params, body }, context) =>
    issueProvisioningToken(context, params.tenantId, params.sourceId, body),
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
  method: 'POST',
  path: '/tenants/{tenantId}/provisioning-sources/{sourceId}/tokens/{tokenId}:revoke',
  summary: 'Revoke a SCIM token; repeating it changes nothing.',
  params: { ...sourceParams, tokenId: Uuid },
  returns: { 204: null },
  errors: ['credential_not_found'],
  emits: [provisioningTokenRevoked],
  handle: ({ params }, context) =>
    endProvisioningToken(context, params.tenantId, params.sourceId, params.tokenId),
});

export const provisioningTokensApi = [issue, list, revoke];
