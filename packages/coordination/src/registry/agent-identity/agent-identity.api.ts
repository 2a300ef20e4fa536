import {
  iamBindingCreated,
  iamBindingRevoked,
  iamBindingUpdated,
} from '../../access/iam-bindings/iam-bindings.events.ts';
import { principalCreated } from '../../access/principals/principals.events.ts';
import {
  capabilityAssigned,
  roleAssigned,
  skillAssigned,
} from '../../organisation/assignments/assignments.events.ts';
import { agentParams } from '../agent-keys.ts';
import { Agent } from '../agents/agent.ts';
import { endpoint } from '../context.ts';
import { agentIdentityReplaced } from './agent-identity.events.ts';
import {
  AgentIdentity,
  AgentIdentityReplacement,
  linkAgentIdentity,
  replaceAgentIdentity,
} from './agent-identity.ts';

const identity = {
  issuer: 'https://baton.example/iam',
  iamTenantId: '0190b2c4-0000-7000-8000-000000000001',
  iamPrincipalId: '0190b2c4-0000-7000-8000-000000000002',
};

export const agentIdentityApi = [
  endpoint({
    id: 'linkAgentIdentity',
    method: 'PUT',
    path: '/agents/{key}/identity',
    summary: 'Link an identity to an agent.',
    description:
      'Turns the agent into a principal with the permissions of its spec. Linking the same identity again changes ' +
      'nothing, except that it readmits a revoked one. The caller must hold the permissions of the agent, or be ' +
      'the service that published its current revision.',
    permission: 'agents.status.write',
    params: agentParams,
    body: AgentIdentity,
    returns: { 200: Agent },
    errors: [
      'iam_issuer_untrusted',
      'not_found',
      'agent_retired',
      'permission_escalation',
      'visibility_escalation',
      'principal_not_active',
      'agent_identity_conflict',
    ],
    emits: [
      principalCreated,
      iamBindingCreated,
      iamBindingUpdated,
      roleAssigned,
      capabilityAssigned,
      skillAssigned,
    ],
    example: identity,
    handle: ({ params, body }, context) => linkAgentIdentity(context, params.key, body),
  }),
  endpoint({
    id: 'replaceAgentIdentity',
    method: 'POST',
    path: '/agents/{key}/identity:replace',
    summary: 'Replace the identity of a service agent.',
    description: 'Its principal does not change; the previous identity is no longer admitted.',
    permission: 'agents.manage',
    params: agentParams,
    body: AgentIdentityReplacement,
    returns: { 200: Agent },
    errors: [
      'not_found',
      'agent_retired',
      'agent_identity_conflict',
      'agent_identity_not_linked',
      'principal_not_active',
      'iam_issuer_untrusted',
      'permission_escalation',
      'visibility_escalation',
    ],
    emits: [iamBindingRevoked, iamBindingCreated, iamBindingUpdated, agentIdentityReplaced],
    example: { ...identity, reason: 'The account was recreated.' },
    handle: ({ params, body }, context) => replaceAgentIdentity(context, params.key, body),
  }),
];
