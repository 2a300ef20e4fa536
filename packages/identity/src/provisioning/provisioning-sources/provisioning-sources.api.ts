import { Timestamp, Uuid } from '@baton/kernel/wire';
import { z } from 'zod';
import { characters, Key, Status, tenantParam } from '../../service/fields.ts';
import { endpoint } from '../context.ts';
import {
  provisioningSourceDisabled,
  provisioningSourceEnabled,
  provisioningSourceRegistered,
  provisioningSourceStale,
  provisioningSourceUpdated,
  SourceKind,
} from './provisioning-sources.events.ts';
import { changeSource, noteHeartbeat, switchSource } from './source-management.ts';
import { listSources, readSource, registerSource } from './provisioning-sources.ts';

const UpstreamMode = z.enum(['off', 'scim', 'admin', 'auto']);

/** What may be chosen at the registration and changed later. */
const choices = {
  upstreamMode: UpstreamMode.describe(
    'How a new user, and one who is switched on or off, is written to the directory first; `auto`: by SCIM, else by the admin API. Needs upstreamBaseUrl, upstreamRealm and credentials in the settings.',
  ),
  upstreamBaseUrl: characters(0, 500),
  upstreamRealm: characters(0, 120),
  staleAfterSeconds: z.int().min(60).max(2_592_000).describe('After this silence the source is stale.'),
};

const SourceRequest = z.strictObject({
  key: Key,
  kind: SourceKind.default('scim'),
  identityProvider: characters(1, 120).describe('The key of the provider whose people it writes.'),
  servicePrincipalId: Uuid.nullish().describe('Whose access tokens may write; needed for `scim`.'),
  upstreamMode: choices.upstreamMode.default('off'),
  upstreamBaseUrl: choices.upstreamBaseUrl.default(''),
  upstreamRealm: choices.upstreamRealm.default(''),
  staleAfterSeconds: choices.staleAfterSeconds.default(86_400),
});
export type SourceRequest = z.infer<typeof SourceRequest>;

const SourceChanges = z.strictObject(choices).partial();
export type SourceChanges = z.infer<typeof SourceChanges>;

export const Source = z.strictObject({
  id: Uuid,
  key: z.string(),
  kind: SourceKind,
  identityProviderId: Uuid,
  servicePrincipalId: Uuid.nullable(),
  upstreamMode: UpstreamMode,
  status: Status,
  staleAfterSeconds: z.int(),
  lastSyncAt: Timestamp.nullable(),
  stale: z.boolean().describe('Active, and silent for longer than `staleAfterSeconds`.'),
});
export type Source = z.infer<typeof Source>;

export const register = endpoint({
  id: 'createProvisioningSource',
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
  id: 'listProvisioningSources',
  method: 'GET',
  path: '/tenants/{tenantId}/provisioning-sources',
  summary: 'List the provisioning sources of a tenant by creation, and whether they have fallen silent.',
  params: tenantParam,
  returns: { 200: z.array(Source) },
  emits: [provisioningSourceStale],
  transaction: 'command',
  handle: ({ params }, context) => listSources(context, params.tenantId),
});

export const sourceParams = { ...tenantParam, sourceId: Uuid };

export const read = endpoint({
  id: 'getProvisioningSource',
  method: 'GET',
  path: '/tenants/{tenantId}/provisioning-sources/{sourceId}',
  summary: 'Read a provisioning source.',
  params: sourceParams,
  returns: { 200: Source },
  errors: ['provisioning_source_not_found'],
  handle: ({ params }, { db }) => readSource(db, params.tenantId, params.sourceId),
});

export const change = endpoint({
  id: 'updateProvisioningSource',
  method: 'PATCH',
  path: '/tenants/{tenantId}/provisioning-sources/{sourceId}',
  summary: 'Change when a source counts as silent, and how it writes; equal values change nothing.',
  params: sourceParams,
  body: SourceChanges,
  returns: { 200: Source },
  errors: ['provisioning_source_not_found'],
  emits: [provisioningSourceUpdated],
  example: { staleAfterSeconds: 3600 },
  handle: ({ params, body }, context) => changeSource(context, params.tenantId, params.sourceId, body),
});

export const disable = endpoint({
  id: 'disableProvisioningSource',
  method: 'POST',
  path: '/tenants/{tenantId}/provisioning-sources/{sourceId}:disable',
  summary: 'Close a source: its SCIM requests are refused at once. What it wrote stays.',
  params: sourceParams,
  returns: { 200: Source },
  errors: ['provisioning_source_not_found'],
  emits: [provisioningSourceDisabled],
  handle: ({ params }, context) => switchSource(context, params.tenantId, params.sourceId, 'disabled'),
});

export const enable = endpoint({
  id: 'enableProvisioningSource',
  method: 'POST',
  path: '/tenants/{tenantId}/provisioning-sources/{sourceId}:enable',
  summary: 'Open a source again.',
  params: sourceParams,
  returns: { 200: Source },
  errors: ['provisioning_source_not_found', 'population_managed_by_directory'],
  emits: [provisioningSourceEnabled],
  handle: ({ params }, context) => switchSource(context, params.tenantId, params.sourceId, 'active'),
});

export const heartbeat = endpoint({
  id: 'heartbeatProvisioningSource',
  method: 'POST',
  path: '/tenants/{tenantId}/provisioning-sources/{sourceId}:heartbeat',
  summary: 'Note that a directory was read, also without any change; a SCIM source is noted by its writes.',
  params: sourceParams,
  returns: { 200: Source },
  errors: ['provisioning_source_not_found', 'source_syncs_itself'],
  handle: ({ params }, context) => noteHeartbeat(context, params.tenantId, params.sourceId),
});

export const provisioningSourcesApi = [register, list, read, change, disable, enable, heartbeat];
