import { disableEvents } from '../../access/principals/disable-principal.ts';
import { agentParams } from '../agent-keys.ts';
import { Agent, AgentRetirement } from '../agents/agent.ts';
import { agentRetired } from '../agents/agents.events.ts';
import { agentSecretDeleted } from '../agents/secrets/agent-secrets.events.ts';
import { endpoint } from '../context.ts';
import { retireAgent } from './retire-agent.ts';

export const agentRetirementApi = [
  endpoint({
    id: 'retireAgent',
    method: 'POST',
    path: '/agents/{key}:retire',
    summary: 'Retire an agent permanently.',
    description:
      'Disables its principal, revokes its bindings, closes its sessions, releases its live claims and deletes ' +
      'its secrets. Its key is never reused. Retiring it again changes nothing.',
    permission: 'agents.manage',
    params: agentParams,
    body: AgentRetirement,
    returns: { 200: Agent },
    errors: ['not_found', 'cannot_disable_self'],
    emits: [...disableEvents, agentSecretDeleted, agentRetired],
    example: { reason: 'Replaced by another agent.' },
    handlerLocksCaller: true,
    handle: ({ params, body }, context) => retireAgent(context, params.key, body.reason),
  }),
];
