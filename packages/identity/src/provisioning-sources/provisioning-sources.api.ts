import { Timestamp, Uuid } from '@baton/kernel/wire';
import { z } from 'zod';
import { characters, Key, tenantParam } from '../fields.ts';
import { endpoint } from '../service.ts';
import {
  provisioningSourceRegistered,
  provisioningSourceStale,
  SourceKind,
} from './provisioning-sources.events.ts';
import { listSources, registerSource } from './provisioning-sources.ts';

const UpstreamMode = z.enum(['off', 'scim', 'admin', 'auto']);

const SourceRequest = z.strictObject({
  key: Key,
  kind: SourceKind.default('scim'),
  identityProvider: characters(1, 120).describe('The key of the provider whose people it writes.'),
  servicePrincipalId: Uuid.nullish().describe('Whose access tokens may write; needed for `scim`.'),
  upstreamMode: UpstreamMode.default('off'),
  upstreamBaseUrl: characters(0, 500).default(''),
  upstreamRealm: characters(0, 120).default(''),
  staleAfterSeconds: z.int().min(60).max(2_592_000).default(86_400),
});
export type SourceRequest = z.infer<typeof SourceRequest>;

export const Source = z.strictObject({
  id: Uuid,
  key: z.string(),
  kind: SourceKind,
  identityProviderId: Uuid,
  servicePrincipalId: Uuid.nullable(),
  upstreamMode: UpstreamMode,
  status: z.enum(['active', 'disabled']),
  staleAfterSeconds: z.int(),
  lastSyncAt: Timestamp.nullable(),
  stale: z.boolean().describe('Active, and silent for longer than `staleAfterSeconds`.'),
});
export type Source = z.infer<typeof Source>;

export const register = endpoint({
  method: 'POST',
  path: '/tenants/{tenantId}/provisioning-sources',
  summary: 'Register who writes the people of an identity provider.',
  params: tenantParam,
  body: SourceRequest,
  returns: { 201: Source },
  errors: [
    'tenant_not_found',
    'identity_provider_not_found',
    'population_managed_by_directory',
    'principal_not_found',
    'service_account_required',
    'service_principal_required',
    'provisioning_source_exists',
  ],
  emits: [provisioningSourceRegistered],
  example: {
    key: 'entra',
    identityProvider: 'entra',
    servicePrincipalId: '0190b2c4-0000-4000-8000-000000000001',
  },
  handle: ({ params, body }, context) => registerSource(context, params.tenantId, body),
});

export const list = endpoint({
  method: 'GET',
  path: '/tenants/{tenantId}/provisioning-sources',
  summary: 'List the provisioning sources of a tenant by creation, and whether they have fallen silent.',
  params: tenantParam,
  returns: { 200: z.array(Source) },
  emits: [provisioningSourceStale],
  transaction: 'command',
  handle: ({ params }, context) => listSources(context, params.tenantId),
});

export const provisioningSourcesApi = [register, list];
