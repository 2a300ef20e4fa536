import { Timestamp, Uuid } from '@baton/kernel/wire';
import { z } from 'zod';
import { credentialRevoked } from '../credentials/credentials.events.ts';
import { Name, principalParams, Reason, tenantParam } from '../fields.ts';
import { endpoint } from '../service.ts';
import { principalCreated, principalDisabled, PrincipalKind } from './principals.events.ts';
import { createPrincipal, disablePrincipal, readPrincipal } from './principals.ts';

const Principal = z.strictObject({
  id: Uuid,
  kind: PrincipalKind,
  display_name: z.string(),
  status: z.enum(['active', 'paused', 'disabled']),
  created_at: Timestamp,
});

const PrincipalRequest = z.strictObject({ kind: PrincipalKind, displayName: Name });
export type PrincipalRequest = z.infer<typeof PrincipalRequest>;

export const create = endpoint({
  method: 'POST',
  path: '/tenants/{tenantId}/principals',
  summary: 'Create a principal in a tenant.',
  params: tenantParam,
  body: PrincipalRequest,
  returns: { 201: Principal },
  errors: ['tenant_not_found'],
  emits: [principalCreated],
  example: { kind: 'agent', displayName: 'Release agent' },
  handle: ({ params, body }, context) => createPrincipal(context, params.tenantId, body),
});

export const read = endpoint({
  method: 'GET',
  path: '/tenants/{tenantId}/principals/{principalId}',
  summary: 'Read a principal with an active membership in the tenant.',
  params: principalParams,
  returns: { 200: Principal },
  errors: ['principal_not_found'],
  handle: ({ params }, { db }) => readPrincipal(db, params.tenantId, params.principalId),
});

export const disable = endpoint({
  method: 'POST',
  path: '/tenants/{tenantId}/principals/{principalId}:disable',
  summary: 'Disable a principal everywhere and revoke each of its tokens.',
  params: principalParams,
  query: { reason: Reason.default('principal_disabled') },
  returns: {
    200: z.strictObject({
      principalId: Uuid,
      status: z.literal('disabled'),
      revokedCredentials: z.int().describe('How many tokens this call revoked.'),
    }),
  },
  errors: ['principal_not_found'],
  emits: [credentialRevoked, principalDisabled],
  async handle({ params: { tenantId, principalId }, query }, context) {
    const revokedCredentials = await disablePrincipal(context, {
      tenantId,
      principalId,
      reason: query.reason,
    });
    return { principalId, status: 'disabled' as const, revokedCredentials };
  },
});

export const principalsApi = [create, read, disable];
