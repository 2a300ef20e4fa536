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
    summary: 'Report how an agent fares.',
    description:
      'A report that was observed before the stored one is refused: reports may come in any order. `agent.status_changed` is written where phase, reason, node or revision moved.',
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
    summary: 'Read how an agent fares, and when it was last seen.',
    permission: 'agents.read',
    params: agentParams,
    returns: { 200: AgentStatus },
    errors: ['not_found'],
    handle: ({ params }, context) => getAgentStatus(context, params.key),
  }),
];
