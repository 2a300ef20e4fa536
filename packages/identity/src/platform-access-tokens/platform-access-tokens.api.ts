import { QueryFlag, Uuid } from '@baton/kernel/wire';
import { z } from 'zod';
import { credentialRevoked } from '../credentials/credentials.events.ts';
import { revokeToken } from '../credentials/revocation.ts';
import { Name, NameSet, principalParams, Reason, tenantParam } from '../fields.ts';
import { endpoint, fail } from '../service.ts';
import { Credential } from './credential-view.ts';
import { platformAccessTokenIssued, platformAccessTokenRotated } from './platform-access-tokens.events.ts';
import { credentialExists, issueToken, listTokens } from './platform-access-tokens.ts';
import { rotateToken } from './rotation.ts';

export const ttlSecondsMin = 60;

const IssueRequest = z.strictObject({
  name: Name,
  audiences: z.array(z.string()).min(1).pipe(NameSet),
  scopeCeiling: NameSet.default([]),
  expiresInSeconds: z.int().min(ttlSecondsMin).nullish(),
});
export type IssueRequest = z.infer<typeof IssueRequest>;

const Issuance = z.strictObject({
  credential: Credential,
  token: z.string().nullable().describe('The secret: in the first answer only.'),
});

const credentialParams = { ...tenantParam, credentialId: Uuid };

export const issue = endpoint({
  method: 'POST',
  path: '/tenants/{tenantId}/principals/{principalId}/platform-access-tokens',
  summary: 'Issue a token to a human or an agent; its secret is shown once.',
  description: 'A human needs a recorded sign-in that is not too old.',
  params: principalParams,
  body: IssueRequest,
  returns: { 201: Issuance },
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
  handle: ({ params, body }, context) => issueToken(context, params.tenantId, params.principalId, body),
});

export const list = endpoint({
  method: 'GET',
  path: '/tenants/{tenantId}/platform-access-tokens',
  summary: 'List the tokens of a tenant by creation; expired ones are among them.',
  params: tenantParam,
  query: { principalId: Uuid.optional(), includeRevoked: QueryFlag.default(false) },
  returns: { 200: z.array(Credential) },
  handle: ({ params, query }, { db }) => listTokens(db, { ...params, ...query }),
});

export const revoke = endpoint({
  method: 'POST',
  path: '/tenants/{tenantId}/platform-access-tokens/{credentialId}:revoke',
  summary: 'Revoke a token; repeating it changes nothing, and the first reason stays.',
  params: credentialParams,
  query: { reason: Reason.default('revoked') },
  returns: { 204: null },
  errors: ['credential_not_found'],
  emits: [credentialRevoked],
  async handle({ params, query }, context) {
    const revoked = await revokeToken(context, { ...params, reason: query.reason });
    if (revoked || (await credentialExists(context.db, params.tenantId, params.credentialId)))
      return undefined;
    return fail('credential_not_found');
  },
});

export const rotate = endpoint({
  method: 'POST',
  path: '/tenants/{tenantId}/platform-access-tokens/{credentialId}:rotate',
  summary: 'Replace a token by a successor with the same reach and the same end; its secret is shown once.',
  params: credentialParams,
  body: z.strictObject({}),
  bodyOptional: true,
  returns: { 201: Issuance },
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
  handle: ({ params }, context) => rotateToken(context, params.tenantId, params.credentialId),
});

export const platformAccessTokensApi = [issue, list, revoke, rotate];
