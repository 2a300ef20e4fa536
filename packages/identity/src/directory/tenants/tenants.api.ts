import { tenantParam } from '../../service/fields.ts';
import { endpoint } from '../context.ts';
import { NewTenant, Tenant, TenantChange, tenantPages, tenantQuery } from './tenant.ts';
import { tenantCreated, tenantUpdated } from './tenants.events.ts';
import { createTenant, getTenant, listTenants, updateTenant } from './tenants.ts';

export const create = endpoint({
  id: 'createTenant',
  method: 'POST',
  path: '/tenants',
  summary: 'Create a tenant.',
  body: NewTenant,
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
  query: tenantQuery,
  returns: { 200: tenantPages.form },
  handle: ({ query }, { db }) => listTenants(db, query),
});

export const get = endpoint({
  id: 'getTenant',
  method: 'GET',
  path: '/tenants/{tenantId}',
  summary: 'Read a tenant.',
  params: tenantParam,
  returns: { 200: Tenant },
  errors: ['tenant_not_found'],
  handle: ({ params }, { db }) => getTenant(db, params.tenantId),
});

export const update = endpoint({
  id: 'updateTenant',
  method: 'PATCH',
  path: '/tenants/{tenantId}',
  summary: 'Rename, disable or enable a tenant; equal values change nothing.',
  description:
    'While a tenant is disabled, its tokens cannot be exchanged, introspected, revoked by their bearer, issued, rotated or imported, its clients get no tokens, sign-ins are refused, and SCIM is closed. Coordination refuses access tokens that were issued before; other services accept them until they expire. No credential is revoked: after the tenant is enabled, everything works again.',
  params: tenantParam,
  body: TenantChange,
  returns: { 200: Tenant },
  errors: ['tenant_not_found'],
  emits: [tenantUpdated],
  example: { name: 'Acme International' },
  handle: ({ params, body }, context) => updateTenant(context, params.tenantId, body),
});

export const tenantsApi = [create, list, get, update];
