import { fragment } from '@baton/kernel/database/list';
import type { Context } from '../context.ts';
import type { TaskRow } from '../tasks/task.ts';
import type { WorkspaceScope } from '../tasks/task-fields.ts';
import { beginning, isForOwn, type NextTaskRow, type Slice, type WorkSearch } from './available.sql.ts';
import { findTasksInOrder, findWorkWithin } from './work-within.sql.ts';

export type ScopedSearch = WorkSearch & { readonly workspace: WorkspaceScope };

/**
 * Whether a search goes through the queue of a workspace, a project, or what lies below one. The caller's own tasks are read by
 * the index of their assignee: in a scope there may be thousands that are assigned to others.
 */
export function isScoped(search: WorkSearch): search is ScopedSearch {
  return search.workspace !== undefined && !isForOwn(search);
}

/** Up to so many workspaces are looked into at once. */
const fewWorkspaces = 256;
/** So many rows of the tenant's queue are passed at first, where there are more workspaces. */
const rowsPassedMin = 1024;
const growth = 4;
/** Looking into a workspace takes as long as passing so many rows. */
const rowsPerWorkspace = 10;

/** The work of a page, in the order of the queue, and one more where there is more. */
export async function readWorkWithin(
  context: Context,
  search: ScopedSearch,
  slice: Slice,
): Promise<TaskRow[]> {
  const ids = (await searchOn(context, search, slice)).map(({ task_id: id }) => id);
  return ids.length === 0 ? [] : context.db.rows(findTasksInOrder(context.tenantId, ids));
}

/** The first tasks to hand out in a scope, by their age, and rows of the queue that are out of date. */
export function findNextWithin(
  context: Context,
  search: ScopedSearch,
  rowsMax: number,
): Promise<NextTaskRow[]> {
  return searchOn(context, search, {
    order: 'created_at',
    start: beginning,
    judged: fragment`true`,
    rowsMax,
  });
}

/**
 * Searches on until enough was found or nothing is left. A scope of few workspaces is looked into place by place. Else the
 * tenant's queue is passed, which ends soon where much of it lies in the scope, and further, or the scope is looked into after
 * all, by what was found: neither a project with 10,000 others below it nor a small one beside them costs much more than its
 * page (docs/performance.md).
 */
async function searchOn({ db }: Context, search: ScopedSearch, slice: Slice): Promise<NextTaskRow[]> {
  const all: NextTaskRow[] = [];
  let { start } = slice;
  let [workspacesMax, rowsPassed] = [fewWorkspaces, rowsPassedMin];
  for (;;) {
    const rowsMax = slice.rowsMax - all.length;
    const reach = { workspacesMax, rowsOfPlace: rowsMax, rowsPassed };
    const rows = await db.rows(findWorkWithin(search, { ...slice, start, rowsMax }, reach));
    const found = rows.filter((row) => !row.is_cut);
    all.push(...found);
    const cut = rows.at(-1);
    if (found.length === rowsMax || cut?.is_cut !== true) return all;
    start = [cut.priority, cut.at, cut.task_id];
    // To where the rest may be expected, and a quarter further.
    const enough = Math.ceil((1.25 * rowsPassed * (rowsMax - found.length)) / Math.max(found.length, 1));
    workspacesMax = Math.max(workspacesMax, Math.ceil(enough / rowsPerWorkspace));
    rowsPassed = Math.min(Math.max(enough, rowsPassedMin), growth * rowsPassed);
  }
}
