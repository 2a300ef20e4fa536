import { randomUUID } from 'node:crypto';
import type { Db } from '@baton/kernel/database/db';
import { audit } from '../../records/audit.ts';
import { emit } from '../../records/journal/journal.ts';
import { changeReason, changesOf } from '../../service/changes.ts';
import type { Context } from '../context.ts';
import { fail } from '../errors.ts';
import { tenantExists } from '../tenants/tenants.ts';
import {
  type CreatedGroup,
  type GroupChange,
  type GroupQuery,
  type GroupRow,
  groupOf,
  groupPages,
  type NewGroup,
} from './group.ts';
import { removeGroup } from './group-deletion.ts';
import { groupCreated, groupUpdated } from './groups.events.ts';
import { findGroup, findGroups, insertGroup, lockGroupForChange, updateGroupRow } from './groups.sql.ts';

/** @throws Refusal `tenant_not_found`, `group_exists` */
export async function createGroup(
  context: Context,
  tenantId: string,
  { key, name }: NewGroup,
): Promise<CreatedGroup> {
  if (!(await tenantExists(context.db, tenantId))) fail('tenant_not_found');
  const group =
    (await context.db.row(insertGroup({ id: randomUUID(), tenantId, key, name }))) ?? fail('group_exists');
  emit(context, groupCreated, { tenantId, aggregateId: group.id }, { groupId: group.id, key });
  audit(context, { tenantId, action: 'groups.create', resource: ['group', group.id] });
  return group;
}

/** @throws Refusal `tenant_not_found` */
export async function listGroups(db: Db, tenantId: string, query: GroupQuery) {
  if (!(await tenantExists(db, tenantId))) fail('tenant_not_found');
  return groupPages.read(query, (page) => db.rows(findGroups(tenantId, query, page)), groupOf);
}

/** @throws Refusal `group_not_found` */
export async function getGroup(db: Db, tenantId: string, groupId: string): Promise<GroupRow> {
  return (await db.row(findGroup(tenantId, groupId))) ?? fail('group_not_found');
}

/**
 * Renames, disables or enables a local group. A disabled group grants no privileged scope; its members stay
 * (see docs/reference/tokens.md#privileged-scopes).
 * @throws Refusal `group_not_found`, `group_is_federated`
 */
export async function updateGroup(
  context: Context,
  tenantId: string,
  groupId: string,
  changes: GroupChange,
): Promise<GroupRow> {
  const group = requireLocal(await context.db.row(lockGroupForChange(tenantId, groupId)));
  const changed = changesOf<GroupRow>(group, changes);
  if (Object.keys(changed).length === 0) return group;
  const next = { ...group, ...changed };
  await context.db.run(updateGroupRow(next));
  const told = { groupId, key: group.key, status: changed.status };
  emit(context, groupUpdated, { tenantId, aggregateId: groupId }, told);
  const resource = ['group', groupId] as const;
  audit(context, { tenantId, action: 'groups.update', resource, reason: changeReason(changed) });
  return next;
}

/**
 * Deletes a local group and its memberships.
 * @throws Refusal `group_not_found`, `group_is_federated`
 */
export async function deleteGroup(context: Context, tenantId: string, groupId: string): Promise<undefined> {
  const { key } = requireLocal(await context.db.row(lockGroupForChange(tenantId, groupId)));
  const removed = await removeGroup(context, { tenantId, groupId });
  const reason = `group:${key} members:${removed}`;
  audit(context, { tenantId, action: 'groups.delete', resource: ['group', groupId], reason });
}

/** @throws Refusal `group_not_found`, `group_is_federated` */
function requireLocal(group: GroupRow | undefined): GroupRow {
  if (group === undefined) fail('group_not_found');
  return group.source === 'local' ? group : fail('group_is_federated');
}
