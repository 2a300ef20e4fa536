import { pageOf, QueryWord } from '@baton/values/wire';
import { PackageFilter } from '../../organisation/package-link.ts';
import { endpoint } from '../context.ts';
import { queryView } from './querying.ts';
import { ListedView, View, ViewKey, ViewQuery, ViewRows } from './view.ts';
import { getView, listViews } from './views.ts';

const params = { key: ViewKey };

export const viewsApi = [
  endpoint({
    id: 'listViews',
    method: 'GET',
    path: '/views',
    summary: 'List the views that packages have published, by their keys.',
    description: 'The list comes whole: a tenant has 1,000 at most.',
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
    summary: 'Read a view: its blocks, and what each may be asked.',
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
      'It takes the right to read the list of its source: `tasks.read` of tasks, runs and claims, `skills.execute` of ' +
      'invocations, else that of the same name; and shows what that list would. Up to 20,000 rows are looked at, those that ' +
      'a filter with `eq` or `in` finds by an index, or the newest until the page is full; a query that would look at more is ' +
      'refused. Rows without a value come last. A value of another type, a parameter that is missing and one that the block ' +
      'does not declare are 422 `validation_error`. Where a decision point judges each row, a page may be short and lead on; after 4,000 hidden rows in a row a query is refused.',
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
    // Nothing changes, so there is no answer to keep.
    idempotency: 'ignored',
    transaction: 'none',
    isList: true,
    example: { block: 0, filter: [{ field: 'status', op: 'in', value: ['todo', 'blocked'] }], limit: 20 },
    handle: ({ params: { key }, body }, context) => queryView(context, key, body),
  }),
];
