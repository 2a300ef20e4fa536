import { Timestamp, Uuid } from '@baton/kernel/wire';
import { z } from 'zod';
import { Name, NameSet, tenantParam } from '../../service/fields.ts';
import { NextAfter, pagesByCreation } from '../../service/paging.ts';
import { endpoint } from '../context.ts';
import {
  serviceAccountCreated,
  serviceAccountRevoked,
  serviceAccountSecretRotated,
  serviceAccountUpdated,
} from './service-accounts.events.ts';
import type { AccountRow } from './service-accounts.sql.ts';
import {
  changeServiceAccount,
  createServiceAccount,
  listServiceAccounts,
  readServiceAccount,
  revokeServiceAccount,
} from './service-accounts.ts';

const Audiences = z.array(z.string()).min(1).pipe(NameSet);
const names = z.array(z.string());

const ServiceAccountRequest = z.strictObject({
  displayName: Name,
  audiences: Audiences,
  scopeCeiling: NameSet.default([]),
});
export type ServiceAccountRequest = z.infer<typeof ServiceAccountRequest>;

const ServiceAccountPatch = z.strictObject({
  audiences: Audiences.optional(),
  scopeCeiling: NameSet.optional(),
  rotateSecret: z.boolean().default(false),
});
export type ServiceAccountPatch = z.infer<typeof ServiceAccountPatch>;

const ServiceAccount = z.strictObject({
  principalId: Uuid,
  clientId: z.string(),
  displayName: z.string(),
  audiences: names,
  scopeCeiling: names,
  status: z.enum(['active', 'revoked']).describe('Of the account; its principal may be disabled besides.'),
  createdAt: Timestamp,
  revokedAt: Timestamp.nullable(),
  lastUsedAt: Timestamp.nullable(),
});

const accountParams = { ...tenantParam, clientId: z.string().max(200) };

export const create = endpoint({
  id: 'createServiceAccount',
  method: 'POST',
  path: '/tenants/{tenantId}/service-accounts',
  summary: 'Create a service account; its secret is shown once.',
  params: tenantParam,
  body: ServiceAccountRequest,
  returns: { 201: z.strictObject({ principalId: Uuid, clientId: z.string(), clientSecret: z.string() }) },
  errors: ['unknown_audience'],
  emits: [serviceAccountCreated],
  secrets: ['clientSecret'],
  example: {
    displayName: 'Memory service',
    audiences: ['control-plane'],
    scopeCeiling: ['control-plane:read'],
  },
  handle: ({ params, body }, context) => createServiceAccount(context, params.tenantId, body),
});

const pages = pagesByCreation('service-accounts');

export const list = endpoint({
  id: 'listServiceAccounts',
  method: 'GET',
  path: '/tenants/{tenantId}/service-accounts',
  summary: 'List the service accounts of a tenant by creation; revoked ones are among them.',
  params: tenantParam,
  query: pages.query,
  returns: { 200: z.strictObject({ items: z.array(ServiceAccount), nextAfter: NextAfter }) },
  errors: ['tenant_not_found'],
  async handle({ params, query }, { db }) {
    const rows = await listServiceAccounts(db, params.tenantId, query);
    const { items, next_after: nextAfter } = pages.cut(rows, query.limit);
    return { items: items.map(accountView), nextAfter };
  },
});

export const read = endpoint({
  id: 'getServiceAccount',
  method: 'GET',
  path: '/tenants/{tenantId}/service-accounts/{clientId}',
  summary: 'Read a service account; its secret is never shown again.',
  params: accountParams,
  returns: { 200: ServiceAccount },
  errors: ['service_account_not_found'],
  handle: async ({ params }, { db }) =>
    accountView(await readServiceAccount(db, params.tenantId, params.clientId)),
});

export const change = endpoint({
  id: 'updateServiceAccount',
  method: 'PATCH',
  path: '/tenants/{tenantId}/service-accounts/{clientId}',
  summary: 'Change what a service account may ask for, or replace its secret.',
  description:
    'The state that results is checked as a whole, also for an empty object, which changes nothing.',
  params: accountParams,
  body: ServiceAccountPatch,
  returns: {
    200: z.strictObject({
      principalId: Uuid,
      clientId: z.string(),
      audiences: names,
      scopeCeiling: names,
      clientSecret: z.string().optional().describe('Only when it was replaced.'),
    }),
  },
  errors: [
    'service_account_not_found',
    'service_account_revoked',
    'unknown_audience',
    'invalid_scope_ceiling',
  ],
  emits: [serviceAccountUpdated, serviceAccountSecretRotated],
  example: { rotateSecret: true },
  handle: ({ params, body }, context) =>
    changeServiceAccount(context, params.tenantId, params.clientId, body),
});

export const revoke = endpoint({
  id: 'revokeServiceAccount',
  method: 'POST',
  path: '/tenants/{tenantId}/service-accounts/{clientId}:revoke',
  summary: 'Revoke a service account for good; repeating it changes nothing.',
  params: accountParams,
  returns: { 204: null },
  errors: ['service_account_not_found'],
  emits: [serviceAccountRevoked],
  handle: ({ params }, context) => revokeServiceAccount(context, params.tenantId, params.clientId),
});

export const serviceAccountsApi = [create, list, read, change, revoke];

function accountView(row: AccountRow): z.infer<typeof ServiceAccount> {
  return {
    principalId: row.principal_id,
    clientId: row.client_id,
    displayName: row.display_name,
    audiences: row.audiences,
    scopeCeiling: row.scope_ceiling,
    status: row.revoked_at === null ? 'active' : 'revoked',
    createdAt: row.created_at,
    revokedAt: row.revoked_at,
    lastUsedAt: row.last_used_at,
  };
}
