import type { Assignee } from '@baton/process-engine/language/forms';
import { snapshotOfAgent } from '../../../registry/agent-identity/acting-agents.ts';
import type { Addressee } from '../../../work/tasks/addressees/addressees.ts';
import { findRoleOfSlug } from '../../../work/tasks/requirements.ts';
import type { Context } from '../../context.ts';
import { findActive, findHolders } from './assignees.sql.ts';

/** The principals that the assignees of a step resolve to, once their expressions have been evaluated. */

const holdersMax = 200;
const uuidForm = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** One resolved assignee. */
type Named = { principal: string } | { role: string } | { agent: string };

function namedOf({ principal, role, agent, expr = '' }: Assignee): Named | undefined {
  if (principal !== undefined) return { principal };
  if (role !== undefined) return { role };
  if (agent !== undefined) return { agent };
  if (expr.startsWith('role:')) return { role: expr.slice('role:'.length) };
  if (expr.startsWith('agent:')) return { agent: expr.slice('agent:'.length) };
  return uuidForm.test(expr) ? { principal: expr } : undefined;
}

/** The assignee of a task. */
interface Resolved {
  readonly principalId?: string;
  /** The slug of a role. */
  readonly role?: string;
  readonly addressee: Addressee;
}

/** The first assignee in the chain that resolves to an existing principal or role; undefined if none does. */
export async function firstThatResolves(
  context: Context,
  workspaceId: string | null,
  chain: readonly Assignee[],
): Promise<Resolved | undefined> {
  for (const assignee of chain) {
    const named = namedOf(assignee);
    if (named === undefined) continue;
    if ('role' in named) {
      const roleId = await findRoleOfSlug(context, named.role, workspaceId);
      if (roleId !== undefined) return { role: named.role, addressee: { roleId } };
      continue;
    }
    const [principalId] = await peopleOf(context, workspaceId, named);
    if (principalId === undefined) continue;
    return { principalId, addressee: 'agent' in named ? { agentKey: named.agent } : { principalId } };
  }
  return undefined;
}

/**
 * The assignee of a task if its chain resolves to no principal: the chain's agent, which may be linked later; otherwise
 * none, until a person with processes.operate assigns the task. The task is not open to all, because the step specified
 * assignees.
 */
export function addresseeOfNobody(chain: readonly Assignee[]): Addressee {
  for (const assignee of chain) {
    const named = namedOf(assignee);
    if (named !== undefined && 'agent' in named) return { agentKey: named.agent };
  }
  return {};
}

/**
 * All principals that the assignees resolve to, each once and in order, and the strings that resolve to no principal.
 */
export async function findPeople(
  context: Context,
  workspaceId: string | null,
  assignees: readonly Assignee[],
): Promise<{ ids: string[]; unresolved: string[] }> {
  const ids = new Set<string>();
  const unresolved: string[] = [];
  for (const assignee of assignees) {
    const named = namedOf(assignee);
    const found = named === undefined ? [] : await peopleOf(context, workspaceId, named);
    for (const id of found) ids.add(id);
    if (found.length === 0) unresolved.push(JSON.stringify(named ?? assignee).slice(0, 200));
  }
  return { ids: [...ids], unresolved };
}

async function peopleOf(context: Context, workspaceId: string | null, named: Named): Promise<string[]> {
  const { db, tenantId } = context;
  if ('principal' in named) {
    const row = await db.row(findActive(tenantId, named.principal));
    return row === undefined ? [] : [row.id];
  }
  if ('agent' in named) {
    const agent = await snapshotOfAgent(context, named.agent);
    return agent === undefined ? [] : [agent.principalId];
  }
  const roleId = await findRoleOfSlug(context, named.role, workspaceId);
  if (roleId === undefined) return [];
  return (await db.rows(findHolders(tenantId, roleId, workspaceId, holdersMax))).map(({ id }) => id);
}
