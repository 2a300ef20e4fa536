import type { JsonObject } from '@baton/kernel/wire';
import type { Context } from '../context.ts';
import { findHoldersAmong, findWorkersOf } from './provers.sql.ts';

/** Who may prove something about a task: what anybody else says of it doesn't count. */
export interface Provers {
  /** The one that is asked for by name. */
  readonly principalId: string | null;
  /** The role that a prover has, where the task is. */
  readonly roleId: string | null;
  readonly workspaceId: string | null;
  /** Whoever worked on the task or asked whether it is done: they prove nothing, unless named. */
  readonly barred: readonly string[];
}

/** Whoever worked on a task, and whoever asks whether it is done. */
export async function findParties(
  { db, tenantId }: Context,
  taskId: string,
  requesterId: string | null,
): Promise<string[]> {
  const workers = (await db.rows(findWorkersOf(tenantId, taskId))).map(({ id }) => id);
  return requesterId === null ? workers : [...new Set([...workers, requesterId])];
}

/**
 * Who may prove something about a task.
 * @param requesterId who asks whether it is done; null where a declaration does
 * @param asked `prover` of the check's spec: `{principalId}` or `{roleId}`
 */
export async function findProvers(
  context: Context,
  task: { id: string; workspaceId: string | null },
  requesterId: string | null,
  asked?: unknown,
): Promise<Provers> {
  const { principalId = null, roleId = null } = (asked ?? {}) as JsonObject as Record<string, string | null>;
  const barred = principalId === null ? await findParties(context, task.id, requesterId) : [];
  return { principalId, roleId, workspaceId: task.workspaceId, barred };
}

/** Those of the principals that may prove it. */
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
