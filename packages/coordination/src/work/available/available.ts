import { type ItemPage, itemsOf, listPage } from '@baton/kernel/list';
import type { Page } from '@baton/kernel/paging';
import { viewerOf } from '../../service/sight/sight.ts';
import type { Context } from '../context.ts';
import { type Task, taskOf } from '../tasks/task.ts';
import { type ScopeQuery, workspaceScopeOf } from '../tasks/task-fields.ts';
import {
  findNextTasks,
  findWork,
  mostUrgentFirst,
  type NextTaskRow,
  type WorkSearch,
} from './available.sql.ts';
import { findNextWithin, isScoped, readWorkWithin } from './work-within.ts';

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
  const search = await searchOf(context, query);
  if (!isScoped(search)) return listPage(context.db, findWork(search, page), taskOf);
  const rows = await readWorkWithin(context, search, page);
  return itemsOf(rows, { order: mostUrgentFirst, page }, taskOf);
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
export function findNextWork(context: Context, search: WorkSearch, rowsMax: number): Promise<NextTaskRow[]> {
  return isScoped(search)
    ? findNextWithin(context, search, rowsMax)
    : context.db.rows(findNextTasks(search, rowsMax));
}
