import type { Assignee } from '@baton/process-engine/language/forms';
import { snapshotOfAgent } from '../../../registry/agent-identity/acting-agents.ts';
import type { Addressee } from '../../../work/tasks/addressees/addressees.ts';
import { findRoleOfSlug } from '../../../work/tasks/requirements.ts';
import type { Context } from '../../context.ts';
import { findActive, findHolders } from './assignees.sql.ts';

/** Whom the assignees of a step stand for, once their expressions were evaluated. */

const holdersMax = 200;
const uuidForm = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** One assignee in its plain form. */
type Named = { principal: string } | { role: string } | { agent: string };

function namedOf({ principal, role, agent, expr = '' }: Assignee): Named | undefined {
  if (principal !== undefined) return { principal };
  if (role !== undefined) return { role };
  if (agent !== undefined) return { agent };
  if (expr.startsWith('role:')) return { role: expr.slice('role:'.length) };
  if (expr.startsWith('agent:')) return { agent: expr.slice('agent:'.length) };
  return uuidForm.test(expr) ? { principal: expr } : undefined;
}

/** For whom the work of a task is. */
interface Resolved {
  readonly principalId?: string;
  /** The slug of a role. */
  readonly role?: string;
  readonly addressee: Addressee;
}

/** For whom the work of a task is: the first of the chain that stands for somebody who is there; undefined for none. */
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
 * For whom the task of a chain is that stands for nobody now: its agent, once that is linked; else nobody, and a person with
 * processes.operate sees to it. It is not open to all: the step named somebody.
 */
export function addresseeOfNobody(chain: readonly Assignee[]): Addressee {
  for (const assignee of chain) {
    const named = namedOf(assignee);
    if (named !== undefined && 'agent' in named) return { agentKey: named.agent };
  }
  return {};
}

/** All that the assignees stand for, each once, in their order; and those that stand for nobody, as texts. */
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
