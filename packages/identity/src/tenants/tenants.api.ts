import { Timestamp, Uuid } from '@baton/kernel/wire';
import { z } from 'zod';
import { Name } from '../fields.ts';
import { endpoint } from '../service.ts';
import { tenantCreated } from './tenants.events.ts';
import { createTenant } from './tenants.ts';

const Tenant = z.strictObject({
  id: Uuid,
  slug: z.string(),
  name: z.string(),
  status: z.enum(['active', 'disabled']),
  created_at: Timestamp,
});

const TenantRequest = z.strictObject({
  slug: z.string().regex(/^[a-z0-9][a-z0-9-]{1,78}[a-z0-9]$/),
  name: Name,
  id: Uuid.nullish().describe('An identifier of your own choice.'),
});
export type TenantRequest = z.infer<typeof TenantRequest>;

export const create = endpoint({
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

export const tenantsApi = [create];
