import { z } from 'zod';
import { Uuid } from '@baton/values/wire';
import { credentialRevoked } from '../../directory/revocation/credentials.events.ts';
import { principalParams, Reason, tenantParam } from '../../service/fields.ts';
import { endpoint } from '../context.ts';
import {
  IssuedToken,
  listQuery,
  NewPlatformAccessToken,
  PlatformAccessToken,
} from './platform-access-token.ts';
import { platformAccessTokenIssued, platformAccessTokenRotated } from './platform-access-tokens.events.ts';
import {
  createPlatformAccessToken,
  getPlatformAccessToken,
  listPlatformAccessTokens,
  revokePlatformAccessToken,
} from './platform-access-tokens.ts';
import { rotatePlatformAccessToken } from './rotation.ts';

const credentialParams = { ...tenantParam, credentialId: Uuid };

export const create = endpoint({
  id: 'createPlatformAccessToken',
  method: 'POST',
  path: '/tenants/{tenantId}/principals/{principalId}/platform-access-tokens',
  summary: 'Issue a token to a human or an agent; its secret is shown once.',
  description: 'A human needs a recent recorded sign-in.',
  params: principalParams,
  body: NewPlatformAccessToken,
  returns: { 201: IssuedToken },
  errors: [
    'idempotency_key_required',
    'idempotency_key_reused',
    'tenant_not_found',
    'principal_not_found',
    'principal_not_active',
    'principal_kind_not_allowed',
    'authentication_context_required',
    'authentication_context_expired',
    'unknown_audience',
    'invalid_scope_ceiling',
    'expiry_too_long',
    'credential_conflict',
  ],
  emits: [platformAccessTokenIssued],
  idempotency: 'own',
  secrets: ['token'],
  example: { name: 'laptop', audiences: ['control-plane'], scopeCeiling: ['control-plane:read'] },
  handle: ({ params, body }, context) =>
    createPlatformAccessToken(context, params.tenantId, params.principalId, body),
});

export const list = endpoint({
  id: 'listPlatformAccessTokens',
  method: 'GET',
  path: '/tenants/{tenantId}/platform-access-tokens',
  summary: 'List the tokens of a tenant by creation, including expired ones.',
  params: tenantParam,
  description:
    'Returns all of them unless `limit` is set. With `limit`, a `Link` header with `rel="next"` points to the next page, if any.',
  query: listQuery,
  returns: { 200: z.array(PlatformAccessToken) },
  handle: ({ params, query }, { db }) => listPlatformAccessTokens(db, params.tenantId, query),
});

export const get = endpoint({
  id: 'getPlatformAccessToken',
  method: 'GET',
  path: '/tenants/{tenantId}/platform-access-tokens/{credentialId}',
  summary: 'Read a token; its secret is never shown again.',
  params: credentialParams,
  returns: { 200: PlatformAccessToken },
  errors: ['credential_not_found'],
  handle: ({ params }, { db }) => getPlatformAccessToken(db, params.tenantId, params.credentialId),
});

export const revoke = endpoint({
  id: 'revokePlatformAccessToken',
  isEmergency: true,
  method: 'POST',
  path: '/tenants/{tenantId}/platform-access-tokens/{credentialId}:revoke',
  summary: 'Revoke a token. Revoking it again changes nothing and keeps the first reason.',
  params: credentialParams,
  query: { reason: Reason.default('revoked') },
  returns: { 204: null },
  errors: ['credential_not_found'],
  emits: [credentialRevoked],
  handle: ({ params, query }, context) =>
    revokePlatformAccessToken(context, { ...params, reason: query.reason }),
});

export const rotate = endpoint({
  id: 'rotatePlatformAccessToken',
  method: 'POST',
  path: '/tenants/{tenantId}/platform-access-tokens/{credentialId}:rotate',
  summary:
    'Replace a token with a successor with the same audiences, ceiling and expiry; its secret is shown once.',
  params: credentialParams,
  body: z.strictObject({}).meta({ id: 'PlatformAccessTokenRotation' }),
  bodyOptional: true,
  returns: { 201: IssuedToken },
  errors: [
    'idempotency_key_required',
    'idempotency_key_reused',
    'credential_not_found',
    'credential_not_active',
    'tenant_not_found',
    'principal_not_found',
    'principal_not_active',
    'credential_conflict',
  ],
  emits: [platformAccessTokenRotated],
  idempotency: 'own',
  secrets: ['token'],
  example: {},
  handle: ({ params }, context) => rotatePlatformAccessToken(context, params.tenantId, params.credentialId),
});

export const platformAccessTokensApi = [create, list, get, revoke, rotate];
