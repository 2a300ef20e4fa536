import { Uuid } from '@baton/values/wire';
import { endpoint } from '../context.ts';
import { ApiKey, ApiKeyRequest, IssuedApiKey } from './api-key.ts';
import { apiKeyCreated, apiKeyRevoked } from './api-keys.events.ts';
import { createApiKey, revokeApiKey } from './api-keys.ts';

const params = { id: Uuid };

export const apiKeysApi = [
  endpoint({
    id: 'createApiKey',
    method: 'POST',
    path: '/principals/{id}/api-keys',
    summary: 'Create an API key for a principal.',
    description:
      'The key is shown in this response only; a repeated response has null. Keys are accepted while CP_LEGACY_API_KEYS_ENABLED is set.',
    permission: 'principals.write',
    params,
    body: ApiKeyRequest,
    returns: { 201: IssuedApiKey },
    errors: [
      'invalid_permissions',
      'permission_escalation',
      'visibility_escalation',
      'not_found',
      'permissions_not_allowed_for_kind',
      'principal_not_active',
    ],
    emits: [apiKeyCreated],
    secrets: ['key'],
    example: { permissions: ['tasks.read', 'tasks.claim'], expiresAt: '2026-12-31T00:00:00Z' },
    handle: (input, context) => createApiKey(context, input.params.id, input.body),
  }),
  endpoint({
    id: 'revokeApiKey',
    method: 'POST',
    path: '/api-keys/{id}:revoke',
    summary: 'Revoke a key.',
    description: 'Revoking a revoked key changes nothing.',
    permission: 'principals.write',
    params,
    returns: { 200: ApiKey },
    errors: ['not_found'],
    emits: [apiKeyRevoked],
    handle: (input, context) => revokeApiKey(context, input.params.id),
  }),
];
