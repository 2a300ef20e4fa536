import { type ItemPage, listPage } from '@baton/kernel/list';
import type { Page } from '@baton/kernel/paging';
import { findPartsIn } from '../../organisation/assignments/participants.ts';
import { getWorkspaceRow } from '../../organisation/workspaces/workspaces.ts';
import type { Context } from '../context.ts';
import { getTaskType } from '../task-types/task-types.ts';
import type { TaskTypeExecutor } from './executor.ts';
import { findActiveMembers } from './executors.sql.ts';

/**
 * A page of those who may be given tasks of a type in a workspace: its active members. Agents of the registry, whose
 * specification names types and workspaces, come with the registry.
 * @throws Refusal `not_found`, `invalid_cursor`
 */
export async function listTaskTypeExecutors(
  context: Context,
  typeId: string,
  workspaceId: string,
  page: Page,
): Promise<ItemPage<TaskTypeExecutor>> {
  const { db, tenantId } = context;
  await getTaskType(context, typeId);
  const { path } = await getWorkspaceRow(context, workspaceId);
  const found = await listPage(db, findActiveMembers(tenantId, workspaceId, page), (row) => row);
  const parts = await findPartsIn(
    context,
    { tenantId, workspaceId, path },
    found.items.map(({ id }) => id),
  );
  const items = found.items.map(({ id, kind, display_name: displayName }) => ({
    principalId: id,
    kind,
    displayName,
    roles: parts.get(id)?.roles ?? [],
    reason: 'any' as const,
  }));
  return { items, nextCursor: found.nextCursor };
}
