import type { Context } from '../context.ts';
import { fail } from '../errors.ts';
import type { Agent, AgentRow, AgentStateChange } from './agent.ts';
import { isPlaced } from './agent-spec.ts';
import { updateAgentState, updateAgentToRetired } from './agents.sql.ts';
import { getCurrentRevision, lockAgentRow, showAgent } from './agents.ts';
import { emitStateChange } from './publish-agent.ts';

/**
 * Sets whether an agent runs, and its number of replicas; values equal to the stored ones write nothing.
 * @throws Refusal `empty_update`, `not_found`, `agent_retired`, `invalid_request` for replicas of an agent that no
 * operator places
 */
export async function changeAgentState(
  context: Context,
  key: string,
  { state, replicas }: AgentStateChange,
): Promise<Agent> {
  const { db, tenantId } = context;
  if (state === undefined && replicas === undefined) fail('empty_update');
  const before = await lockAgentRow(context, key);
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

/** Marks the agent's row, which the caller has locked, as retired. */
export async function markRetired(
  { db, tenantId, caller }: Context,
  { id }: AgentRow,
  reason: string,
): Promise<AgentRow> {
  return (await db.row(updateAgentToRetired(tenantId, id, caller.principalId, reason))) as AgentRow;
}
