import { Timestamp, Uuid } from '@baton/kernel/wire';
import { z } from 'zod';
import { Name, Status, tenantParam } from '../../service/fields.ts';
import { NextAfter, pagesByCreation } from '../../service/paging.ts';
import { endpoint } from '../context.ts';
import { tenantCreated, tenantUpdated } from './tenants.events.ts';
import { changeTenant, createTenant, listTenants, readTenant } from './tenants.ts';

const Tenant = z.strictObject({
  id: Uuid,
  slug: z.string(),
  name: z.string(),
  status: Status,
  created_at: Timestamp,
});

const TenantRequest = z.strictObject({
  slug: z.string().regex(/^[a-z0-9][a-z0-9-]{1,78}[a-z0-9]$/),
  name: Name,
  id: Uuid.nullish().describe('An identifier of your own choice.'),
});
export type TenantRequest = z.infer<typeof TenantRequest>;

/** Id and slug stay: others know the tenant by them. */
const TenantChanges = z.strictObject({
  name: Name.optional(),
  status: Status.optional().describe('`disabled` closes every credential of the tenant at once.'),
});
export type TenantChanges = z.infer<typeof TenantChanges>;

const pages = pagesByCreation('tenants');

export const create = endpoint({
  id: 'createTenant',
  method: 'POST',
  path: '/tenants',
  summary: 'Create a tenant.',
  body: TenantRequest,
  returns: { 201: Tenant },
  errors: ['tenant_id_exists', 'tenant_slug_exists'],
  emits: [tenantCreated],
  example: { slug: 'acme', name: 'Acme Ltd' },
  handle: ({ body }, context) => createTenant(context, body),
});

export const list = endpoint({
  id: 'listTenants',
  method: 'GET',
  path: '/tenants',
  summary: 'List the tenants in the order of their creation.',
  query: { ...pages.query, status: Status.optional(), slug: z.string().max(80).optional() },
  returns: { 200: z.strictObject({ items: z.array(Tenant), next_after: NextAfter }) },
  handle: async ({ query: { limit, after, ...filter } }, { db }) =>
    pages.cut(await listTenants(db, filter, { limit, after }), limit),
});

export const read = endpoint({
  id: 'getTenant',
  method: 'GET',
  path: '/tenants/{tenantId}',
  summary: 'Read a tenant.',
  params: tenantParam,
  returns: { 200: Tenant },
  errors: ['tenant_not_found'],
  handle: ({ params }, { db }) => readTenant(db, params.tenantId),
});

export const change = endpoint({
  id: 'updateTenant',
  method: 'PATCH',
  path: '/tenants/{tenantId}',
  summary: 'Rename, disable or enable a tenant; equal values change nothing.',
  description:
    'While a tenant is disabled, no token of it can be exchanged, introspected, revoked by its bearer, issued, rotated or imported, no client gets a token, nobody signs in, and SCIM is closed. Access tokens that were issued live to their end elsewhere. Nothing is revoked: when the tenant is enabled, all of it works again.',
  params: tenantParam,
  body: TenantChanges,
  returns: { 200: Tenant },
  errors: ['tenant_not_found'],
  emits: [tenantUpdated],
  example: { name: 'Acme International' },
  handle: ({ params, body }, context) => changeTenant(context, params.tenantId, body),
});

export const tenantsApi = [create, list, read, change];
