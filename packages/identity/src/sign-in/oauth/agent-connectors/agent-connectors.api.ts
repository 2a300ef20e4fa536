import { Uuid } from '@baton/values/wire';
import { credentialRevoked } from '../../../directory/revocation/credentials.events.ts';
import { principalParams } from '../../../service/fields.ts';
import { endpoint } from '../../context.ts';
import { AgentConnectorList } from './agent-connector.ts';
import { agentConnectorAdded, agentConnectorRemoved } from './agent-connectors.events.ts';
import { addAgentConnector, listAgentConnectors, removeAgentConnector } from './agent-connectors.ts';

const path = '/tenants/{tenantId}/principals/{principalId}/connectors';
const connectorPath = `${path}/{personId}` as const;

export const list = endpoint({
  id: 'listAgentConnectors',
  method: 'GET',
  path,
  summary: 'List the people who may connect OAuth clients as an agent: at most 100.',
  params: principalParams,
  returns: { 200: AgentConnectorList },
  errors: ['principal_not_found'],
  handle: ({ params }, { db }) => listAgentConnectors(db, params.tenantId, params.principalId),
});

export const add = endpoint({
  id: 'addAgentConnector',
  method: 'PUT',
  path: connectorPath,
  summary: 'Let a person connect OAuth clients as an agent. Repeating the call changes nothing.',
  params: { ...principalParams, personId: Uuid },
  returns: { 204: null },
  errors: ['principal_not_found', 'agent_principal_required', 'too_many_connectors'],
  emits: [agentConnectorAdded],
  handle: ({ params }, context) => addAgentConnector(context, params),
});

export const remove = endpoint({
  id: 'removeAgentConnector',
  isEmergency: true,
  method: 'DELETE',
  path: connectorPath,
  summary: 'Revoke the permission of a person to connect OAuth clients as an agent.',
  description: 'The clients that the person has connected as the agent are disconnected.',
  params: { ...principalParams, personId: Uuid },
  returns: { 204: null },
  errors: ['principal_not_found', 'agent_connector_not_found'],
  emits: [credentialRevoked, agentConnectorRemoved],
  handle: ({ params }, context) => removeAgentConnector(context, params),
});

export const agentConnectorsApi = [list, add, remove];
