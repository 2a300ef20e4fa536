import { z } from 'zod';
import { reply } from '@baton/kernel/http/service';
import { pageOf, QueryWord, Uuid } from '@baton/values/wire';
import { iamBindingUpdated } from '../../access/iam-bindings/iam-bindings.events.ts';
import { principalUpdated } from '../../access/principals/principals.events.ts';
import {
  capabilityAssigned,
  capabilityRevoked,
  roleAssigned,
  roleRevoked,
  skillAssigned,
  skillRevoked,
} from '../../organisation/assignments/assignments.events.ts';
import { PackageFilter } from '../../organisation/package-link.ts';
import { refuseNulls } from '../../service/changes.ts';
import { AgentRef, agentParams } from '../agent-keys.ts';
import { endpoint } from '../context.ts';
import {
  Agent,
  AgentRequest,
  AgentStateChange,
  AgentValidation,
  ListedAgent,
  ListedRevision,
  OwnAgent,
} from './agent.ts';
import { changeAgentState } from './agent-states.ts';
import { agentRevisionPublished, agentStateChanged } from './agents.events.ts';
import { getAgent, getOwnAgent, listAgentRevisions, listAgents } from './agents.ts';
import { publishAgent, validateAgent } from './publish-agent.ts';

/** The refusals for a spec, in the order of the checks. */
const specErrors = [
  'not_found',
  'agent_retired',
  'agent_identity_conflict',
  'invalid_permissions',
  'permissions_not_allowed_for_kind',
  'permission_escalation',
  'unknown_reference',
  'skill_disabled',
  'skills_invoke_not_permitted',
  'execution_skill_not_invoked',
  'secret_material_rejected',
  'payload_too_large',
  'payload_too_deep',
  'non_canonical_value',
  'visibility_escalation',
] as const;

const example = {
  key: 'reviewer',
  spec: {
    displayName: 'Reviewer',
    description: 'Reviews the changes of others.',
    identity: { kind: 'service', permissions: ['sessions.open', 'tasks.claim', 'tasks.read'] },
    work: { onlyAssigned: false },
    executor: { kind: 'script', params: { command: 'review' }, instructions: 'Read the change first.' },
    placement: { requires: ['gpu'], resources: { cpus: 2, memoryMb: 2048 }, replicas: 1, drainSeconds: 60 },
  },
};

export const agentsApi = [
  endpoint({
    id: 'publishAgent',
    method: 'POST',
    path: '/agents',
    summary: 'Publish a revision of an agent.',
    description:
      'The first revision of a key creates the agent. Returns 201 for a new revision, or 200 when the current ' +
      'one is equal apart from `state` and `placement.replicas`, which are applied in both cases. The binding ' +
      'and the roles of a linked agent are updated in the same transaction. A caller can only grant an agent ' +
      'rights that it has: roles, capabilities and skills need org.manage, connections need connections.manage. ' +
      'For an existing agent the caller also needs the permissions that the agent keeps regardless of the revision: ' +
      'the permissions of its API keys, org.manage if roles, capabilities or skills were assigned to it ' +
      'directly, and agents.secrets.manage if the revision names stored secrets. A caller that sees only its own ' +
      'workspaces cannot add permissions to a linked agent.',
    permission: 'agents.manage',
    body: AgentRequest,
    returns: { 200: Agent, 201: Agent },
    errors: specErrors,
    emits: [
      agentRevisionPublished,
      agentStateChanged,
      principalUpdated,
      iamBindingUpdated,
      roleAssigned,
      roleRevoked,
      capabilityAssigned,
      capabilityRevoked,
      skillAssigned,
      skillRevoked,
    ],
    example,
    async handle({ body }, context) {
      const { agent, isNew } = await publishAgent(context, body);
      return reply(isNew ? 201 : 200, agent);
    },
  }),
  endpoint({
    id: 'validateAgent',
    method: 'POST',
    path: '/agents:validate',
    summary: 'Preview what publishing would change, without writing anything.',
    permission: 'agents.manage',
    body: AgentRequest,
    returns: { 200: AgentValidation },
    errors: specErrors,
    // The operation writes nothing, so there is no response to replay.
    idempotency: 'ignored',
    transaction: 'none',
    example,
    handle: ({ body }, context) => validateAgent(context, body),
  }),
  endpoint({
    id: 'listAgents',
    method: 'GET',
    path: '/agents',
    summary: 'List agents, newest first.',
    permission: 'agents.read',
    query: {
      status: QueryWord.optional(),
      state: QueryWord.optional(),
      workspaceId: Uuid.optional(),
      include: z.enum(['status']).optional().describe('Adds the reported status of each agent.'),
      package: PackageFilter,
    },
    paging: true,
    returns: { 200: pageOf(ListedAgent) },
    errors: ['invalid_status', 'invalid_cursor'],
    handle: ({ query, page }, context) => listAgents(context, query, page),
  }),
  endpoint({
    id: 'getOwnAgent',
    method: 'GET',
    path: '/agents/me',
    summary: 'Read the calling agent.',
    description:
      'Its runs start with `revision.id` as their `agentRevisionId`. Requires no permission; returns 404 for a ' +
      'caller that is not an agent of the registry, whose runs have no `agentRevisionId`.',
    returns: { 200: OwnAgent },
    errors: ['not_found'],
    handle: (_, context) => getOwnAgent(context),
  }),
  endpoint({
    id: 'getAgent',
    method: 'GET',
    path: '/agents/{key}',
    summary: 'Read an agent with its current or another revision.',
    permission: 'agents.read',
    params: { key: AgentRef },
    returns: { 200: Agent },
    errors: ['not_found'],
    handle: ({ params }, context) => getAgent(context, params.key),
  }),
  endpoint({
    id: 'listAgentRevisions',
    method: 'GET',
    path: '/agents/{key}/revisions',
    summary: 'List the revisions of an agent, newest first.',
    description:
      'A page ends early once its specs reach 4 MiB; `nextCursor` continues it. `changedFields` lists the ' +
      'differences from the previous revision.',
    permission: 'agents.read',
    params: agentParams,
    paging: true,
    returns: { 200: pageOf(ListedRevision) },
    errors: ['not_found', 'invalid_cursor'],
    handle: ({ params, page }, context) => listAgentRevisions(context, params.key, page),
  }),
  endpoint({
    id: 'changeAgentState',
    method: 'PATCH',
    path: '/agents/{key}/state',
    summary: 'Set whether an agent runs, and its number of replicas.',
    description:
      'Values equal to the stored ones write nothing. An agent without a placement has no replicas.',
    permission: 'agents.manage',
    params: agentParams,
    body: AgentStateChange,
    returns: { 200: Agent },
    errors: ['invalid_field', 'empty_update', 'not_found', 'agent_retired'],
    emits: [agentStateChanged],
    example: { state: 'stopped' },
    precheck: ({ body }) => refuseNulls(body),
    handle: ({ params, body }, context) => changeAgentState(context, params.key, body),
  }),
];
