import { Refusal } from '@baton/kernel/refusal';
import { refuseEscalation } from '../../access/granting.ts';
import { getAgentRow, getCurrentRevision } from '../../registry/agents/agents.ts';
import { permissionsOf } from '../../registry/agents/publishing.ts';
import { isInSight } from '../../service/sight/sight.ts';
import type { Context } from '../context.ts';
import { fail } from '../errors.ts';
import type { ProcessSpec } from '../process-language/definition.ts';
import { findActiveAgents } from './references.sql.ts';

/** Of these keys those of agents of the tenant that are not retired. */
export async function findAgents(
  { db, tenantId }: Context,
  keys: readonly string[],
): Promise<ReadonlySet<string>> {
  return new Set((await db.rows(findActiveAgents(tenantId, keys))).map(({ key }) => key));
}

/**
 * Nobody makes an agent do what they may not do themselves.
 * @throws Refusal `unknown_agent`, `permission_escalation` that names what is missing
 */
export async function requireAgent(context: Context, { identity }: ProcessSpec): Promise<void> {
  const agentKey = identity?.agent as string;
  const row = await knownAgent(context, agentKey);
  if (row === undefined || row.status === 'retired')
    return fail('unknown_agent', { field: 'identity.agent', agentKey });
  const { spec } = await getCurrentRevision(context, row);
  refuseEscalation(context.caller.permissions, permissionsOf(spec));
}

/** One that the caller sees. */
async function knownAgent(context: Context, key: string) {
  try {
    const row = await getAgentRow(context, key);
    return (await isInSight(context, row.workspace_id)) ? row : undefined;
  } catch (error) {
    if (error instanceof Refusal && error.code === 'not_found') return undefined;
    throw error;
  }
}
