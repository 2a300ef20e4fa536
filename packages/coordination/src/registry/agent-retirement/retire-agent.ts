import { eventText } from '@baton/values/event-text';
import { requireActiveCaller } from '../../access/authn/principal-lock.ts';
import { retirePrincipal } from '../../access/principals/disable-principal.ts';
import { emit } from '../../ledger/journal/journal.ts';
import type { Agent, AgentRow } from '../agents/agent.ts';
import { markRetired } from '../agents/agent-states.ts';
import { agentRetired } from '../agents/agents.events.ts';
import { getAgentRow, lockAgentRow, showAgent } from '../agents/agents.ts';
import { deleteAllSecrets } from '../agents/secrets/agent-secrets.ts';
import type { Context } from '../context.ts';
import { fail } from '../errors.ts';

/**
 * Retires an agent permanently: disables its principal, revokes its bindings, releases its live claims and deletes its
 * secrets. Repeating the request changes nothing. The key is never reused. See
 * docs/reference/agents.md#state-and-retirement.
 * @throws Refusal `not_found`, `cannot_disable_self`
 */
export async function retireAgent(context: Context, key: string, reason: string): Promise<Agent> {
  const { db, caller } = context;
  const found = await getAgentRow(context, key);
  if (found.status === 'retired') return showRetired(context, found);
  if (found.principal_id === caller.principalId) fail('cannot_disable_self');
  let releasedClaims =
    found.principal_id === null ? undefined : await retirePrincipal(context, found.principal_id, reason);
  if (found.principal_id === null) await requireActiveCaller(db, caller);
  const before = await lockAgentRow(context, key);
  if (before.status === 'retired') return showAgent(context, before);
  const { principal_id: principalId, workspace_id: workspaceId, id, current_revision: revision } = before;
  // An identity was linked between the two statements.
  if (principalId !== null) releasedClaims ??= await retirePrincipal(context, principalId, reason);
  const row = await markRetired(context, before, reason);
  await deleteAllSecrets(context, before);
  const said = { key, revision, principalId, reason: eventText(reason), releasedClaims: releasedClaims ?? 0 };
  emit(context, agentRetired, { entityId: id, workspaceId }, said);
  return showAgent(context, row);
}

async function showRetired(context: Context, agent: AgentRow): Promise<Agent> {
  await requireActiveCaller(context.db, context.caller);
  return showAgent(context, agent);
}
