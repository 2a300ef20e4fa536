import type { Page } from '@baton/kernel/paging';
import type { SeenList } from '../../service/sight/places.ts';
import type { Context } from '../context.ts';
import type { TaskRow } from '../tasks/task.ts';
import type { WorkspaceScope } from '../tasks/task-fields.ts';
import { countWorkspaces, findWithin, hasFewWorkspaces } from './tasks-within.sql.ts';

/** How many rows the first search may pass, and how many times as many each further one at most. */
const steps = { rowsMax: 256, growth: 8 };
/** So many are looked into at once. */
const fewWorkspaces = 64;

/**
 * The rows of a page of what is filed in several workspaces, and one more where there are more. Where there are few, each is
 * looked into. Else the list of the whole tenant is searched first, which is the cheapest where much of it lies in them. Where too little did, the search goes on as far as
 * the page should take by what was found, or each workspace is looked into, whichever reads less. So neither a project with
 * 10,000 others below it nor a small one among 100,000 tasks costs much more than its page.
 * @throws Refusal `invalid_cursor`
 */
export async function rowsWithin(
  { db, tenantId }: Context,
  lists: {
    readonly scope: WorkspaceScope;
    readonly everywhere: SeenList<TaskRow>;
    readonly inPlaces: SeenList<TaskRow>;
  },
  page: Page,
): Promise<TaskRow[]> {
  const { scope, everywhere, inPlaces } = lists;
  const few = await db.row(hasFewWorkspaces(tenantId, scope, fewWorkspaces));
  if (few?.has_few !== false) return db.rows(inPlaces.all(page).statement);
  const rowsWanted = page.limit + 1;
  for (let rowsMax = Math.max(steps.rowsMax, 2 * rowsWanted); ; ) {
    const found = await db.rows(
      findWithin(everywhere.all({ ...page, limit: rowsMax - 1 }), scope, rowsWanted),
    );
    const within = found.filter((row) => row.is_within);
    if (within.length >= rowsWanted || found.at(-1)?.passed !== rowsMax) return within;
    // By the share that lies within so far, with as much again.
    const needed = Math.ceil((2 * rowsMax * rowsWanted) / Math.max(within.length, 1));
    const { workspaces = 0 } = (await db.row(countWorkspaces(tenantId, scope, needed))) ?? {};
    if (workspaces < needed) return db.rows(inPlaces.all(page).statement);
    rowsMax = Math.min(needed, steps.growth * rowsMax);
  }
}
