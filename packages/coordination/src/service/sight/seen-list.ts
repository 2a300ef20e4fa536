import type { Db } from '@baton/kernel/database/db';
import { type ItemPage, itemsOf } from '@baton/kernel/database/list';
import type { Page } from '@baton/kernel/http/paging';
import type { SeenList } from './places.ts';
import { countOf, findSeenOf } from './seen-list.sql.ts';
import { type Asking, isTaskInSight, viewerOf } from './sight.ts';

/** How many rows the first search may pass, and how many times as many each further one. */
const steps = { rowsMax: 256, growth: 8 };

/**
 * A page of what a person sees. The list of all is searched first, which is the cheapest where most of it is in sight. A
 * search ends where it has passed some hundred rows; where the person sees not much more than that, all of it is looked up
 * instead, else the search is repeated over more rows. So a page costs not much more than the lesser of both: what
 * the person sees, and what lies in front of it.
 * @param viewerId null for who sees everything
 * @throws Refusal `invalid_cursor`
 */
export async function listSeen<Row, Item>(
  db: Db,
  viewerId: string | null,
  list: SeenList<Row>,
  page: Page,
  itemOf: (row: Row) => Item,
): Promise<ItemPage<Item>> {
  return itemsOf(await seenRows(db, viewerId, list, page), list.all(page), itemOf);
}

/** The rows of such a page, and one more where there are more. */
export async function seenRows<Row>(
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
 * A page of what hangs on tasks, or on one of them: then it is in sight as a whole, or not at all.
 * @throws Refusal `invalid_cursor`
 */
export async function listHanging<Row, Item>(
  context: Asking,
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
