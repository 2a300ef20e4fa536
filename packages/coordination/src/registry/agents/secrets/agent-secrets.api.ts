import { reply, type Surroundings } from '@baton/kernel/http/service';
import { pageOf } from '@baton/values/wire';
import type { PathUse } from '../../../access/secret-store/paths.ts';
import { agentParams } from '../../agent-keys.ts';
import { type Context, endpoint } from '../../context.ts';
import { AgentSecret, AgentSecretRequest, SecretParam } from './agent-secret.ts';
import { agentSecretDeleted, agentSecretSet } from './agent-secrets.events.ts';
import {
  deleteSecret,
  deleteSecretAround,
  listSecrets,
  type PutSecret,
  putSecret,
  putSecretAround,
} from './agent-secrets.ts';

const params = { ...agentParams, name: SecretParam };

export const agentSecretsApi = [
  endpoint({
    id: 'setAgentSecret',
    method: 'PUT',
    path: '/agents/{key}/secrets/{name}',
    summary: "Set an agent's secret.",
    description:
      'The value goes to the secret store and is never returned. Returns 201 for a new name, otherwise 200; with ' +
      '`If-None-Match: *` an existing name is refused. An agent has at most 100 secrets.',
    permission: 'agents.secrets.manage',
    params,
    body: AgentSecretRequest,
    unprinted: ['value'],
    returns: { 200: AgentSecret, 201: AgentSecret },
    errors: [
      'invalid_secret_name',
      'not_found',
      'agent_retired',
      'agent_secret_exists',
      'payload_too_large',
      'secret_store_unavailable',
    ],
    emits: [agentSecretSet],
    example: { value: 'a-token-of-the-tracker' },
    around: ({ params: of, body }, surroundings: Surroundings<PutSecret, Context>) =>
      putSecretAround(of, body.value, surroundings),
    async handle({ params: of, prepared }, context) {
      const { secret, isNew } = await putSecret(context, of, prepared);
      return reply(isNew ? 201 : 200, secret);
    },
  }),
  endpoint({
    id: 'listAgentSecrets',
    method: 'GET',
    path: '/agents/{key}/secrets',
    summary: "List the names of an agent's secrets, never their values.",
    permission: 'agents.read',
    params: agentParams,
    paging: true,
    returns: { 200: pageOf(AgentSecret) },
    errors: ['not_found', 'invalid_cursor'],
    handle: ({ params: { key }, page }, context) => listSecrets(context, key, page),
  }),
  endpoint({
    id: 'deleteAgentSecret',
    method: 'DELETE',
    path: '/agents/{key}/secrets/{name}',
    summary: "Delete an agent's secret.",
    description:
      'An external store deletes the value immediately or, while it is unavailable, as soon as it is available ' +
      'again. A retired agent has no secrets: retiring it deletes them all.',
    permission: 'agents.secrets.manage',
    params,
    returns: { 204: null },
    errors: ['not_found', 'agent_retired', 'secret_store_unavailable'],
    emits: [agentSecretDeleted],
    around: ({ params: of }, surroundings: Surroundings<PathUse, Context>) =>
      deleteSecretAround(of, surroundings),
    handle: ({ params: of, prepared }, context) => deleteSecret(context, of, prepared),
  }),
];
