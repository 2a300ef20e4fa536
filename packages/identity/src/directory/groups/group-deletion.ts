import { emit } from '../../records/journal/journal.ts';
import type { Context } from '../context.ts';
import type { Acting, Ending } from '../endings/ending.ts';
import { batchMax, firstBatchMax, leaveEnding, removeEnding } from '../endings/endings.ts';
import { countMembers, deleteMembers, hasMembers } from './group-members.sql.ts';
import { groupDeleted, groupMembershipRemoved } from './groups.events.ts';
import { deleteGroupRow, tryLockGroup, updateGroupDeleted } from './groups.sql.ts';

interface DeletedGroup {
  readonly tenantId: string;
  readonly groupId: string;
  /** The key of the directory source that deletes the group; absent if the admin does. */
  readonly provisioningSource?: string;
}

/**
 * Deletes a group that the caller has locked for a change. After the commit it no longer exists. This transaction
 * removes the first 100 memberships and doesn't wait for requests that add a member. A job removes the rest,
 * including memberships that were being added, and then writes `group.deleted`.
 * @returns the number of members
 */
export async function removeGroup(context: Context, group: DeletedGroup): Promise<number> {
  const { db } = context;
  const { groupId, tenantId, provisioningSource } = group;
  const { count } = (await db.row(countMembers(groupId))) ?? { count: 0 };
  await removeBatch(context, group, firstBatchMax);
  if (await isEmptyAndFree(context, groupId)) {
    await endGroup(context, group);
    return count;
  }
  await db.run(updateGroupDeleted(groupId));
  await leaveEnding(context, { tenantId, groupId, reason: '', provisioningSource });
  return count;
}

/** Removes the next members of a deleted group. @returns the number of removed members */
export async function continueDeletion(ending: Ending): Promise<number> {
  const { group_id: groupId, tenant_id: tenantId, provisioning_source: source } = ending.row;
  if (groupId === null) return 0;
  const group = { tenantId, groupId, ...(source === null ? {} : { provisioningSource: source }) };
  const removed = await removeBatch(ending, group, batchMax);
  if (await isEmptyAndFree(ending, groupId)) {
    await removeEnding(ending.db, ending.row);
    await endGroup(ending, group);
  }
  return removed;
}

/** From here on, no request can add a member until this transaction ends. */
async function isEmptyAndFree({ db }: Acting, groupId: string): Promise<boolean> {
  if ((await db.row(tryLockGroup(groupId))) === undefined) return false;
  return (await db.row(hasMembers(groupId)))?.has_more === false;
}

async function endGroup(acting: Acting, { tenantId, ...payload }: DeletedGroup): Promise<void> {
  await acting.db.run(deleteGroupRow(payload.groupId));
  emit(acting, groupDeleted, { tenantId, aggregateId: payload.groupId }, payload);
}

async function removeBatch(
  acting: Acting,
  { tenantId, ...payload }: DeletedGroup,
  rowsMax: number,
): Promise<number> {
  const removed = await acting.db.rows(deleteMembers(payload.groupId, rowsMax));
  for (const { principal_id: principalId } of removed)
    emit(
      acting,
      groupMembershipRemoved,
      { tenantId, aggregateId: payload.groupId },
      { ...payload, principalId },
    );
  return removed.length;
}
