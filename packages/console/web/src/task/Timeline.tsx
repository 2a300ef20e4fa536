import { useQuery } from '@tanstack/react-query';
import type { Task } from '@baton/sdk';
import { baton } from '../client.ts';
import { EventLine } from '../journal/EventLine.tsx';
import { ErrorNote } from '../parts/Notes.tsx';
import styles from './task.module.css';

const shownMax = 100;

/** What has happened to the task, newest first, from the journal. */
export function Timeline({ task }: { task: Task }) {
  const query = useQuery({
    queryKey: ['tasks', 'events', task.id],
    queryFn: ({ signal }) =>
      baton.events
        .list({ entityId: task.id, tail: shownMax, order: 'desc' }, { signal })
        .then(({ items }) => items),
  });
  return (
    <section className="card stack" aria-labelledby="timeline">
      <h2 id="timeline">What has happened</h2>
      {query.isError && <ErrorNote error={query.error} />}
      <ol className={styles.timeline}>
        {query.data?.map((event) => (
          <EventLine key={event.id} event={event} isAlone />
        ))}
      </ol>
      {query.data?.length === shownMax && (
        <p className="soft">Only the newest {shownMax} events are shown.</p>
      )}
    </section>
  );
}
