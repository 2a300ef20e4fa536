import { z } from 'zod';
import { audienceLengthMax, tenantParam } from '../../service/fields.ts';
import { endpoint } from '../context.ts';
import { Audience, AudienceChange, NewAudience } from './audience.ts';
import { audienceCreated, audienceUpdated } from './audiences.events.ts';
import { createAudience, getAudience, listAudiences, updateAudience } from './audiences.ts';

const audienceParams = { ...tenantParam, key: z.string().max(audienceLengthMax) };

const exampleScopes = ['control-plane:read', 'control-plane:write'];

export const create = endpoint({
  id: 'createAudience',
  method: 'POST',
  path: '/tenants/{tenantId}/audiences',
  summary: 'Register an audience and the scopes that it allows.',
  params: tenantParam,
  body: NewAudience,
  returns: { 201: Audience },
  errors: ['tenant_not_found', 'invalid_scope', 'signing_algorithm_unavailable', 'audience_exists'],
  emits: [audienceCreated],
  example: { key: 'control-plane', allowedScopes: exampleScopes },
  handle: ({ params, body }, context) => createAudience(context, params.tenantId, body),
});

export const list = endpoint({
  id: 'listAudiences',
  method: 'GET',
  path: '/tenants/{tenantId}/audiences',
  summary: 'List the audiences of a tenant by key.',
  params: tenantParam,
  returns: { 200: z.array(Audience) },
  errors: ['tenant_not_found'],
  handle: ({ params }, { db }) => listAudiences(db, params.tenantId),
});

export const get = endpoint({
  id: 'getAudience',
  method: 'GET',
  path: '/tenants/{tenantId}/audiences/{key}',
  summary: 'Read an audience.',
  params: audienceParams,
  returns: { 200: Audience },
  errors: ['audience_not_found'],
  handle: ({ params }, { db }) => getAudience(db, params.tenantId, params.key),
});

export const update = endpoint({
  id: 'updateAudience',
  method: 'PATCH',
  path: '/tenants/{tenantId}/audiences/{key}',
  summary:
    'Replace the allowed scopes or the signing algorithm of an audience, disable or enable it; equal values change nothing.',
  params: audienceParams,
  body: AudienceChange,
  returns: { 200: Audience },
  errors: ['audience_not_found', 'invalid_scope', 'signing_algorithm_unavailable'],
  emits: [audienceUpdated],
  example: { allowedScopes: exampleScopes },
  handle: ({ params, body }, context) => updateAudience(context, params.tenantId, params.key, body),
});

export const audiencesApi = [create, list, get, update];
