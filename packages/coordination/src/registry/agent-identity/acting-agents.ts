import { type CredentialSnapshot, callerOfStandingSnapshot } from '../../access/authn/acting.ts';
import { refuseEscalation } from '../../access/granting.ts';
import type { Caller } from '../../service/caller.ts';
import { isInSight, viewerOf } from '../../service/sight/sight.ts';
import { findAgentRow, getCurrentRevision } from '../agents/agents.ts';
import { permissionsOf } from '../agents/publishing.ts';
import type { Context } from '../context.ts';
import { fail } from '../errors.ts';
import { findActingAgent, findActiveAgents } from './acting-agents.sql.ts';

/** Agents that something acts as by itself, such as a process or a work rule: each under its own binding. */

/** An agent that acts, with the credential that it does so by. */
export interface ActingAgent {
  readonly snapshot: CredentialSnapshot;
  readonly caller: Caller;
}

/**
 * As what an agent acts, as far as its records say; nothing is locked.
 * @returns undefined for one that is unknown, retired, or not linked to an identity
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
 * The caller that an agent is, with what its binding gives now. Locks its principal: call it for several in the order of
 * their principals, before anything else is locked.
 * @param found what `snapshotOfAgent` has found
 * @returns undefined where the agent can not act any more
 */
export async function lockActingAgent(
  context: Context,
  agentKey: string,
  found: CredentialSnapshot,
): Promise<ActingAgent | undefined> {
  const acting = await standing(context, found);
  if (acting !== undefined) return acting;
  // Another identity may have been linked to it before its principal was locked, which stays the same.
  const now = await snapshotOfAgent(context, agentKey);
  return now === undefined || now.credentialId === found.credentialId ? undefined : standing(context, now);
}

async function standing(context: Context, snapshot: CredentialSnapshot): Promise<ActingAgent | undefined> {
  const caller = await callerOfStandingSnapshot(context, snapshot);
  return caller && { snapshot, caller };
}

/** Of these keys those of agents that the caller sees and that are not retired. */
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
 * Nobody has an agent do what they may not do themselves.
 * @param held what whoever asks may do: each set at most
 * @throws Refusal `unknown_agent` for one that is not there, retired, or out of the caller's sight; `permission_escalation`
 * that names what is missing
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
