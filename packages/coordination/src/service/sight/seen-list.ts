import type { Db } from '@baton/kernel/database/db';
import { type ItemPage, itemsOf } from '@baton/kernel/database/list';
import type { Page } from '@baton/kernel/http/paging';
import type { SeenList } from './places.ts';
import { countOf, findSeenOf } from './seen-list.sql.ts';
import { isTaskInSight, type ViewerContext, viewerOf } from './sight.ts';

/** The maximum number of rows that the first search may skip, and the factor for each further search. */
const steps = { rowsMax: 256, growth: 8 };

/**
 * Returns a page of the rows that a person sees. The list of all rows is searched first, because that is cheapest if
 * most rows are visible. The search stops after a few hundred skipped rows. Then, if the person sees few rows, all of
 * them are looked up; otherwise the search is repeated over more rows. The cost of a page therefore stays close to the
 * smaller of two numbers: the visible rows, and the rows that precede the page.
 * @param viewerId null for a caller that sees everything
 * @throws Refusal `invalid_cursor`
 */
export async function listSeen<Row, Item>(
  db: Db,
  viewerId: string | null,
  list: SeenList<Row>,
  page: Page,
  itemOf: (row: Row) => Item,
): Promise<ItemPage<Item>> {
  return itemsOf(await findSeenRows(db, viewerId, list, page), list.all(page), itemOf);
}

/** The visible rows of a page, plus one if more follow. */
export async function findSeenRows<Row>(
  db: Db,
  viewerId: string | null,
  list: SeenList<Row>,
  page: Page,
  { rowsMax: firstRowsMax, growth }: typeof steps = steps,
): Promise<Row[]> {
  if (viewerId === null) return db.rows(list.all(page).statement);
  const rowsWanted = page.limit + 1;
  for (let rowsMax = Math.max(firstRowsMax, 2 * rowsWanted); ; rowsMax *= growth) {
    const passing = list.all({ ...page, limit: rowsMax - 1 });
    const found = await db.rows(findSeenOf(passing, list.filedBy, viewerId, rowsWanted));
    if (found.at(-1)?.passed !== rowsMax) return found;
    const lookups = await db.row(countOf(list.lookups(viewerId), growth * rowsMax));
    if (lookups !== undefined && lookups.rows <= growth * rowsMax)
      return db.rows(list.seen(viewerId, page).statement);
  }
}

/**
 * Returns a page of the parts of one or more tasks. The parts of a task are either all visible or all hidden.
 * @throws Refusal `invalid_cursor`
 */
export async function listHanging<Row, Item>(
  context: ViewerContext,
  taskId: string | undefined,
  list: SeenList<Row>,
  page: Page,
  itemOf: (row: Row) => Item,
): Promise<ItemPage<Item>> {
  const viewerId = await viewerOf(context);
  if (viewerId === null || taskId === undefined) return listSeen(context.db, viewerId, list, page, itemOf);
  list.all(page);
  if (!(await isTaskInSight(context, taskId))) return { items: [], nextCursor: null };
  return listSeen(context.db, null, list, page, itemOf);
}
