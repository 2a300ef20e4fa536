import { fragment } from '@baton/kernel/database/list';
import type { Context } from '../context.ts';
import type { TaskRow } from '../tasks/task.ts';
import type { WorkspaceScope } from '../tasks/task-fields.ts';
import { beginning, isForOwn, type NextTaskRow, type Slice, type WorkSearch } from './available.sql.ts';
import { findTasksInOrder, findWorkWithin } from './work-within.sql.ts';

export type ScopedSearch = WorkSearch & { readonly workspace: WorkspaceScope };

/**
 * Whether a search covers the queue of a workspace or a project, possibly with its descendants. The caller's own tasks
 * are read by the assignee index, but a scope may contain thousands that are assigned to others.
 */
export function isScoped(search: WorkSearch): search is ScopedSearch {
  return search.workspace !== undefined && !isForOwn(search);
}

/** Up to this many workspaces are searched in one statement. */
const fewWorkspaces = 256;
/** The number of queue rows of the tenant that the first scan reads for a larger scope. */
const rowsPassedMin = 1024;
const growth = 4;
/** Searching a workspace takes as long as scanning this many rows. */
const rowsPerWorkspace = 10;

/** A page of work in the order of the queue, plus one task if more follow. */
export async function readWorkWithin(
  context: Context,
  search: ScopedSearch,
  slice: Slice,
): Promise<TaskRow[]> {
  const ids = (await searchOn(context, search, slice)).map(({ task_id: id }) => id);
  return ids.length === 0 ? [] : context.db.rows(findTasksInOrder(context.tenantId, ids));
}

/** The first candidates in a scope, by age, and stale queue rows. */
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
 * Repeats the search until enough tasks are found or none are left. A scope of few workspaces is searched one workspace
 * at a time. Otherwise the tenant's queue is scanned, which ends soon if much of it is in the scope; depending on the
 * hits, the scan continues or the workspaces are searched after all. So neither a project with 10,000 descendants nor a
 * small one next to them costs much more than its page (docs/performance.md).
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
    // The estimated number of rows to read for the remaining tasks, plus a quarter.
    const enough = Math.ceil((1.25 * rowsPassed * (rowsMax - found.length)) / Math.max(found.length, 1));
    workspacesMax = Math.max(workspacesMax, Math.ceil(enough / rowsPerWorkspace));
    rowsPassed = Math.min(Math.max(enough, rowsPassedMin), growth * rowsPassed);
  }
}
