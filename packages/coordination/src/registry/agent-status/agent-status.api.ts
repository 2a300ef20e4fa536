import { agentParams } from '../agent-keys.ts';
import { endpoint } from '../context.ts';
import { agentStatusChanged } from './agent-status.events.ts';
import { AgentStatus, AgentStatusReport } from './agent-status.ts';
import { getAgentStatus, reportAgentStatus } from './agent-statuses.ts';

export const agentStatusApi = [
  endpoint({
    id: 'reportAgentStatus',
    method: 'PUT',
    path: '/agents/{key}/status',
    summary: 'Report the status of an agent.',
    description:
      'Reports may arrive in any order; one that was observed before the stored report is refused. ' +
      '`agent.status_changed` is written when the phase, reason, node or revision has changed.',
    permission: 'agents.status.write',
    params: agentParams,
    body: AgentStatusReport,
    returns: { 200: AgentStatus },
    errors: ['not_found', 'stale_status_report'],
    emits: [agentStatusChanged],
    example: {
      phase: 'running',
      observedRevision: 3,
      node: 'node-1',
      instances: { desired: 1, ready: 1 },
      observedAt: '2026-04-02T16:00:00Z',
    },
    handle: ({ params, body }, context) => reportAgentStatus(context, params.key, body),
  }),
  endpoint({
    id: 'getAgentStatus',
    method: 'GET',
    path: '/agents/{key}/status',
    summary: 'Read the status of an agent, and the time of its last sign of life.',
    permission: 'agents.read',
    params: agentParams,
    returns: { 200: AgentStatus },
    errors: ['not_found'],
    handle: ({ params }, context) => getAgentStatus(context, params.key),
  }),
];
