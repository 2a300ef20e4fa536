import { reply } from '@baton/kernel/service';
import { QueryFlag, queryInteger, Uuid } from '@baton/kernel/wire';
import { z } from 'zod';
import { credentialRevoked } from '../../directory/revocation/credentials.events.ts';
import { revokeToken } from '../../directory/revocation/revocation.ts';
import { Name, NameSet, principalParams, Reason, tenantParam } from '../../service/fields.ts';
import { pagesByCreation, rowsPerPageMax } from '../../service/paging.ts';
import { endpoint } from '../context.ts';
import { fail } from '../errors.ts';
import { Credential, credentialView } from './credential-view.ts';
import { platformAccessTokenIssued, platformAccessTokenRotated } from './platform-access-tokens.events.ts';
import { credentialExists, issueToken, listTokens, readToken } from './platform-access-tokens.ts';
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
  id: 'createPlatformAccessToken',
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

const pages = pagesByCreation('platform-access-tokens');

export const list = endpoint({
  id: 'listPlatformAccessTokens',
  method: 'GET',
  path: '/tenants/{tenantId}/platform-access-tokens',
  summary: 'List the tokens of a tenant by creation; expired ones are among them.',
  params: tenantParam,
  description:
    'All of them, unless `limit` asks for pages: then a `Link` header with `rel="next"` names the next page, as long as there is one.',
  query: {
    principalId: Uuid.optional(),
    includeRevoked: QueryFlag.default(false),
    limit: queryInteger(1, rowsPerPageMax).optional(),
    after: pages.query.after,
  },
  returns: { 200: z.array(Credential) },
  async handle({ params, query }, { db }) {
    const { limit, principalId, includeRevoked } = query;
    const rowsMax = limit === undefined ? undefined : limit + 1;
    const rows = await listTokens(db, { ...params, ...query, rowsMax });
    const { items, next_after: next } = pages.cut(rows, limit ?? rows.length);
    const tokens = items.map(credentialView);
    return next === null
      ? tokens
      : reply(200, tokens, { link: linkToNext({ principalId, includeRevoked, limit, after: next }) });
  },
});

export const read = endpoint({
  id: 'getPlatformAccessToken',
  method: 'GET',
  path: '/tenants/{tenantId}/platform-access-tokens/{credentialId}',
  summary: 'Read a token; its secret is never shown again.',
  params: credentialParams,
  returns: { 200: Credential },
  errors: ['credential_not_found'],
  handle: ({ params }, { db }) => readToken(db, params.tenantId, params.credentialId),
});

export const revoke = endpoint({
  id: 'revokePlatformAccessToken',
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
  id: 'rotatePlatformAccessToken',
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

export const platformAccessTokensApi = [issue, list, read, revoke, rotate];

/** Relative to the address that was asked: whatever an edge has stripped from its path stays. */
function linkToNext(query: Record<string, unknown>): string {
  const next = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) if (value !== undefined) next.set(name, String(value));
  return `<?${next}>; rel="next"`;
}
