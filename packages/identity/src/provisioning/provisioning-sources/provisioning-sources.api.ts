import { z } from 'zod';
import { tenantParam } from '../../service/fields.ts';
import { endpoint } from '../context.ts';
import {
  NewProvisioningSource,
  ProvisioningSource,
  ProvisioningSourceChange,
  sourceParams,
} from './provisioning-source.ts';
import {
  provisioningSourceDisabled,
  provisioningSourceEnabled,
  provisioningSourceRegistered,
  provisioningSourceStale,
  provisioningSourceUpdated,
} from './provisioning-sources.events.ts';
import {
  createProvisioningSource,
  getProvisioningSource,
  heartbeatProvisioningSource,
  listProvisioningSources,
  setProvisioningSourceStatus,
  updateProvisioningSource,
} from './provisioning-sources.ts';

export const create = endpoint({
  id: 'createProvisioningSource',
  method: 'POST',
  path: '/tenants/{tenantId}/provisioning-sources',
  summary: 'Register the source that provisions the people of an identity provider.',
  params: tenantParam,
  body: NewProvisioningSource,
  returns: { 201: ProvisioningSource },
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
  handle: ({ params, body }, context) => createProvisioningSource(context, params.tenantId, body),
});

export const list = endpoint({
  id: 'listProvisioningSources',
  method: 'GET',
  path: '/tenants/{tenantId}/provisioning-sources',
  summary: 'List the provisioning sources of a tenant by creation, and whether they are stale.',
  params: tenantParam,
  returns: { 200: z.array(ProvisioningSource) },
  emits: [provisioningSourceStale],
  transaction: 'command',
  handle: ({ params }, context) => listProvisioningSources(context, params.tenantId),
});

export const get = endpoint({
  id: 'getProvisioningSource',
  method: 'GET',
  path: '/tenants/{tenantId}/provisioning-sources/{sourceId}',
  summary: 'Read a provisioning source.',
  params: sourceParams,
  returns: { 200: ProvisioningSource },
  errors: ['provisioning_source_not_found'],
  handle: ({ params }, { db }) => getProvisioningSource(db, params.tenantId, params.sourceId),
});

export const update = endpoint({
  id: 'updateProvisioningSource',
  method: 'PATCH',
  path: '/tenants/{tenantId}/provisioning-sources/{sourceId}',
  summary: 'Change the stale threshold and the upstream settings of a source; equal values change nothing.',
  params: sourceParams,
  body: ProvisioningSourceChange,
  returns: { 200: ProvisioningSource },
  errors: ['provisioning_source_not_found'],
  emits: [provisioningSourceUpdated],
  example: { staleAfterSeconds: 3600 },
  handle: ({ params, body }, context) =>
    updateProvisioningSource(context, params.tenantId, params.sourceId, body),
});

export const disable = endpoint({
  id: 'disableProvisioningSource',
  method: 'POST',
  path: '/tenants/{tenantId}/provisioning-sources/{sourceId}:disable',
  summary: 'Close a source: its SCIM requests are refused at once. The data that it wrote remains.',
  params: sourceParams,
  returns: { 200: ProvisioningSource },
  errors: ['provisioning_source_not_found'],
  emits: [provisioningSourceDisabled],
  handle: ({ params }, context) =>
    setProvisioningSourceStatus(context, params.tenantId, params.sourceId, 'disabled'),
});

export const enable = endpoint({
  id: 'enableProvisioningSource',
  method: 'POST',
  path: '/tenants/{tenantId}/provisioning-sources/{sourceId}:enable',
  summary: 'Open a source again.',
  params: sourceParams,
  returns: { 200: ProvisioningSource },
  errors: ['provisioning_source_not_found', 'population_managed_by_directory'],
  emits: [provisioningSourceEnabled],
  handle: ({ params }, context) =>
    setProvisioningSourceStatus(context, params.tenantId, params.sourceId, 'active'),
});

export const heartbeat = endpoint({
  id: 'heartbeatProvisioningSource',
  method: 'POST',
  path: '/tenants/{tenantId}/provisioning-sources/{sourceId}:heartbeat',
  summary:
    'Record that a directory was read, even without a change. SCIM sources need no heartbeat, because their writes count as one.',
  params: sourceParams,
  returns: { 200: ProvisioningSource },
  errors: ['provisioning_source_not_found', 'source_syncs_itself'],
  handle: ({ params }, context) => heartbeatProvisioningSource(context, params.tenantId, params.sourceId),
});

export const provisioningSourcesApi = [create, list, get, update, disable, enable, heartbeat];
