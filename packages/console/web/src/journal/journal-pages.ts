import { type InfiniteData, infiniteQueryOptions, type QueryClient } from '@tanstack/react-query';
import type { JournalEvent, JournalEventPage } from '@baton/sdk';
import { baton } from '../client.ts';
import { type JournalSearch, prefixesIn } from './journal-search.ts';

const pageSize = 200;
/** How many pages a person can load at most without filtering. */
export const pagesMax = 10;
/** New events are added to the first page. At this length the older pages are dropped; they can be loaded again. */
const firstPageMax = 2 * pageSize;

type Pages = InfiniteData<JournalEventPage, string>;

/** The events that match the filters, newest first; older ones are loaded page by page. */
export function journalQuery({ types, object, actor }: JournalSearch) {
  const prefixes = prefixesIn(types).join(',');
  return infiniteQueryOptions({
    queryKey: ['journal', prefixes, object, actor],
    queryFn: ({ pageParam, signal }) =>
      baton.events.list(
        {
          limit: pageSize,
          order: 'desc',
          ...(pageParam === '' ? { tail: pageSize } : { before: pageParam }),
          ...(prefixes && { types: prefixes }),
          ...(object !== undefined && { entityId: object }),
          ...(actor !== undefined && { actorId: actor }),
        },
        { signal },
      ),
    // Events that occur while another page is open are not added, so the list is stale when this page opens again.
    staleTime: 0,
    initialPageParam: '',
    getNextPageParam: ({ prevCursor }, pages) =>
      pages.length < pagesMax ? (prevCursor ?? undefined) : undefined,
  });
}

/**
 * Prepends new events to those that are shown. Not to be called during a query, which would overwrite them.
 * @param newer oldest first
 */
export function showNewer(queries: QueryClient, search: JournalSearch, newer: readonly JournalEvent[]): void {
  queries.setQueryData<Pages>(journalQuery(search).queryKey, (shown) => {
    const [first, ...older] = shown?.pages ?? [];
    if (shown === undefined || first === undefined) return shown;
    const known = new Set([first, ...older].flatMap(({ items }) => items.map(({ id }) => id)));
    const added = newer.filter(({ id }) => !known.has(id)).toReversed();
    if (added.length === 0) return shown;
    const items = [...added, ...first.items];
    if (items.length <= firstPageMax) return { ...shown, pages: [{ ...first, items }, ...older] };
    const kept = items.slice(0, pageSize);
    return { pages: [{ ...first, items: kept, prevCursor: kept.at(-1)?.cursor ?? null }], pageParams: [''] };
  });
}
