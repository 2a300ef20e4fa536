import { useInfiniteQuery, useQuery, useQueryClient } from '@tanstack/react-query';
import { getRouteApi } from '@tanstack/react-router';
import { lazy, Suspense, useEffect, useState } from 'react';
import { onEvent } from '../live.ts';
import { Allowed } from '../parts/Allowed.tsx';
import { useLineKeys } from '../parts/line-keys.ts';
import { Empty, ErrorNote, Loading } from '../parts/Notes.tsx';
import { meQuery } from '../queries.ts';
import { useKeys } from '../shell/keys.ts';
import { EventLine } from './EventLine.tsx';
import { Filters } from './Filters.tsx';
import styles from './journal.module.css';
import { journalQuery, pagesMax, showNewer } from './journal-pages.ts';
import { type JournalSearch, passes } from './journal-search.ts';
import { NewerEvents } from './newer-events.ts';

const ObjectAtEventPage = lazy(() => import('./ObjectAtEventPage.tsx'));
const route = getRouteApi('/shell/journal');

/** The live journal or, if the URL contains an event, that event's object at the time of the event. */
export function JournalPage() {
  const { object, at } = route.useSearch();
  const me = useQuery(meQuery);
  const mayRead = me.data?.permissions.includes('events.read') ?? true;
  if (object !== undefined && at !== undefined && mayRead)
    return (
      <Suspense>
        <ObjectAtEventPage key={object + at} object={object} at={at} />
      </Suspense>
    );
  return (
    <div className="page">
      <h1>Journal</h1>
      <Allowed permission="events.read">
        <Events />
      </Allowed>
    </div>
  );
}

/** The newest events, new ones as they occur, and older ones on demand. */
function Events() {
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const [isPaused, setPaused] = useState(false);
  const query = useInfiniteQuery(journalQuery(search));
  const pause = () => {
    setPaused(!isPaused);
    // Events that occurred during the pause were not shown, so the list is refetched.
    if (isPaused) void query.refetch();
  };
  useLiveEvents(search, isPaused);
  useLineKeys();
  useKeys({
    p: pause,
    '/': () => document.getElementById('journal-types')?.focus(),
  });
  const pages = query.data?.pages ?? [];
  const events = pages.flatMap(({ items }) => items);
  const isFull = pages.length === pagesMax && pages.at(-1)?.prevCursor != null;
  return (
    <>
      <div className={styles.head}>
        <Filters search={search} events={events} onChange={(next) => void navigate({ search: next })} />
        <button type="button" aria-pressed={isPaused} aria-keyshortcuts="p" onClick={pause}>
          {isPaused ? 'Resume' : 'Pause'}
        </button>
      </div>
      {query.isError && <ErrorNote error={query.error} onRetry={() => void query.refetch()} />}
      {query.isPending && <Loading lines={8} />}
      {query.isSuccess && events.length === 0 && !query.hasNextPage && (
        <Empty title="No events match these filters">
          <p>Events appear here as they happen.</p>
        </Empty>
      )}
      <ol className={styles.list} aria-label="Events, the newest first">
        {events.map((event) => (
          <EventLine key={event.id} event={event} />
        ))}
      </ol>
      {query.hasNextPage && (
        <div className="row">
          <button
            type="button"
            disabled={query.isFetchingNextPage}
            onClick={() => void query.fetchNextPage()}
          >
            {query.isFetchingNextPage ? 'Loading …' : 'Load older events'}
          </button>
          {events.length === 0 && <span className="soft">No matches in the newest 50,000 events.</span>}
        </div>
      )}
      {isFull && (
        <p className="soft">
          Showing {events.length.toLocaleString('en')} events. To see older ones, filter by type, object or
          actor.
        </p>
      )}
    </>
  );
}

function useLiveEvents(search: JournalSearch, isPaused: boolean): void {
  const queries = useQueryClient();
  const { types, object, actor } = search;
  useEffect(() => {
    if (isPaused) return;
    const filters = { types, object, actor } as JournalSearch;
    const { queryKey } = journalQuery(filters);
    const newer = new NewerEvents({
      isReading: () => queries.isFetching({ queryKey, exact: true }) > 0,
      show: (events) => showNewer(queries, filters, events),
      readAgain: () => void queries.invalidateQueries({ queryKey, exact: true }),
    });
    const stop = onEvent(
      (event) => passes(filters, event) && newer.add(event),
      () => newer.leftOut(),
    );
    return () => {
      stop();
      newer.stop();
    };
  }, [types, object, actor, isPaused, queries]);
}
