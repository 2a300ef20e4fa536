import { Timestamp, Uuid } from '@baton/kernel/wire';
import { z } from 'zod';
import { IssuedApiKey } from '../../access/api-keys/api-key.ts';
import { IamBinding } from '../../access/iam-bindings/iam-binding.ts';
import { iamBindingCreated } from '../../access/iam-bindings/iam-bindings.events.ts';
import { Principal } from '../../access/principals/principal.ts';
import { endpoint } from '../context.ts';
import { tenantBootstrapped } from './bootstrap.events.ts';
import { bootstrap } from './bootstrap.ts';

const Tenant = z.strictObject({
  id: Uuid,
  slug: z.string(),
  name: z.string(),
  createdAt: Timestamp,
  updatedAt: Timestamp,
});

export const BootstrapRequest = z.strictObject({
  tenantSlug: z
    .string()
    .min(2)
    .max(63)
    .regex(/^[a-z0-9][a-z0-9-]*$/, 'must be lower-case letters, digits and hyphens'),
  tenantName: z.string().min(1).max(200),
  adminDisplayName: z.string().min(1).max(200),
  tenantId: Uuid.optional(),
  iamBinding: z
    .strictObject({ issuer: z.string().min(1).max(2000), iamTenantId: Uuid, iamPrincipalId: Uuid })
    .nullish(),
});

export const Bootstrapped = z.strictObject({
  tenant: Tenant,
  adminPrincipal: Principal,
  apiKey: IssuedApiKey,
  iamBinding: IamBinding.nullable(),
});

const bootstrapTenant = endpoint({
  id: 'bootstrap',
  method: 'POST',
  path: '/bootstrap',
  summary: 'Found the installation: its tenant, its administrator and a first key.',
  description: 'Once only, with the bootstrap secret. Two at once give one tenant.',
  auth: 'bootstrap',
  // There is no principal whose key it could be; "once only" protects it.
  idempotency: 'ignored',
  body: BootstrapRequest,
  returns: { 201: Bootstrapped },
  errors: ['bootstrap_disabled', 'already_bootstrapped'],
  emits: [tenantBootstrapped, iamBindingCreated],
  example: {
    tenantSlug: 'acme',
    tenantName: 'Acme',
    adminDisplayName: 'Ada',
    iamBinding: {
      issuer: 'https://baton.example/iam',
      iamTenantId: '0190b2c4-0000-7000-8000-000000000001',
      iamPrincipalId: '0190b2c4-0000-7000-8000-000000000002',
    },
  },
  handle: ({ body }, context) => bootstrap(context, body),
});

export const bootstrapApi = [bootstrapTenant];
