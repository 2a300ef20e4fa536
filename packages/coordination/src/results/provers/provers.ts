import type { JsonObject } from '@baton/values/wire';
import type { Context } from '../context.ts';
import { findHoldersAmong, findRequestersOf, findWorkersOf } from './provers.sql.ts';

/** The principals whose evidence counts for a task. */
export interface Provers {
  /** The principal that the check specifies. */
  readonly principalId: string | null;
  /** The role that a prover must hold in the workspace of the task. */
  readonly roleId: string | null;
  readonly workspaceId: string | null;
  /**
   * Holders of the task's claims and the requester of its completion: their evidence doesn't count, unless the check
   * specifies them.
   */
  readonly barred: readonly string[];
}

/**
 * The principals that worked on a task, and the requesters of its completion.
 * @param requesterIds null for a declaration
 */
export async function findParties(
  { db, tenantId }: Context,
  taskId: string,
  requesterIds: readonly (string | null)[],
): Promise<string[]> {
  const workers = (await db.rows(findWorkersOf(tenantId, taskId))).map(({ id }) => id);
  return [...new Set([...workers, ...requesterIds.filter((id) => id !== null)])];
}

/** The principals that worked on the task of an approval, and its requesters, including those of earlier requests. */
export async function findPartiesOfApproval(
  context: Context,
  { id, taskId }: { id: string; taskId: string },
): Promise<string[]> {
  const requesters = await context.db.rows(findRequestersOf(context.tenantId, id));
  const requesterIds = requesters.map((row) => row.id);
  return findParties(context, taskId, requesterIds);
}

/**
 * The principals that may provide evidence about a task.
 * @param requesterId the requester of the completion; null for a declaration
 * @param spec the `prover` of the check's spec: `{principalId}` or `{roleId}`
 */
export async function findProvers(
  context: Context,
  task: { id: string; workspaceId: string | null },
  requesterId: string | null,
  spec?: unknown,
): Promise<Provers> {
  const { principalId = null, roleId = null } = (spec ?? {}) as JsonObject as Record<string, string | null>;
  const barred = principalId === null ? await findParties(context, task.id, [requesterId]) : [];
  return { principalId, roleId, workspaceId: task.workspaceId, barred };
}

/** Returns those of the given principals whose evidence counts. */
export async function proversAmong(
  { db, tenantId }: Context,
  { principalId, roleId, workspaceId, barred }: Provers,
  ids: readonly string[],
): Promise<ReadonlySet<string>> {
  if (principalId !== null) return new Set(ids.filter((id) => id === principalId));
  const free = ids.filter((id) => !barred.includes(id));
  if (roleId === null || free.length === 0) return new Set(free);
  return new Set((await db.rows(findHoldersAmong(tenantId, roleId, workspaceId, free))).map(({ id }) => id));
}
