import { type ItemPage, listPage } from '@baton/kernel/list';
import type { Page } from '@baton/kernel/paging';
import { viewerOf } from '../../service/sight/sight.ts';
import type { Context } from '../context.ts';
import { type Task, taskOf } from '../tasks/task.ts';
import { requireNoProject, workspaceScopeOf } from '../tasks/task-fields.ts';
import { findAssignedWork, findAvailableWork, findWorkIn, type WorkSeeker } from './available.sql.ts';

export interface WorkQuery {
  workspaceId?: string | undefined;
  includeDescendants?: boolean | undefined;
  projectId?: string | undefined;
  assigneeId?: string | undefined;
  assignedToMe?: boolean | undefined;
}

/**
 * A page of the work that could be claimed now (core, section 6.5). Nothing is locked, so another agent may claim a task
 * first.
 * @throws Refusal `not_found`, `invalid_cursor`
 */
export async function listAvailableWork(
  context: Context,
  query: WorkQuery,
  page: Page,
): Promise<ItemPage<Task>> {
  const { tenantId, caller, db } = context;
  const scope = await workspaceScopeOf(context, query);
  requireNoProject(query.projectId);
  const assigneeId = query.assignedToMe === true ? caller.principalId : query.assigneeId;
  const seeker = { principalId: caller.principalId, viewerId: await viewerOf(context) };
  return listPage(db, workOf(tenantId, seeker, scope, assigneeId, page), taskOf);
}

function workOf(
  tenantId: string,
  seeker: WorkSeeker,
  scope: { id: string; includeDescendants: boolean } | undefined,
  assigneeId: string | undefined,
  page: Page,
) {
  if (scope !== undefined) return findWorkIn(tenantId, seeker, { ...scope, assigneeId }, page);
  return assigneeId === undefined
    ? findAvailableWork(tenantId, seeker, page)
    : findAssignedWork(tenantId, seeker, assigneeId, page);
}
