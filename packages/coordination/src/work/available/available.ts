import { type ItemPage, listPage } from '@baton/kernel/list';
import type { Page } from '@baton/kernel/paging';
import { viewerOf } from '../../service/sight/sight.ts';
import type { Context } from '../context.ts';
import { type Task, taskOf } from '../tasks/task.ts';
import { type ScopeQuery, workspaceScopeOf } from '../tasks/task-fields.ts';
import { findNextTasks, findWork, type NextTaskRow, type WorkSearch } from './available.sql.ts';

export type { WorkSearch };

export interface WorkQuery extends ScopeQuery {
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
  return listPage(context.db, findWork(await searchOf(context, query), page), taskOf);
}

/** What a query for work looks for. @throws Refusal `not_found` */
export async function searchOf(context: Context, query: WorkQuery): Promise<WorkSearch> {
  const { tenantId, caller } = context;
  const workspace = await workspaceScopeOf(context, query);
  return {
    tenantId,
    principalId: caller.principalId,
    viewerId: await viewerOf(context),
    assigneeId: query.assignedToMe === true ? caller.principalId : query.assigneeId,
    workspace,
  };
}

/** The first tasks to hand out, and rows of the queue that are out of date, at most `rowsMax` together. */
export function findNextWork({ db }: Context, search: WorkSearch, rowsMax: number): Promise<NextTaskRow[]> {
  return db.rows(findNextTasks(search, rowsMax));
}
