import { Timestamp, Uuid } from '@baton/kernel/wire';
import { z } from 'zod';
import { credentialRevoked } from '../revocation/credentials.events.ts';
import { Name, principalParams, Reason, tenantParam } from '../../service/fields.ts';
import { NextAfter, pagesByCreation } from '../../service/paging.ts';
import { endpoint } from '../context.ts';
import {
  principalCreated,
  principalDisabled,
  principalEnabled,
  PrincipalKind,
  principalUpdated,
} from './principals.events.ts';
import type { MemberRow } from './principals.sql.ts';
import {
  createPrincipal,
  disablePrincipal,
  enablePrincipal,
  listPrincipals,
  readPrincipal,
  renamePrincipal,
} from './principals.ts';

const Status = z.enum(['active', 'paused', 'disabled']);

const Principal = z.strictObject({
  id: Uuid,
  kind: PrincipalKind,
  display_name: z.string(),
  status: Status,
  created_at: Timestamp,
});

const PrincipalRequest = z.strictObject({ kind: PrincipalKind, displayName: Name });
export type PrincipalRequest = z.infer<typeof PrincipalRequest>;

export const create = endpoint({
  id: 'createPrincipal',
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
  id: 'getPrincipal',
  method: 'GET',
  path: '/tenants/{tenantId}/principals/{principalId}',
  summary: 'Read a principal with an active membership in the tenant.',
  params: principalParams,
  returns: { 200: Principal },
  errors: ['principal_not_found'],
  handle: ({ params }, { db }) => readPrincipal(db, params.tenantId, params.principalId),
});

const pages = pagesByCreation('principals');

export const list = endpoint({
  id: 'listPrincipals',
  method: 'GET',
  path: '/tenants/{tenantId}/principals',
  summary: 'List the principals with an active membership in the tenant, in the order in which they joined.',
  params: tenantParam,
  query: { ...pages.query, kind: PrincipalKind.optional(), status: Status.optional() },
  returns: { 200: z.strictObject({ items: z.array(Principal), next_after: NextAfter }) },
  errors: ['tenant_not_found'],
  async handle({ params, query }, { db }) {
    const rows = await listPrincipals(db, { ...query, tenantId: params.tenantId });
    const { items, next_after } = pages.cut(rows, query.limit, ({ joined_at }) => joined_at);
    return { items: items.map(principalOf), next_after };
  },
});

export const change = endpoint({
  id: 'updatePrincipal',
  method: 'PATCH',
  path: '/tenants/{tenantId}/principals/{principalId}',
  summary: 'Rename a principal; the same name changes nothing.',
  params: principalParams,
  body: z.strictObject({ displayName: Name }),
  returns: { 200: Principal },
  errors: ['principal_not_found', 'principal_provisioned'],
  emits: [principalUpdated],
  example: { displayName: 'Release agent of the platform team' },
  handle: ({ params: { tenantId, principalId }, body }, context) =>
    renamePrincipal(context, tenantId, principalId, body.displayName),
});

export const enable = endpoint({
  id: 'enablePrincipal',
  method: 'POST',
  path: '/tenants/{tenantId}/principals/{principalId}:enable',
  summary: 'Let a disabled or paused principal act again. Its revoked tokens stay revoked.',
  params: principalParams,
  returns: { 200: z.strictObject({ principalId: Uuid, status: z.literal('active') }) },
  errors: ['principal_not_found', 'principal_provisioned'],
  emits: [principalEnabled],
  async handle({ params: { tenantId, principalId } }, context) {
    await enablePrincipal(context, tenantId, principalId);
    return { principalId, status: 'active' as const };
  },
});

export const disable = endpoint({
  id: 'disablePrincipal',
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

export const principalsApi = [create, list, read, change, disable, enable];

/** A row of the list: when the principal joined is not shown. */
function principalOf(row: MemberRow) {
  const { joined_at: _, ...principal } = row;
  return principal;
}
