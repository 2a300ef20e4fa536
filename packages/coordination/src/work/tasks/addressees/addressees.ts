import { holds } from '../../../service/permissions.ts';
import type { Context } from '../../context.ts';
import { fail } from '../../errors.ts';
import { type AddresseeRow, findAddressedToOthers, upsertAddressee } from './addressees.sql.ts';

/**
 * The addressee of a process step's task. Only the addressee can claim the task, change what the step reads, and
 * complete it; a person with processes.operate may act instead. If the addressee is an agent, it is the principal
 * currently linked to the agent.
 */
export type Addressee =
  | { readonly principalId: string }
  | { readonly agentKey: string }
  | { readonly roleId: string }
  /** Nobody can act if the step names a principal that doesn't exist. */
  | Record<string, never>;

/** The columns of a task that are needed to find out whether it has an addressee. */
export interface AddressedTask {
  readonly id: string;
  readonly is_addressed: boolean;
}

/** Reserves a task for its addressee and replaces an earlier one. The caller has locked or just created the task. */
export async function addressTask(
  { db, tenantId }: Context,
  taskId: string,
  addressee: Addressee,
): Promise<void> {
  const { principalId, agentKey, roleId }: Partial<Record<string, string>> = addressee;
  const row: AddresseeRow = {
    principal_id: principalId ?? null,
    agent_key: agentKey ?? null,
    role_id: roleId ?? null,
  };
  await db.run(upsertAddressee(tenantId, taskId, row));
}

/**
 * Refuses every caller except the addressee; a task without an addressee is open to all.
 * @throws Refusal `not_eligible` {taskId, addressee}
 */
export async function requireAddressee(context: Context, task: AddressedTask): Promise<void> {
  const addressee = await findForeignAddressee(context, task);
  if (addressee !== undefined) fail('not_eligible', { taskId: task.id, addressee });
}

/**
 * The addressee of a task that the caller may not work on, as given in refusals.
 * @returns undefined for a task that the caller may work on; null if the addressee doesn't exist
 */
export async function findForeignAddressee(
  context: Context,
  task: AddressedTask,
): Promise<object | null | undefined> {
  if (!task.is_addressed) return undefined;
  return (await findForeignAddressees(context, [task.id])).get(task.id);
}

/** The same for several tasks: the map contains only those that the caller may not work on. */
export async function findForeignAddressees(
  context: Context,
  taskIds: readonly string[],
): Promise<ReadonlyMap<string, object | null>> {
  const { db, tenantId, caller } = context;
  if (taskIds.length === 0) return new Map();
  const rows = await db.rows(findAddressedToOthers(tenantId, taskIds, caller.principalId));
  // Checked last, so that the decision point is queried for this right only if it matters.
  if (rows.length === 0 || mayOperate(context)) return new Map();
  return new Map(rows.map((row) => [row.task_id, namedOf(row)]));
}

/** Whether the caller may act in place of the addressee. Agents never may, whatever their permissions. */
function mayOperate({ caller }: Context): boolean {
  return caller.kind === 'human' && holds(caller.permissions, 'processes.operate');
}

function namedOf(row: AddresseeRow): object | null {
  const { principal_id: principalId, agent_key: agentKey, role_id: roleId } = row;
  if (principalId !== null) return { principalId };
  if (agentKey !== null) return { agentKey };
  return roleId === null ? null : { roleId };
}
