import { type ItemPage, listPage } from '@baton/kernel/list';
import type { Page } from '@baton/kernel/paging';
import type { Context } from '../context.ts';
import { type Task, taskOf } from '../tasks/task.ts';
import { requireNoProject, requireNoWorkspace } from '../tasks/task-fields.ts';
import { findAssignedWork, findAvailableWork } from './available.sql.ts';

export interface WorkQuery {
  workspaceId?: string | undefined;
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
  { tenantId, caller, db }: Context,
  query: WorkQuery,
  page: Page,
): Promise<ItemPage<Task>> {
  requireNoWorkspace(query.workspaceId);
  requireNoProject(query.projectId);
  const assigneeId = query.assignedToMe === true ? caller.principalId : query.assigneeId;
  const found =
    assigneeId === undefined
      ? findAvailableWork(tenantId, caller.principalId, page)
      : findAssignedWork(tenantId, caller.principalId, assigneeId, page);
  return listPage(db, found, taskOf);
}
