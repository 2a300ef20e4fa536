import { useInfiniteQuery, useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useVirtualizer } from '@tanstack/react-virtual';
import { useEffect, useRef } from 'react';
import { Priority } from '../parts/Category.tsx';
import { ErrorNote, Loading } from '../parts/Notes.tsx';
import { Holder } from './Holder.tsx';
import { NoTasks } from './NoTasks.tsx';
import { type StatusOfTasks, statusesQuery } from './statuses.ts';
import { tasksQuery } from './task-lists.ts';
import styles from './work.module.css';
import type { WorkSearch } from './work-search.ts';
import { useHidden } from './workspaces.ts';

const cardHeight = 96;

/** A column for each status of the task types in use. */
export function Board({ search, me }: { search: WorkSearch; me: string | undefined }) {
  const statuses = useQuery(statusesQuery);
  const hidden = useHidden(search);
  const { category: _category, ...anyStatus } = search;
  const some = useInfiniteQuery(tasksQuery(anyStatus, me, hidden));
  if (statuses.isError) return <ErrorNote error={statuses.error} onRetry={() => void statuses.refetch()} />;
  if (statuses.isPending) return <Loading lines={6} />;
  if (some.data?.length === 0 && !some.hasNextPage) return <NoTasks search={anyStatus} />;
  return (
    <div className={styles.board}>
      {statuses.data.map((status) => (
        <Column key={status.key} status={status} search={search} me={me} hidden={hidden} />
      ))}
    </div>
  );
}

interface ColumnProps {
  readonly status: StatusOfTasks;
  readonly search: WorkSearch;
  readonly me: string | undefined;
  readonly hidden: ReadonlySet<string>;
}

function Column({ status: { key, name }, search, me, hidden }: ColumnProps) {
  const query = useInfiniteQuery(tasksQuery(search, me, hidden, key));
  const tasks = query.data ?? [];
  const frame = useRef<HTMLDivElement>(null);
  const cards = useVirtualizer({
    count: tasks.length,
    getScrollElement: () => frame.current,
    estimateSize: () => cardHeight,
    gap: 8,
    overscan: 4,
  });
  const shown = cards.getVirtualItems();
  const last = shown.at(-1)?.index ?? 0;
  const { hasNextPage, isFetchingNextPage, fetchNextPage } = query;
  useEffect(() => {
    if (hasNextPage && !isFetchingNextPage && last > tasks.length - 20) void fetchNextPage();
  }, [hasNextPage, isFetchingNextPage, fetchNextPage, last, tasks.length]);
  return (
    <section className={styles.column} aria-label={name}>
      <h2>
        {name}{' '}
        <span className="soft">
          {tasks.length}
          {hasNextPage && '+'}
        </span>
      </h2>
      <div ref={frame} className={styles.cards} role="region" aria-label={`${name}: tasks`} tabIndex={0}>
        {query.isPending && <Loading />}
        {query.isError && <ErrorNote error={query.error} onRetry={() => void query.refetch()} />}
        {query.isSuccess && tasks.length === 0 && <p className={`soft ${styles.none}`}>No task</p>}
        <ul style={{ height: cards.getTotalSize(), position: 'relative' }}>
          {shown.map(({ index, start }) => {
            const task = tasks[index];
            if (task === undefined) return null;
            return (
              <li
                key={task.id}
                className={`card ${styles.card}`}
                style={{ transform: `translateY(${start}px)`, height: cardHeight }}
              >
                <Link to="/tasks/$ref" params={{ ref: task.publicId }} className={styles.cardTitle}>
                  {task.title}
                </Link>
                <span className={styles.cardFoot}>
                  <span className="mono soft">{task.publicId}</span>
                  <Priority priority={task.priority} />
                  <span className={styles.who}>
                    <Holder task={task} nobody="" />
                  </span>
                </span>
              </li>
            );
          })}
        </ul>
      </div>
    </section>
  );
}
