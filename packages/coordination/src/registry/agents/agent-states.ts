import { requireActiveCaller } from '../../access/authn/principal-lock.ts';
import { retirePrincipal } from '../../access/principals/disabling.ts';
import { emit } from '../../ledger/journal/journal.ts';
import { eventText } from '../../service/documents.ts';
import type { Context } from '../context.ts';
import { fail } from '../errors.ts';
import type { Agent, AgentRow, AgentStateChange } from './agent.ts';
import { isPlaced } from './agent-spec.ts';
import { agentRetired } from './agents.events.ts';
import { lockAgent, updateAgentState, updateAgentToRetired } from './agents.sql.ts';
import { getAgentRow, getCurrentRevision, showAgent } from './agents.ts';
import { emitStateChange } from './publishing.ts';

/**
 * Says whether an agent is to run, and as how many; what stands already writes nothing.
 * @throws Refusal `not_found`, `agent_retired`, `invalid_request` for replicas of an agent that no operator places
 */
export async function changeAgentState(
  context: Context,
  key: string,
  { state, replicas }: AgentStateChange,
): Promise<Agent> {
  const { db, tenantId } = context;
  const before = (await db.row(lockAgent(tenantId, key))) ?? fail('not_found', { agent: key });
  if (before.status === 'retired') fail('agent_retired', { agent: key });
  const after = { state: state ?? before.state, replicas: replicas ?? before.replicas };
  if (after.replicas > 0 && !isPlaced((await getCurrentRevision(context, before)).spec))
    fail('invalid_request', {
      errors: [{ loc: 'body.replicas', message: 'an agent without a placement has no replicas' }],
    });
  if (after.state === before.state && after.replicas === before.replicas) return showAgent(context, before);
  const row = (await db.row(updateAgentState(tenantId, before.id, after))) as AgentRow;
  emitStateChange(context, before, row);
  return showAgent(context, row);
}

/**
 * Retires an agent for good: its principal is disabled, its bindings are revoked, its live claims released; repeated, it
 * changes nothing. The key is never given again.
 * @throws Refusal `not_found`, `cannot_disable_self`
 */
export async function retireAgent(context: Context, key: string, reason: string): Promise<Agent> {
  const { db, tenantId, caller } = context;
  const found = await getAgentRow(context, key);
  if (found.status === 'retired') return showRetired(context, found);
  if (found.principal_id === caller.principalId) fail('cannot_disable_self');
  let releasedClaims =
    found.principal_id === null ? undefined : await retirePrincipal(context, found.principal_id, reason);
  if (found.principal_id === null) await requireActiveCaller(db, caller);
  const before = (await db.row(lockAgent(tenantId, key))) as AgentRow;
  if (before.status === 'retired') return showAgent(context, before);
  const { principal_id: principalId, workspace_id: workspaceId, id, current_revision: revision } = before;
  // It was linked between the two statements.
  if (principalId !== null) releasedClaims ??= await retirePrincipal(context, principalId, reason);
  const row = (await db.row(updateAgentToRetired(tenantId, id, caller.principalId, reason))) as AgentRow;
  const said = { key, revision, principalId, reason: eventText(reason), releasedClaims: releasedClaims ?? 0 };
  emit(context, agentRetired, { entityId: id, workspaceId }, said);
  return showAgent(context, row);
}

async function showRetired(context: Context, agent: AgentRow): Promise<Agent> {
  await requireActiveCaller(context.db, context.caller);
  return showAgent(context, agent);
}
