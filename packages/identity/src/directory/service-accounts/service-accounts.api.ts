import { tenantParam } from '../../service/fields.ts';
import { endpoint } from '../context.ts';
import {
  accountParams,
  ChangedServiceAccount,
  CreatedServiceAccount,
  NewServiceAccount,
  ServiceAccount,
  ServiceAccountChange,
  serviceAccountPages,
} from './service-account.ts';
import {
  serviceAccountCreated,
  serviceAccountRevoked,
  serviceAccountSecretRotated,
  serviceAccountUpdated,
} from './service-accounts.events.ts';
import {
  createServiceAccount,
  getServiceAccount,
  listServiceAccounts,
  revokeServiceAccount,
  updateServiceAccount,
} from './service-accounts.ts';

export const create = endpoint({
  id: 'createServiceAccount',
  method: 'POST',
  path: '/tenants/{tenantId}/service-accounts',
  summary: 'Create a service account; its secret is shown once.',
  params: tenantParam,
  body: NewServiceAccount,
  returns: { 201: CreatedServiceAccount },
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

export const list = endpoint({
  id: 'listServiceAccounts',
  method: 'GET',
  path: '/tenants/{tenantId}/service-accounts',
  summary: 'List the service accounts of a tenant by creation, including revoked ones.',
  params: tenantParam,
  query: serviceAccountPages.query,
  returns: { 200: serviceAccountPages.form },
  errors: ['tenant_not_found'],
  handle: ({ params, query }, { db }) => listServiceAccounts(db, params.tenantId, query),
});

export const get = endpoint({
  id: 'getServiceAccount',
  method: 'GET',
  path: '/tenants/{tenantId}/service-accounts/{clientId}',
  summary: 'Read a service account; its secret is never shown again.',
  params: accountParams,
  returns: { 200: ServiceAccount },
  errors: ['service_account_not_found'],
  handle: ({ params }, { db }) => getServiceAccount(db, params.tenantId, params.clientId),
});

export const update = endpoint({
  id: 'updateServiceAccount',
  method: 'PATCH',
  path: '/tenants/{tenantId}/service-accounts/{clientId}',
  summary: 'Change the audiences and scopes of a service account, or replace its secret.',
  description:
    'The resulting state is validated as a whole, even for an empty object, which changes nothing.',
  params: accountParams,
  body: ServiceAccountChange,
  returns: { 200: ChangedServiceAccount },
  secrets: ['clientSecret'],
  errors: [
    'service_account_not_found',
    'service_account_revoked',
    'unknown_audience',
    'invalid_scope_ceiling',
  ],
  emits: [serviceAccountUpdated, serviceAccountSecretRotated],
  example: { rotateSecret: true },
  handle: ({ params, body }, context) =>
    updateServiceAccount(context, params.tenantId, params.clientId, body),
});

export const revoke = endpoint({
  id: 'revokeServiceAccount',
  isEmergency: true,
  method: 'POST',
  path: '/tenants/{tenantId}/service-accounts/{clientId}:revoke',
  summary: 'Revoke a service account permanently. Revoking it again changes nothing.',
  params: accountParams,
  returns: { 204: null },
  errors: ['service_account_not_found'],
  emits: [serviceAccountRevoked],
  handle: ({ params }, context) => revokeServiceAccount(context, params.tenantId, params.clientId),
});

export const serviceAccountsApi = [create, list, get, update, revoke];
