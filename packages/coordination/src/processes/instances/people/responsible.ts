import type { Responsible } from '@baton/process-engine/engine/inputs';
import type { Assignee } from '@baton/process-engine/language/forms';
import { findLiveClaim } from '../../../leases/gate.ts';
import { findTaskUnseen } from '../../../work/tasks/tasks.ts';
import type { Context } from '../../context.ts';
import { findPeople } from './assignees.ts';

/** The people responsible for late work (docs/reference/processes.md#addressees). */

/** The people of the first assignee that resolves to at least one person; if none does, the unresolved strings. */
async function findOwners(context: Context, workspaceId: string | null, chain: readonly Assignee[]) {
  const unresolved: string[] = [];
  for (const assignee of chain) {
    const found = await findPeople(context, workspaceId, [assignee]);
    if (found.ids.length > 0) return { ids: found.ids, unresolved: [] };
    unresolved.push(...found.unresolved);
  }
  return { ids: [], unresolved };
}

/** The person responsible for a task: its holder, otherwise its assignee. */
async function findHolder(context: Context, taskId: string | null): Promise<string | null> {
  if (taskId === null) return null;
  const claim = await findLiveClaim(context, taskId);
  if (claim !== undefined) return claim.holder_id;
  return (await findTaskUnseen(context, { id: taskId, number: null }))?.assigneeId ?? null;
}

/** The ids for an event; if the owner is a role, the id of the first principal that holds it. */
export async function namesOf(
  context: Context,
  workspaceId: string | null,
  { owner, taskId }: Responsible,
): Promise<{ owner: string | null; assignee: string | null }> {
  const { ids } = await findOwners(context, workspaceId, owner);
  return { owner: ids[0] ?? null, assignee: await findHolder(context, taskId) };
}

/**
 * The default recipients of a reminder: the people who hold the task or whose votes are missing, otherwise the owner of
 * the process.
 */
export async function findReminded(
  context: Context,
  workspaceId: string | null,
  taskId: string | null,
  { voters, owner }: { readonly voters: readonly string[]; readonly owner: readonly Assignee[] },
): Promise<{ ids: string[]; unresolved: string[] }> {
  const holder = await findHolder(context, taskId);
  const ids = holder === null ? [...voters] : [holder];
  return ids.length > 0 ? { ids, unresolved: [] } : findOwners(context, workspaceId, owner);
}
