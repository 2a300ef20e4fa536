import { useQueries, useQuery, useQueryClient } from '@tanstack/react-query';
import { useEffect } from 'react';
import type { JournalEvent, Task } from '@baton/sdk';
import { baton } from '../client.ts';
import { EventLine } from '../journal/EventLine.tsx';
import { onEvent } from '../live.ts';
import { ErrorNote } from '../parts/Notes.tsx';
import { runsQuery } from './runs.ts';
import styles from './task.module.css';

const shownMax = 100;
/** Claims and runs write into streams of their own: those of the newest so many are read, this many events of each. */
const partsMax = 10;
const eventsOfPartMax = 20;
/** Events that change neither the version of their run nor the time of its last progress. */
const silent = /^run\.(stalled|child\.launched)$/;

/** What has happened to the task, its claims and its runs, newest first, from the journal. */
export function Timeline({ task }: { task: Task }) {
  const queries = useQueryClient();
  const own = useQuery({
    queryKey: ['tasks', 'events', task.id],
    queryFn: ({ signal }) =>
      baton.events
        .list({ entityId: task.id, tail: shownMax, limit: shownMax, order: 'desc' }, { signal })
        .then(({ items }) => items),
  });
  const claims = useQuery({
    queryKey: ['tasks', 'claims', task.id],
    queryFn: ({ signal }) =>
      baton.claims.list({ taskId: task.id, limit: partsMax }, { signal }).then(({ items }) => items),
    enabled: own.isSuccess,
  });
  const runs = useQuery({ ...runsQuery(task), enabled: own.isSuccess });
  const parts = [
    ...(claims.data ?? []).map(({ id, status }) => ({ id, state: status })),
    // A checkpoint leaves the version as it is.
    ...(runs.data ?? []).map(({ id, version, lastProgressAt }) => ({
      id,
      state: `${version} ${lastProgressAt}`,
    })),
  ];
  // Read again when the part has changed, not at every change of any task: its key says so.
  const ofParts = useQueries({
    queries: parts.map(({ id, state }) => ({
      queryKey: ['events', 'of', id, state],
      queryFn: ({ signal }: { signal: AbortSignal }) =>
        baton.events.list({ entityId: id, tail: eventsOfPartMax }, { signal }).then(({ items }) => items),
      // Those of its former state stay in sight until then: `keepPreviousData` knows nothing of a query of another key here.
      placeholderData: () =>
        queries
          .getQueriesData<JournalEvent[]>({ queryKey: ['events', 'of', id] })
          .findLast(([, events]) => events !== undefined)?.[1],
      staleTime: Number.POSITIVE_INFINITY,
      retry: false,
    })),
  });
  useEffect(
    () =>
      onEvent(({ type, entityId }) => {
        if (silent.test(type)) void queries.invalidateQueries({ queryKey: ['events', 'of', entityId] });
      }),
    [queries],
  );
  const events = [...(own.data ?? []), ...ofParts.flatMap(({ data = [] }) => data)]
    .sort(newestFirst)
    .slice(0, shownMax);
  return (
    <section className="card stack" aria-labelledby="timeline">
      <h2 id="timeline">What has happened</h2>
      {own.isError && own.data === undefined && <ErrorNote error={own.error} />}
      <ol className={styles.timeline}>
        {events.map((event) => (
          <EventLine key={event.id} event={event} isAlone />
        ))}
      </ol>
      {events.length === shownMax && <p className="soft">Only the newest {shownMax} events are shown.</p>}
    </section>
  );
}

function newestFirst(one: JournalEvent, other: JournalEvent): number {
  return other.occurredAt.localeCompare(one.occurredAt) || other.sequence - one.sequence;
}
