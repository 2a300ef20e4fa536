import type { Page } from '@baton/kernel/http/paging';
import type { SeenList } from '../../service/sight/places.ts';
import type { Context } from '../context.ts';
import type { TaskRow } from '../tasks/task.ts';
import type { WorkspaceScope } from '../tasks/task-fields.ts';
import { countWorkspaces, findIdsOf, findWithin } from './tasks-within.sql.ts';

/** How many tasks the first scan may read, and the factor by which each later scan may read more. */
const steps = { rowsMax: 2048, growth: 4 };
/** Up to this many workspaces are searched in one statement. */
const fewWorkspaces = 256;
/** The maximum number of workspaces that are cached during a scan. */
const rememberedMax = 2000;
/** Searching a workspace takes as long as scanning this many tasks. */
const tasksPerWorkspace = 6;

export interface WithinLists {
  readonly scope: WorkspaceScope;
  /** The list without the scope. */
  readonly everywhere: SeenList<TaskRow>;
  /** The list, read from each workspace of the scope. */
  readonly inPlaces: SeenList<TaskRow>;
  /** Tasks by their ids, in the order of the list. */
  byIds(ids: readonly string[]): SeenList<TaskRow>;
}

/**
 * The rows of a page in a scope of several workspaces, plus one if more follow. For few workspaces, each is
 * searched. Otherwise the list of the whole tenant is scanned, which ends soon if much of it is in the scope; depending
 * on the hits, the scan continues or each workspace is searched. So neither a project with 10,000 descendants nor a
 * small one among 100,000 tasks costs much more than its page (docs/performance.md).
 * @throws Refusal `invalid_cursor`
 */
export async function readRowsWithin(context: Context, lists: WithinLists, page: Page): Promise<TaskRow[]> {
  const ids = await idsWithin(context, lists, page);
  if (ids.length === 0) return [];
  // Every hit is returned, even if it no longer matches, because a short page would end the list.
  const found = lists.byIds(ids).all({ limit: ids.length, cursor: undefined });
  return context.db.rows(found.statement);
}

async function idsWithin(
  { db, tenantId }: Context,
  { scope, everywhere, inPlaces }: WithinLists,
  page: Page,
): Promise<string[]> {
  const countUpTo = async (count: number) =>
    (await db.row(countWorkspaces(tenantId, scope, count + 1)))?.workspaces ?? 0;
  const lookInto = async () => (await db.rows(findIdsOf(inPlaces.all(page)))).map(({ id }) => id);
  const workspaces = await countUpTo(rememberedMax);
  if (workspaces <= fewWorkspaces) return lookInto();
  const how = workspaces <= rememberedMax ? 'remembered' : 'looked up';
  const rowsWanted = page.limit + 1;
  for (let { rowsMax } = steps; ; rowsMax *= steps.growth) {
    const passing = everywhere.all({ ...page, limit: rowsMax - 1 });
    const found = await db.rows(findWithin(passing, scope, rowsWanted, how));
    const within = found.filter((row) => row.is_within).map(({ id }) => id);
    if (within.length >= rowsWanted || found.at(-1)?.passed !== rowsMax) return within;
    const enough = Math.ceil((rowsMax * rowsWanted) / Math.max(within.length, 1) / tasksPerWorkspace);
    if ((await countUpTo(enough)) <= enough) return lookInto();
  }
}
