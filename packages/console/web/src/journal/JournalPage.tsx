import { useQuery, useQueryClient } from '@tanstack/react-query';
import { getRouteApi } from '@tanstack/react-router';
import { useEffect, useState } from 'react';
import type { JournalEvent } from '@baton/sdk';
import { baton } from '../client.ts';
import { onEvent } from '../live.ts';
import { Empty, ErrorNote, Loading } from '../parts/Notes.tsx';
import { EventLine } from './EventLine.tsx';
import styles from './journal.module.css';

const route = getRouteApi('/shell/journal');
const shownMax = 200;
const typesMax = 20;

export interface JournalSearch {
  /** Prefixes of types, separated by commas. */
  readonly types?: string;
}

export function journalSearch({ types }: Record<string, unknown>): JournalSearch {
  return typeof types === 'string' && types !== '' ? { types: types.slice(0, 400) } : {};
}

/** The newest events of the tenant, and those that come while the page is open. */
export function JournalPage() {
  const { types = '' } = route.useSearch();
  const navigate = route.useNavigate();
  const queries = useQueryClient();
  const [isPaused, setPaused] = useState(false);
  const prefixes = types
    .split(',')
    .map((type) => type.trim())
    .filter(Boolean)
    .slice(0, typesMax);
  const asked = prefixes.join(',');
  const query = useQuery({
    queryKey: ['journal', asked],
    queryFn: ({ signal }) =>
      baton.events
        .list({ tail: shownMax, order: 'desc', ...(asked && { types: asked }) }, { signal })
        .then(({ items }) => items),
  });
  useEffect(() => {
    if (isPaused) return;
    return onEvent((event) => {
      const wanted = asked.split(',').filter(Boolean);
      if (wanted.length > 0 && !wanted.some((prefix) => event.type.startsWith(prefix))) return;
      queries.setQueryData<JournalEvent[]>(['journal', asked], (shown) =>
        shown === undefined || shown.some(({ id }) => id === event.id)
          ? shown
          : [event, ...shown].slice(0, shownMax),
      );
    });
  }, [asked, isPaused, queries]);
  return (
    <div className="page">
      <header className="row">
        <h1>Journal</h1>
        <input
          type="search"
          key={types}
          defaultValue={types}
          aria-label="Types of events, by their beginning"
          placeholder="task., run.succeeded"
          maxLength={400}
          onKeyDown={({ key, currentTarget }) => {
            if (key === 'Enter')
              void navigate({ search: currentTarget.value ? { types: currentTarget.value } : {} });
          }}
        />
        <button type="button" aria-pressed={isPaused} onClick={() => setPaused(!isPaused)}>
          {isPaused ? 'Go on' : 'Pause'}
        </button>
      </header>
      {query.isError && <ErrorNote error={query.error} onRetry={() => void query.refetch()} />}
      {query.isPending && <Loading lines={8} />}
      {query.data?.length === 0 && (
        <Empty title="No event is like this">Events appear here as they happen.</Empty>
      )}
      <ol className={styles.list}>
        {query.data?.map((event) => (
          <EventLine key={event.id} event={event} />
        ))}
      </ol>
    </div>
  );
}
