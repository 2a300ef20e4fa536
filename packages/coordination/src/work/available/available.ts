import { type ItemPage, itemsOf, startOf } from '@baton/kernel/database/list';
import type { Page } from '@baton/kernel/http/paging';
import { Refusal } from '@baton/kernel/http/refusal';
import { viewerOf } from '../../service/sight/sight.ts';
import type { Context } from '../context.ts';
import { type Task, type TaskRow, taskOf } from '../tasks/task.ts';
import { type ScopeQuery, workspaceScopeOf } from '../tasks/task-fields.ts';
import {
  findNextTasks,
  findShared,
  findWork,
  mostUrgentFirst,
  type NextTaskRow,
  ownFirst,
  type SharedRow,
  type Slice,
  sliceOfPage,
  type WorkSearch,
} from './available.sql.ts';
import { findNextWithin, isScoped, readWorkWithin } from './work-within.ts';

export type { WorkSearch };

export interface WorkQuery extends ScopeQuery {
  assigneeId?: string | undefined;
  assignedToMe?: boolean | undefined;
  includeAssigned?: boolean | undefined;
}

/**
 * A page of the work that can be claimed now (docs/reference/availability.md#available-work): the caller's own tasks
 * first, then unassigned ones. Nothing is locked, so another agent may claim a task first.
 * @throws Refusal `not_found`, `invalid_cursor`
 */
export async function listAvailableWork(
  context: Context,
  query: WorkQuery,
  page: Page,
): Promise<ItemPage<Task>> {
  const search = await searchOf(context, query);
  const parts = isBehindOwn(page) ? [search] : await partsOf(context, search);
  const [own, others] = parts as [WorkSearch, WorkSearch | undefined];
  if (others === undefined) {
    const rows = await readWork(context, own, sliceOfPage(page));
    return itemsOf(rows, { order: mostUrgentFirst, page }, taskOf);
  }
  const ownRows = await readWork(context, own, sliceOfPage(page, ownFirst));
  const ownPage = { order: ownFirst, page };
  const limit = page.limit - ownRows.length;
  if (limit < 0) return itemsOf(ownRows, ownPage, taskOf);
  const rest = { limit, cursor: undefined };
  const rows = await readWork(context, others, sliceOfPage(rest));
  // A full page of the caller's own tasks. If more follow, the cursor is that of the last one on the page.
  if (limit === 0) return itemsOf([...ownRows, ...rows], ownPage, taskOf);
  const { items, nextCursor } = itemsOf(rows, { order: mostUrgentFirst, page: rest }, taskOf);
  return { items: [...ownRows.map(taskOf), ...items], nextCursor };
}

/** The parts of a search: first for the caller's own tasks, unless the search has its own order. */
export async function partsOf({ db }: Context, search: WorkSearch): Promise<WorkSearch[]> {
  if (search.assigneeId !== undefined || search.includesAssigned) return [search];
  const { tenantId, principalId } = search;
  const shared = (await db.row(findShared(tenantId, principalId))) as SharedRow;
  return [
    { ...search, shared, assigneeId: principalId },
    { ...search, shared },
  ];
}

/** Whether a page starts after the caller's own tasks. */
function isBehindOwn(page: Page): boolean {
  try {
    startOf(ownFirst, page);
    return false;
  } catch (error) {
    if (error instanceof Refusal) return true;
    throw error;
  }
}

function readWork(context: Context, search: WorkSearch, slice: Slice): Promise<TaskRow[]> {
  return isScoped(search) ? readWorkWithin(context, search, slice) : context.db.rows(findWork(search, slice));
}

/** Converts a query for work. @throws Refusal `not_found` */
export async function searchOf(context: Context, query: WorkQuery): Promise<WorkSearch> {
  const { tenantId, caller } = context;
  const workspace = await workspaceScopeOf(context, query);
  return {
    tenantId,
    principalId: caller.principalId,
    viewerId: await viewerOf(context),
    assigneeId: query.assignedToMe === true ? caller.principalId : query.assigneeId,
    includesAssigned: query.includeAssigned === true,
    workspace,
  };
}

/** The first candidates and stale queue rows, at most `rowsMax` together. */
export function findNextWork(context: Context, search: WorkSearch, rowsMax: number): Promise<NextTaskRow[]> {
  return isScoped(search)
    ? findNextWithin(context, search, rowsMax)
    : context.db.rows(findNextTasks(search, rowsMax));
}
