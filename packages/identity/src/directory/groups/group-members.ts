import { randomUUID } from 'node:crypto';
import type { Db } from '@baton/kernel/database/db';
import { audit } from '../../records/audit.ts';
import { emit } from '../../records/journal/journal.ts';
import type { CreatedPage } from '../../service/pages.ts';
import type { Context } from '../context.ts';
import { fail } from '../errors.ts';
import { isMember } from '../principals/principals.ts';
import { type MembershipRow, memberOf, memberPages } from './group-member.ts';
import { deleteMember, findMembers, insertMember } from './group-members.sql.ts';
import { groupMembershipAdded, groupMembershipRemoved } from './groups.events.ts';
import { findGroup, lockGroupShared } from './groups.sql.ts';

/**
 * Adds a member to a local group. Other groups are changed by their identity provider or directory.
 * @throws Refusal `group_not_found`, `group_is_federated`, `principal_not_found`, `group_membership_exists`
 */
export async function addGroupMember(
  context: Context,
  tenantId: string,
  groupId: string,
  principalId: string,
): Promise<MembershipRow> {
  await lockLocalGroup(context.db, tenantId, groupId);
  if (!(await isMember(context.db, tenantId, principalId))) fail('principal_not_found');
  const wanted = { id: randomUUID(), tenantId, groupId, principalId };
  const member = (await context.db.row(insertMember(wanted))) ?? fail('group_membership_exists');
  emit(context, groupMembershipAdded, { tenantId, aggregateId: groupId }, { groupId, principalId });
  const reason = `principal:${principalId}`;
  audit(context, { tenantId, action: 'group_members.add', resource: ['group', groupId], reason });
  return member;
}

/** @throws Refusal `group_not_found` */
export async function listGroupMembers(db: Db, tenantId: string, groupId: string, query: CreatedPage) {
  if ((await db.row(findGroup(tenantId, groupId))) === undefined) fail('group_not_found');
  return memberPages.read(query, (page) => db.rows(findMembers(tenantId, groupId, page)), memberOf);
}

/**
 * Removes a member of a local group, whatever the source of the membership. If an identity provider added the
 * membership, it is restored at the next sign-in whose token contains the group.
 * @throws Refusal `group_not_found`, `group_is_federated`, `group_membership_not_found`
 */
export async function removeGroupMember(
  context: Context,
  tenantId: string,
  groupId: string,
  principalId: string,
): Promise<undefined> {
  await lockLocalGroup(context.db, tenantId, groupId);
  const removed = await context.db.row(deleteMember(tenantId, groupId, principalId));
  if (removed === undefined) fail('group_membership_not_found');
  emit(context, groupMembershipRemoved, { tenantId, aggregateId: groupId }, { groupId, principalId });
  const reason = `principal:${principalId}`;
  audit(context, { tenantId, action: 'group_members.remove', resource: ['group', groupId], reason });
}

async function lockLocalGroup(db: Db, tenantId: string, groupId: string): Promise<void> {
  const group = (await db.row(lockGroupShared(tenantId, groupId))) ?? fail('group_not_found');
  if (group.source !== 'local') fail('group_is_federated');
}
