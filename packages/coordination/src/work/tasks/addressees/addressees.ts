import { holds } from '../../../service/permissions.ts';
import type { Context } from '../../context.ts';
import { fail } from '../../errors.ts';
import { type AddresseeRow, findAddressedToOthers, upsertAddressee } from './addressees.sql.ts';

/**
 * Whom a task of a process step is for. Only they claim it, change what the step reads of it, and complete it; a person with
 * processes.operate may do so in their place. An agent is whichever principal is linked to it at that moment.
 */
export type Addressee =
  | { readonly principalId: string }
  | { readonly agentKey: string }
  | { readonly roleId: string }
  /** Nobody: the step names somebody who does not exist. */
  | Record<string, never>;

/** The part of a task's row that says whether anybody is excluded. */
export interface AddressedTask {
  readonly id: string;
  readonly is_addressed: boolean;
}

/** Reserves a task for its addressee, instead of an earlier one. The caller has locked the task, or has just created it. */
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
 * Excludes everybody but the addressee from a task; a task without one is open to all.
 * @throws Refusal `not_eligible` {taskId, addressee}
 */
export async function requireAddressee(context: Context, task: AddressedTask): Promise<void> {
  const addressee = await findForeignAddressee(context, task);
  if (addressee !== undefined) fail('not_eligible', { taskId: task.id, addressee });
}

/**
 * The addressee of a task that the caller may not work on, as refusals name it.
 * @returns undefined for a task that the caller may work on; null where the task is for nobody
 */
export async function findForeignAddressee(
  context: Context,
  task: AddressedTask,
): Promise<object | null | undefined> {
  if (!task.is_addressed) return undefined;
  return (await findForeignAddressees(context, [task.id])).get(task.id);
}

/** The same for several tasks: only those that the caller may not work on are in the map. */
export async function findForeignAddressees(
  context: Context,
  taskIds: readonly string[],
): Promise<ReadonlyMap<string, object | null>> {
  const { db, tenantId, caller } = context;
  if (taskIds.length === 0) return new Map();
  const rows = await db.rows(findAddressedToOthers(tenantId, taskIds, caller.principalId));
  // A decision point is asked about this right only where it makes a difference.
  if (rows.length === 0 || mayOperate(context)) return new Map();
  return new Map(rows.map((row) => [row.task_id, namedOf(row)]));
}

/** Whether the caller may stand in for the addressee: an agent never does, whatever its rights. */
function mayOperate({ caller }: Context): boolean {
  return caller.kind === 'human' && holds(caller.permissions, 'processes.operate');
}

function namedOf(row: AddresseeRow): object | null {
  const { principal_id: principalId, agent_key: agentKey, role_id: roleId } = row;
  if (principalId !== null) return { principalId };
  if (agentKey !== null) return { agentKey };
  return roleId === null ? null : { roleId };
}
