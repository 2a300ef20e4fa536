import { randomUUID } from 'node:crypto';
import type { Db } from '@baton/kernel/db';
import { audit } from '../../records/audit.ts';
import { changeReason, changesOf } from '../../service/changes.ts';
import type { Context } from '../context.ts';
import { emit } from '../../records/journal/journal.ts';
import type { CreatedPage } from '../../service/paging.ts';
import { fail } from '../errors.ts';
import { tenantExists } from '../tenants/tenants.ts';
import { endMembers } from './group-members.ts';
import type { GroupChanges, GroupRequest } from './groups.api.ts';
import { groupCreated, groupDeleted, groupUpdated } from './groups.events.ts';
import {
  deleteGroup,
  findGroup,
  findGroups,
  type FullGroupRow,
  type GroupFilter,
  type GroupRow,
  insertGroup,
  lockGroup,
  updateGroup,
} from './groups.sql.ts';

/** @throws Refusal `tenant_not_found`, `group_exists` */
export async function createGroup(
  context: Context,
  tenantId: string,
  { key, name }: GroupRequest,
): Promise<GroupRow> {
  if (!(await tenantExists(context.db, tenantId))) fail('tenant_not_found');
  const group =
    (await context.db.row(insertGroup({ id: randomUUID(), tenantId, key, name }))) ?? fail('group_exists');
  emit(context, groupCreated, { tenantId, aggregateId: group.id }, { groupId: group.id, key });
  audit(context, { tenantId, action: 'groups.create', resource: ['group', group.id] });
  return group;
}

/**
 * @returns the rows of a page and, where more exist, one more
 * @throws Refusal `tenant_not_found`
 */
export async function listGroups(
  db: Db,
  tenantId: string,
  filter: GroupFilter,
  page: CreatedPage,
): Promise<FullGroupRow[]> {
  if (!(await tenantExists(db, tenantId))) fail('tenant_not_found');
  return db.rows(findGroups(tenantId, filter, page));
}

/** @throws Refusal `group_not_found` */
export async function readGroup(db: Db, tenantId: string, groupId: string): Promise<FullGroupRow> {
  return (await db.row(findGroup(tenantId, groupId))) ?? fail('group_not_found');
}

/**
 * Renames, closes or opens a group that is kept here. A closed one entitles nobody to a privileged scope any more; its
 * members stay (contract, section 9.6).
 * @throws Refusal `group_not_found`, `group_is_federated`
 */
export async function changeGroup(
  context: Context,
  tenantId: string,
  groupId: string,
  changes: GroupChanges,
): Promise<FullGroupRow> {
  const group = await lockLocalGroup(context.db, tenantId, groupId);
  const changed = changesOf<FullGroupRow>(group, changes);
  if (Object.keys(changed).length === 0) return group;
  const next = { ...group, ...changed };
  await context.db.run(updateGroup(next));
  const told = { groupId, key: group.key, status: changed.status };
  emit(context, groupUpdated, { tenantId, aggregateId: groupId }, told);
  const resource = ['group', groupId] as const;
  audit(context, { tenantId, action: 'groups.update', resource, reason: changeReason(changed) });
  return next;
}

/**
 * Deletes a group that is kept here, and ends its memberships first.
 * @throws Refusal `group_not_found`, `group_is_federated`
 */
export async function endGroup(context: Context, tenantId: string, groupId: string): Promise<undefined> {
  const { key } = await lockLocalGroup(context.db, tenantId, groupId);
  const removed = await endMembers(context, tenantId, groupId);
  await context.db.run(deleteGroup(groupId));
  emit(context, groupDeleted, { tenantId, aggregateId: groupId }, { groupId });
  const reason = `group:${key} members:${removed}`;
  audit(context, { tenantId, action: 'groups.delete', resource: ['group', groupId], reason });
}

async function lockLocalGroup(db: Db, tenantId: string, groupId: string): Promise<FullGroupRow> {
  const group = (await db.row(lockGroup(tenantId, groupId))) ?? fail('group_not_found');
  return group.source === 'local' ? group : fail('group_is_federated');
}
