import { newId } from '@baton/values/ids';
import { emit } from '../../ledger/journal/journal.ts';
import { isInSight } from '../../service/sight/sight.ts';
import type { Context } from '../context.ts';
import { principalCreated, principalUpdated } from './principals.events.ts';
import { findAgentKeys, findAgentOfKey, insertPrincipal, updateDisplayName } from './principals.sql.ts';

/** Principals of agents of the registry, which makes, names and ends them. */

/** Makes the principal that an agent acts as. @returns its id */
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

/** Gives the principal of an agent another name; the one that it has changes nothing. */
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

/** As which principal an agent acts: null before an identity is linked to it, and once it is retired for nothing new. */
export interface AgentPrincipal {
  readonly principalId: string | null;
  readonly isRetired: boolean;
}

/** The agent of this key that the caller sees. */
export async function findAgentPrincipal(context: Context, key: string): Promise<AgentPrincipal | undefined> {
  const agent = await context.db.row(findAgentOfKey(context.tenantId, key));
  if (agent === undefined || !(await isInSight(context, agent.workspace_id))) return undefined;
  return { principalId: agent.principal_id, isRetired: agent.status === 'retired' };
}

/** The keys of the agents that some of these principals are, by the ids of the principals; also of retired ones. */
export async function findAgentsOfPrincipals(
  { db, tenantId }: Context,
  principalIds: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  if (principalIds.length === 0) return new Map();
  const found = await db.rows(findAgentKeys(tenantId, principalIds));
  return new Map(found.map(({ id, key }) => [id, key]));
}
