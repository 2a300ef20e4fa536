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
    summary: 'Give an agent a secret, or a new value of it.',
    description:
      'The value goes to the store of secrets and is never answered. 201 for a new name, else 200; with `If-None-Match: *` a name that is there is refused. An agent has 100 secrets at most.',
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
    summary: 'List the names of the secrets of an agent, never their values.',
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
    summary: 'Delete a secret of an agent.',
    description:
      'An outside store loses the value at once or, while it is away, as soon as it is back. A retired agent has none: retiring it deletes all.',
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
