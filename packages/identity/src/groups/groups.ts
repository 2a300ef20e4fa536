import { randomUUID } from 'node:crypto';
import { audit } from '../audit.ts';
import type { Context } from '../context.ts';
import { emit } from '../journal/journal.ts';
import { isMember } from '../principals/principals.ts';
import { fail } from '../service.ts';
import { tenantExists } from '../tenants/tenants.ts';
import type { GroupRequest } from './groups.api.ts';
import { groupCreated, groupMembershipAdded } from './groups.events.ts';
import { findGroup, type GroupRow, insertGroup, insertMember, type MemberRow } from './groups.sql.ts';

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
 * Adds a member to a group that is kept here; what a provider or a directory keeps is theirs to change.
 * @throws Refusal `group_not_found`, `group_is_federated`, `principal_not_found`, `group_membership_exists`
 */
export async function addGroupMember(
  context: Context,
  tenantId: string,
  groupId: string,
  principalId: string,
): Promise<MemberRow> {
  const { db } = context;
  const group = (await db.row(findGroup(tenantId, groupId))) ?? fail('group_not_found');
  if (group.source !== 'local') fail('group_is_federated');
  if (!(await isMember(db, tenantId, principalId))) fail('principal_not_found');
  const wanted = { id: randomUUID(), tenantId, groupId, principalId };
  const member = (await db.row(insertMember(wanted))) ?? fail('group_membership_exists');
  emit(context, groupMembershipAdded, { tenantId, aggregateId: groupId }, { groupId, principalId });
  const reason = `principal:${principalId}`;
  audit(context, { tenantId, action: 'group_members.add', resource: ['group', groupId], reason });
  return member;
}
