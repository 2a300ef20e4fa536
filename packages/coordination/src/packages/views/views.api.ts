import { pageOf, QueryWord } from '@baton/values/wire';
import { PackageFilter } from '../../organisation/package-link.ts';
import { endpoint } from '../context.ts';
import { queryView } from './query-view.ts';
import { ListedView, View, ViewKey, ViewQuery, ViewRows } from './view.ts';
import { getView, listViews } from './views.ts';

const params = { key: ViewKey };

export const viewsApi = [
  endpoint({
    id: 'listViews',
    method: 'GET',
    path: '/views',
    summary: 'List the views that packages have published, by their keys.',
    description: 'The list is complete: a tenant has at most 1,000 views.',
    query: {
      locale: QueryWord.optional().describe('The language of the titles, such as `de`.'),
      package: PackageFilter,
    },
    returns: { 200: pageOf(ListedView) },
    handle: ({ query }, context) => listViews(context, query),
  }),
  endpoint({
    id: 'getView',
    method: 'GET',
    path: '/views/{key}',
    summary: 'Read a view: its blocks, and the filters and sorts of each.',
    params,
    returns: { 200: View },
    errors: ['not_found'],
    handle: ({ params: { key } }, context) => getView(context, key),
  }),
  endpoint({
    id: 'queryView',
    method: 'POST',
    path: '/views/{key}:query',
    summary: 'Read the rows of a block of a view.',
    description:
      'The caller needs the permission for the list of the source: `tasks.read` for tasks, runs and claims, `skills.execute` for ' +
      'invocations, otherwise that of the same name; the rows are those that the list would show. At most 20,000 rows are scanned, those that ' +
      'a filter with `eq` or `in` finds by an index, or the newest until the page is full; a query that would scan more is ' +
      'refused. Rows without a value come last. A value of another type, a missing parameter and a parameter that the block ' +
      'does not declare return 422 `validation_error`. With external authorization per row, a page may be short and still have a cursor; after 4,000 consecutive hidden rows, the query is refused.',
    params,
    body: ViewQuery,
    returns: { 200: ViewRows },
    errors: [
      'not_found',
      'not_implemented',
      'permission_denied',
      'undeclared_filter',
      'undeclared_sort',
      'workspace_required',
      'invalid_cursor',
      'view_too_costly',
    ],
    // The operation changes nothing, so no response needs to be stored.
    idempotency: 'ignored',
    transaction: 'none',
    isList: true,
    example: { block: 0, filter: [{ field: 'status', op: 'in', value: ['todo', 'blocked'] }], limit: 20 },
    handle: ({ params: { key }, body }, context) => queryView(context, key, body),
  }),
];
