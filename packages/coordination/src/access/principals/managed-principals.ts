import { newId } from '@baton/values/ids';
import { emit } from '../../ledger/journal/journal.ts';
import { isInSight } from '../../service/sight/sight.ts';
import type { Context } from '../context.ts';
import { principalCreated, principalUpdated } from './principals.events.ts';
import { findAgentKeys, findAgentOfKey, insertPrincipal, updateDisplayName } from './principals.sql.ts';

/** Principals of registry agents; the registry creates, renames and retires them. */

/** Creates an agent's principal. @returns its id */
export async function createAgentPrincipal(
  context: Context,
  { agentId, kind, displayName }: { agentId: string; kind: 'agent' | 'service'; displayName: string },
): Promise<string> {
  const { db, tenantId } = context;
  const id = newId();
  await db.row(insertPrincipal({ id, tenantId, kind, displayName, status: 'active', metadata: {}, agentId }));
  emit(context, principalCreated, { entityId: id }, { kind, displayName });
  return id;
}

/** Renames an agent's principal; the same name changes nothing. */
export async function renamePrincipal(
  context: Context,
  principalId: string,
  displayName: string,
): Promise<void> {
  const row = await context.db.row(updateDisplayName(context.tenantId, principalId, displayName));
  if (row === undefined) return;
  const payload = { principalId, version: row.version, changes: ['displayName'] };
  emit(context, principalUpdated, { entityId: principalId }, payload);
}

/** The principal of an agent: null before an identity is linked to the agent, and after its retirement. */
export interface AgentPrincipal {
  readonly principalId: string | null;
  readonly isRetired: boolean;
}

/** Finds the agent with this key, if the caller sees it. */
export async function findAgentPrincipal(context: Context, key: string): Promise<AgentPrincipal | undefined> {
  const agent = await context.db.row(findAgentOfKey(context.tenantId, key));
  if (agent === undefined || !(await isInSight(context, agent.workspace_id))) return undefined;
  return { principalId: agent.principal_id, isRetired: agent.status === 'retired' };
}

/** The keys of agents, including retired ones, by the ids of their principals. */
export async function findAgentsOfPrincipals(
  { db, tenantId }: Context,
  principalIds: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  if (principalIds.length === 0) return new Map();
  const found = await db.rows(findAgentKeys(tenantId, principalIds));
  return new Map(found.map(({ id, key }) => [id, key]));
}
