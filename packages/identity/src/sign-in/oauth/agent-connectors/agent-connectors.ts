import type { Db } from '@baton/kernel/database/db';
import { getPrincipal, isMember, lockMember } from '../../../directory/principals/principals.ts';
import { revokeToken } from '../../../directory/revocation/revocation.ts';
import { audit } from '../../../records/audit.ts';
import { emit } from '../../../records/journal/journal.ts';
import type { Context } from '../../context.ts';
import { fail } from '../../errors.ts';
import { type AgentConnector, agentConnectorOf } from './agent-connector.ts';
import { agentConnectorAdded, agentConnectorRemoved } from './agent-connectors.events.ts';
import { deleteConnector, findConnectors, findGrantsAs, insertConnector } from './agent-connectors.sql.ts';

export const connectorsPerAgentMax = 100;

interface Connector {
  readonly tenantId: string;
  /** The agent. */
  readonly principalId: string;
  readonly personId: string;
}

/**
 * Lets a person connect OAuth clients as an agent; repeating the call changes nothing.
 * @throws Refusal `principal_not_found`, `agent_principal_required`, `too_many_connectors`
 */
export async function addAgentConnector(context: Context, connector: Connector): Promise<undefined> {
  const { db } = context;
  const { tenantId, principalId, personId } = connector;
  // Locked, so that the number of connectors is exact.
  const agent = (await lockMember(db, tenantId, principalId)) ?? fail('principal_not_found');
  const person = await getPrincipal(db, tenantId, personId);
  if (agent.kind !== 'agent' || person.kind !== 'human') fail('agent_principal_required');
  const present = await db.rows(findConnectors(tenantId, principalId));
  if (present.some(({ person_id }) => person_id === personId)) return;
  if (present.length >= connectorsPerAgentMax) fail('too_many_connectors');
  await db.row(insertConnector({ agentId: principalId, personId, tenantId }));
  emit(context, agentConnectorAdded, { tenantId, aggregateId: principalId }, { principalId, personId });
  record(context, connector, 'agent_connectors.add');
}

/** @throws Refusal `principal_not_found` */
export async function listAgentConnectors(
  db: Db,
  tenantId: string,
  principalId: string,
): Promise<{ items: AgentConnector[] }> {
  if (!(await isMember(db, tenantId, principalId))) fail('principal_not_found');
  return { items: (await db.rows(findConnectors(tenantId, principalId))).map(agentConnectorOf) };
}

/**
 * Ends the permission, and revokes the grants that depend on it.
 * @throws Refusal `principal_not_found`, `agent_connector_not_found`
 */
export async function removeAgentConnector(context: Context, connector: Connector): Promise<undefined> {
  const { db } = context;
  const { tenantId, principalId, personId } = connector;
  if ((await lockMember(db, tenantId, principalId)) === undefined) fail('principal_not_found');
  if ((await db.row(deleteConnector(tenantId, principalId, personId))) === undefined)
    fail('agent_connector_not_found');
  for (const { credential_id: credentialId } of await db.rows(findGrantsAs(tenantId, principalId, personId)))
    await revokeToken(context, { tenantId, credentialId, reason: 'connector_removed' });
  emit(context, agentConnectorRemoved, { tenantId, aggregateId: principalId }, { principalId, personId });
  record(context, connector, 'agent_connectors.remove');
}

function record(
  context: Context,
  { tenantId, principalId, personId }: Connector,
  action: 'agent_connectors.add' | 'agent_connectors.remove',
): void {
  audit(context, { tenantId, action, resource: ['principal', principalId], reason: `person:${personId}` });
}
