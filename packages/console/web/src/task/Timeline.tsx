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
/**
 * Claims and runs have their own event streams. This many events are read per stream, from the newest streams only.
 */
const partsMax = 10;
const eventsOfPartMax = 20;
/** Events that change neither the version nor the last progress of their run. */
const silent = /^run\.(stalled|child\.launched)$/;

/** The journal's events of the task, its claims and its runs, newest first. */
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
    // A checkpoint changes the last progress, but not the version.
    ...(runs.data ?? []).map(({ id, version, lastProgressAt }) => ({
      id,
      state: `${version} ${lastProgressAt}`,
    })),
  ];
  // The key contains the state, so this refetches when the claim or run has changed, not on every task event.
  const ofParts = useQueries({
    queries: parts.map(({ id, state }) => ({
      queryKey: ['events', 'of', id, state],
      queryFn: ({ signal }: { signal: AbortSignal }) =>
        baton.events.list({ entityId: id, tail: eventsOfPartMax }, { signal }).then(({ items }) => items),
      // The events of its previous state are shown until then. `keepPreviousData` does not work across keys in
      // `useQueries`.
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
      <h2 id="timeline">Activity</h2>
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
