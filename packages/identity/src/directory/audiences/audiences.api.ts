import { Uuid } from '@baton/kernel/wire';
import { z } from 'zod';
import { Key, NameSet, Status, tenantParam } from '../../service/fields.ts';
import { endpoint } from '../context.ts';
import { audienceCreated, audienceUpdated } from './audiences.events.ts';
import { changeAudience, createAudience, listAudiences, readAudience } from './audiences.ts';

const Audience = z.strictObject({
  id: Uuid,
  tenant_id: Uuid,
  key: z.string(),
  allowed_scopes: z.array(z.string()),
  status: Status,
});

/** Scopes are opaque; each has 1 to 120 characters, which the verb checks after the tenant. */
const AudienceRequest = z.strictObject({ key: Key, allowedScopes: NameSet.default([]) });
export type AudienceRequest = z.infer<typeof AudienceRequest>;

/** Without a status the list is required. */
const AudienceChanges = z
  .strictObject({
    allowedScopes: NameSet.optional().describe('Replaces the whole list. May be left out beside a status.'),
    status: Status.optional().describe('`disabled` closes the audience to every exchange at once.'),
  })
  .superRefine(({ allowedScopes, status }, { addIssue }) => {
    if (allowedScopes === undefined && status === undefined)
      addIssue({ code: 'invalid_type', expected: 'array', input: undefined, path: ['allowedScopes'] });
  });
export type AudienceChanges = z.infer<typeof AudienceChanges>;

const audienceParams = { ...tenantParam, key: z.string().max(120) };

const exampleScopes = ['control-plane:read', 'control-plane:write'];

export const create = endpoint({
  id: 'createAudience',
  method: 'POST',
  path: '/tenants/{tenantId}/audiences',
  summary: 'Register an audience and the scopes that it allows.',
  params: tenantParam,
  body: AudienceRequest,
  returns: { 201: Audience },
  errors: ['tenant_not_found', 'invalid_scope', 'audience_exists'],
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

export const read = endpoint({
  id: 'getAudience',
  method: 'GET',
  path: '/tenants/{tenantId}/audiences/{key}',
  summary: 'Read an audience.',
  params: audienceParams,
  returns: { 200: Audience },
  errors: ['audience_not_found'],
  handle: ({ params }, { db }) => readAudience(db, params.tenantId, params.key),
});

export const change = endpoint({
  id: 'updateAudience',
  method: 'PATCH',
  path: '/tenants/{tenantId}/audiences/{key}',
  summary:
    'Replace the scopes that an audience allows, disable or enable it; an equal list and status change nothing.',
  params: audienceParams,
  body: AudienceChanges,
  returns: { 200: Audience },
  errors: ['audience_not_found', 'invalid_scope'],
  emits: [audienceUpdated],
  example: { allowedScopes: exampleScopes },
  handle: ({ params, body }, context) => changeAudience(context, params.tenantId, params.key, body),
});

export const audiencesApi = [create, list, read, change];
