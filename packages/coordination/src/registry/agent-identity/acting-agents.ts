import { type CredentialSnapshot, resolveStandingSnapshot } from '../../access/authn/credential-snapshot.ts';
import { refuseEscalation } from '../../access/permission-list.ts';
import type { Caller } from '../../service/caller.ts';
import { isInSight, viewerOf } from '../../service/sight/sight.ts';
import { findAgentRow, getCurrentRevision } from '../agents/agents.ts';
import { permissionsOf } from '../agents/publish-agent.ts';
import type { Context } from '../context.ts';
import { fail } from '../errors.ts';
import { findActingAgent, findActiveAgents } from './acting-agents.sql.ts';

/** The agents that processes and work rules act as, each under its own binding. */

/** An acting agent, with the credential that it uses. */
export interface ActingAgent {
  readonly snapshot: CredentialSnapshot;
  readonly caller: Caller;
}

/**
 * Reads the identity that an agent acts under, without locks.
 * @returns undefined for an agent that is unknown, retired, or not linked to an identity
 */
export async function snapshotOfAgent(
  { db, tenantId }: Context,
  agentKey: string,
): Promise<CredentialSnapshot | undefined> {
  const row = await db.row(findActingAgent(tenantId, agentKey));
  if (row === undefined) return undefined;
  const { kind, principal_id: principalId, binding_id: credentialId, permissions } = row;
  return { principalId, kind, iamPrincipalId: row.iam_principal_id, credentialId, permissions };
}

/**
 * Builds the caller for an agent with the current rights of its binding. Locks its principal: call it for several
 * agents in the order of their principals, before any other lock.
 * @param found the result of `snapshotOfAgent`
 * @returns undefined if the agent can no longer act
 */
export async function lockActingAgent(
  context: Context,
  agentKey: string,
  found: CredentialSnapshot,
): Promise<ActingAgent | undefined> {
  const acting = await standing(context, found);
  if (acting !== undefined) return acting;
  // Another identity may have been linked before the principal was locked; the principal stays the same.
  const now = await snapshotOfAgent(context, agentKey);
  return now === undefined || now.credentialId === found.credentialId ? undefined : standing(context, now);
}

async function standing(context: Context, snapshot: CredentialSnapshot): Promise<ActingAgent | undefined> {
  const caller = await resolveStandingSnapshot(context, snapshot);
  return caller && { snapshot, caller };
}

/** Those of the given keys whose agents are visible to the caller and not retired. */
export async function findKnownAgents(
  context: Context,
  keys: readonly string[],
): Promise<ReadonlySet<string>> {
  if (keys.length === 0) return new Set();
  const { db, tenantId } = context;
  const found = await db.rows(findActiveAgents(tenantId, await viewerOf(context), keys));
  return new Set(found.map(({ key }) => key));
}

/**
 * Prevents a requester from performing actions through an agent without the permissions for them.
 * @param held the requester's rights: each set is an upper bound
 * @throws Refusal `unknown_agent` for an agent that is missing, retired, or not visible to the caller;
 * `permission_escalation` with the missing permissions
 */
export async function requireMayActAs(
  context: Context,
  agentKey: string,
  held: readonly ReadonlySet<string>[],
): Promise<void> {
  const row = await findAgentRow(context, agentKey);
  const isThere = row?.status === 'active' && (await isInSight(context, row.workspace_id));
  if (row === undefined || !isThere) return fail('unknown_agent', { field: 'identity.agent', agentKey });
  const permissions = permissionsOf((await getCurrentRevision(context, row)).spec);
  for (const names of held) refuseEscalation(names, permissions);
}
