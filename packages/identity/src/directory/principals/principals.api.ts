import { z } from 'zod';
import { Uuid } from '@baton/values/wire';
import { principalParams, Reason, tenantParam } from '../../service/fields.ts';
import { endpoint } from '../context.ts';
import { browserSessionRevoked } from '../revocation/browser-sessions.events.ts';
import { credentialRevoked } from '../revocation/credentials.events.ts';
import { invitationRevoked } from '../revocation/invitations.events.ts';
import { NewPrincipal, Principal, PrincipalChange, principalPages, principalQuery } from './principal.ts';
import {
  principalCreated,
  principalDisabled,
  principalEnabled,
  principalUpdated,
} from './principals.events.ts';
import {
  createPrincipal,
  disablePrincipal,
  enablePrincipal,
  getPrincipal,
  listPrincipals,
  updatePrincipal,
} from './principals.ts';

export const create = endpoint({
  id: 'createPrincipal',
  method: 'POST',
  path: '/tenants/{tenantId}/principals',
  summary: 'Create a principal in a tenant.',
  params: tenantParam,
  body: NewPrincipal,
  returns: { 201: Principal },
  errors: ['tenant_not_found'],
  emits: [principalCreated],
  example: { kind: 'agent', displayName: 'Release agent' },
  handle: ({ params, body }, context) => createPrincipal(context, params.tenantId, body),
});

export const get = endpoint({
  id: 'getPrincipal',
  method: 'GET',
  path: '/tenants/{tenantId}/principals/{principalId}',
  summary: 'Read a principal with an active membership in the tenant.',
  params: principalParams,
  returns: { 200: Principal },
  errors: ['principal_not_found'],
  handle: ({ params }, { db }) => getPrincipal(db, params.tenantId, params.principalId),
});

export const list = endpoint({
  id: 'listPrincipals',
  method: 'GET',
  path: '/tenants/{tenantId}/principals',
  summary: 'List the principals with an active membership in the tenant, in the order in which they joined.',
  params: tenantParam,
  query: principalQuery,
  returns: { 200: principalPages.form },
  errors: ['tenant_not_found'],
  handle: ({ params, query }, { db }) => listPrincipals(db, params.tenantId, query),
});

export const update = endpoint({
  id: 'updatePrincipal',
  method: 'PATCH',
  path: '/tenants/{tenantId}/principals/{principalId}',
  summary: 'Rename a principal; the same name changes nothing.',
  params: principalParams,
  body: PrincipalChange,
  returns: { 200: Principal },
  errors: ['principal_not_found', 'principal_provisioned'],
  emits: [principalUpdated],
  example: { displayName: 'Release agent of the platform team' },
  handle: ({ params: { tenantId, principalId }, body }, context) =>
    updatePrincipal(context, tenantId, principalId, body.displayName),
});

export const enable = endpoint({
  id: 'enablePrincipal',
  method: 'POST',
  path: '/tenants/{tenantId}/principals/{principalId}:enable',
  summary: 'Enable a disabled or paused principal. Its revoked tokens stay revoked.',
  params: principalParams,
  returns: {
    200: z.strictObject({ principalId: Uuid, status: z.literal('active') }).meta({ id: 'EnabledPrincipal' }),
  },
  errors: ['principal_not_found', 'principal_provisioned'],
  emits: [principalEnabled],
  async handle({ params: { tenantId, principalId } }, context) {
    await enablePrincipal(context, tenantId, principalId);
    return { principalId, status: 'active' as const };
  },
});

export const disable = endpoint({
  id: 'disablePrincipal',
  isEmergency: true,
  method: 'POST',
  path: '/tenants/{tenantId}/principals/{principalId}:disable',
  summary: 'Disable a principal in all tenants, revoke all its tokens and end its browser sessions.',
  description:
    'Coordination refuses its access tokens, too: at once in the default run, within 2 seconds if the services run separately. Other services accept them until they expire.',
  params: principalParams,
  query: { reason: Reason.default('principal_disabled') },
  returns: {
    200: z
      .strictObject({
        principalId: Uuid,
        status: z.literal('disabled'),
        revokedCredentials: z.int().describe('The number of tokens that this call revoked.'),
      })
      .meta({ id: 'DisabledPrincipal' }),
  },
  errors: ['principal_not_found'],
  emits: [credentialRevoked, browserSessionRevoked, invitationRevoked, principalDisabled],
  async handle({ params: { tenantId, principalId }, query }, context) {
    const revokedCredentials = await disablePrincipal(context, {
      tenantId,
      principalId,
      reason: query.reason,
    });
    return { principalId, status: 'disabled' as const, revokedCredentials };
  },
});

export const principalsApi = [create, list, get, update, disable, enable];
