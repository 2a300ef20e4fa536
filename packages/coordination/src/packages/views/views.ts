import type { ItemPage } from '@baton/kernel/database/list';
import type { Context } from '../context.ts';
import { fail } from '../errors.ts';
import { type ListedView, listedViewOf, type View, type ViewRow, viewOf, viewsMax } from './view.ts';
import { findView, findViews } from './views.sql.ts';

interface ViewsQuery {
  readonly locale?: string | undefined;
  readonly package?: string | undefined;
}

/**
 * The views of the tenant by key, with their titles in the requested language
 * (docs/reference/views-and-lists.md#views).
 */
export async function listViews(
  { db, tenantId }: Context,
  { locale = '', package: packageKey }: ViewsQuery,
): Promise<ItemPage<ListedView>> {
  const asked = locale.toLowerCase();
  // A request for de-AT also accepts titles in de.
  const languages = [asked, asked.split('-')[0] as string];
  const rows = await db.rows(findViews(tenantId, packageKey ?? null, languages, viewsMax));
  return { items: rows.map(listedViewOf), nextCursor: null };
}

/** @throws Refusal `not_found`, also for a retired view */
export async function getView(context: Context, key: string): Promise<View> {
  return viewOf(await getViewRow(context, key));
}

/** @throws Refusal `not_found` */
export async function getViewRow({ db, tenantId }: Context, key: string): Promise<ViewRow> {
  return (await db.row(findView(tenantId, key))) ?? fail('not_found', { view: key });
}
