import { type ItemPage, listPage } from '@baton/kernel/database/list';
import type { Page } from '@baton/kernel/http/paging';
import { newId } from '@baton/values/ids';
import { lockPrincipal } from '../../access/authn/principal-lock.ts';
import { getPrincipalRow } from '../../access/principals/principals.ts';
import { emit } from '../../ledger/journal/journal.ts';
import type { Context } from '../context.ts';
import { enterWorkspace, getWorkspaceRow } from '../workspaces/workspaces.ts';
import { type WorkspaceMember, workspaceMemberOf } from './member.ts';
import { workspaceMemberAdded, workspaceMemberRemoved } from './members.events.ts';
import { deleteMember, findMember, findMembers, insertMember } from './members.sql.ts';

/**
 * Adds a principal to the members of a workspace. Repeating the request changes nothing.
 * @throws Refusal `not_found`, `workspace_archived`
 */
export async function addWorkspaceMember(
  context: Context,
  workspaceId: string,
  principalId: string,
): Promise<WorkspaceMember> {
  const { db, tenantId } = context;
  await enterWorkspace(context, workspaceId);
  await lockPrincipal(context, principalId);
  const added = await db.row(insertMember({ id: newId(), tenantId, workspaceId, principalId }));
  if (added !== undefined) {
    emit(context, workspaceMemberAdded, { entityId: workspaceId, workspaceId }, { principalId });
    return workspaceMemberOf(added);
  }
  const known = await db.row(findMember(tenantId, workspaceId, principalId));
  // If the membership is removed between the two statements, it is added again.
  return known === undefined
    ? addWorkspaceMember(context, workspaceId, principalId)
    : workspaceMemberOf(known);
}

/** @throws Refusal `not_found`, `invalid_cursor` */
export async function listWorkspaceMembers(
  context: Context,
  workspaceId: string,
  page: Page,
): Promise<ItemPage<WorkspaceMember>> {
  const found = findMembers(context.tenantId, workspaceId, page);
  await getWorkspaceRow(context, workspaceId);
  return listPage(context.db, found, workspaceMemberOf);
}

/**
 * Removes the membership if it exists, even in an archived workspace.
 * @throws Refusal `not_found` for a missing workspace or principal
 */
export async function removeWorkspaceMember(
  context: Context,
  workspaceId: string,
  principalId: string,
): Promise<undefined> {
  await getWorkspaceRow(context, workspaceId);
  const removed = await context.db.row(deleteMember(context.tenantId, workspaceId, principalId));
  if (removed === undefined) {
    await getPrincipalRow(context, principalId);
    return;
  }
  emit(context, workspaceMemberRemoved, { entityId: workspaceId, workspaceId }, { principalId });
}
