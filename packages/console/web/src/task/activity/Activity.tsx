import { useInfiniteQuery, useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import type { Task } from '@baton/sdk';
import { type Kind, kinds } from '../../journal/sentences/sentences.ts';
import { ErrorNote, Loading } from '../../parts/Notes.tsx';
import { meQuery } from '../../queries.ts';
import { ActivityLine } from './ActivityLine.tsx';
import styles from './activity.module.css';
import { activityQuery, useNewActivity } from './activity-query.ts';
import { CommentForm, CommentList } from './Comments.tsx';
import { happeningsOf } from './merged-events.ts';

const filters = Object.entries(kinds) as [Kind, (typeof kinds)[Kind]][];

/** The history of the task as sentences, including its comments, newest first. */
export function Activity({ task }: { readonly task: Task }) {
  const [kind, setKind] = useState<Kind>();
  const me = useQuery(meQuery).data;
  // A person who may not read the journal sees only the comments.
  const mayRead = me?.permissions.includes('events.read') ?? true;
  return (
    <section className="card stack" aria-labelledby="activity">
      <div className={styles.head}>
        <h2 id="activity">Activity</h2>
        {mayRead && (
          <div className={styles.filters} role="group" aria-label="Show">
            {([[undefined, { label: 'All' }], ...filters] as const).map(([one, { label }]) => (
              <button
                key={label}
                type="button"
                className={styles.filter}
                aria-pressed={one === kind}
                onClick={() => setKind(one)}
              >
                {label}
              </button>
            ))}
          </div>
        )}
      </div>
      <CommentForm task={task} />
      {mayRead ? <Stream key={kind} task={task} kind={kind} /> : <CommentList task={task} />}
    </section>
  );
}

function Stream({ task, kind }: { readonly task: Task; readonly kind: Kind | undefined }) {
  const query = useInfiniteQuery(activityQuery(task, kind));
  useNewActivity(task.id, kind);
  const happenings = happeningsOf(query.data?.pages.flatMap(({ events }) => events) ?? []);
  return (
    <>
      {query.isError && <ErrorNote error={query.error} onRetry={() => void query.refetch()} />}
      {query.isPending && <Loading lines={4} />}
      {query.isSuccess && happenings.length === 0 && !query.hasNextPage && (
        <p className="soft">No activity of this kind yet.</p>
      )}
      <ol className={styles.stream} aria-label="Activity, the newest first">
        {happenings.map((happening) => (
          <ActivityLine key={happening.event.id} happening={happening} task={task} />
        ))}
      </ol>
      {query.hasNextPage && (
        <div className="row">
          <button
            type="button"
            disabled={query.isFetchingNextPage}
            onClick={() => void query.fetchNextPage()}
          >
            {query.isFetchingNextPage ? 'Loading …' : 'Show older activity'}
          </button>
        </div>
      )}
    </>
  );
}
