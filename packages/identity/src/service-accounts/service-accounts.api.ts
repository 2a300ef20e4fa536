import { Uuid } from '@baton/kernel/wire';
import { z } from 'zod';
import { Name, NameSet, tenantParam } from '../fields.ts';
import { endpoint } from '../service.ts';
import {
  serviceAccountCreated,
  serviceAccountRevoked,
  serviceAccountSecretRotated,
  serviceAccountUpdated,
} from './service-accounts.events.ts';
import { changeServiceAccount, createServiceAccount, revokeServiceAccount } from './service-accounts.ts';

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

const accountParams = { ...tenantParam, clientId: z.string().max(200) };

export const create = endpoint({
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

export const change = endpoint({
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
  method: 'POST',
  path: '/tenants/{tenantId}/service-accounts/{clientId}:revoke',
  summary: 'Revoke a service account for good; repeating it changes nothing.',
  params: accountParams,
  returns: { 204: null },
  errors: ['service_account_not_found'],
  emits: [serviceAccountRevoked],
  handle: ({ params }, context) => revokeServiceAccount(context, params.tenantId, params.clientId),
});

export const serviceAccountsApi = [create, change, revoke];
