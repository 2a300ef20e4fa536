import { useInfiniteQuery } from '@tanstack/react-query';
import { Link, useNavigate } from '@tanstack/react-router';
import { useVirtualizer } from '@tanstack/react-virtual';
import { useEffect, useRef, useState } from 'react';
import { Priority, Status } from '../parts/Category.tsx';
import { Moment } from '../parts/Moment.tsx';
import { ErrorNote, Loading } from '../parts/Notes.tsx';
import { useKeys } from '../shell/keys.ts';
import { Holder } from './Holder.tsx';
import { NoTasks } from './NoTasks.tsx';
import { tasksQuery } from './task-lists.ts';
import styles from './work.module.css';
import type { WorkSearch } from './work-search.ts';
import { useHidden } from './workspaces.ts';

const rowHeight = 38;
/** The next page is requested when this many rows are left to scroll. */
const rowsAhead = 60;

/** The tasks of a search. Only visible rows are in the document. */
export function TaskList({ search, me }: { search: WorkSearch; me: string | undefined }) {
  const navigate = useNavigate();
  const query = useInfiniteQuery(tasksQuery(search, me, useHidden(search)));
  const tasks = query.data ?? [];
  const frame = useRef<HTMLDivElement>(null);
  const [at, setAt] = useState(-1);
  const rows = useVirtualizer({
    count: tasks.length,
    getScrollElement: () => frame.current,
    estimateSize: () => rowHeight,
    overscan: 12,
  });
  const shown = rows.getVirtualItems();
  const last = shown.at(-1)?.index ?? 0;
  const { hasNextPage, isFetchingNextPage, fetchNextPage } = query;
  useEffect(() => {
    if (hasNextPage && !isFetchingNextPage && last > tasks.length - rowsAhead) void fetchNextPage();
  }, [hasNextPage, isFetchingNextPage, fetchNextPage, last, tasks.length]);

  // A distant row renders some frames after the scroll, so it gets the focus once it exists.
  const toFocus = useRef<number>(undefined);
  useEffect(() => {
    const link = frame.current?.querySelector<HTMLElement>(`[data-index="${toFocus.current}"] a`);
    if (!link) return;
    toFocus.current = undefined;
    link.focus();
  });
  const move = (step: number) => {
    if (tasks.length === 0) return;
    const next = Math.min(Math.max(at + step, 0), tasks.length - 1);
    toFocus.current = next;
    setAt(next);
    rows.scrollToIndex(next);
  };
  useKeys({
    j: () => move(1),
    k: () => move(-1),
    Enter: () => {
      const task = tasks[at];
      if (task !== undefined) void navigate({ to: '/tasks/$ref', params: { ref: task.publicId } });
    },
  });

  if (query.isError && query.data === undefined)
    return <ErrorNote error={query.error} onRetry={() => void query.refetch()} />;
  if (query.isPending) return <Loading lines={8} />;
  if (tasks.length === 0) return <NoTasks search={search} />;
  return (
    <div ref={frame} className={styles.frame} role="region" aria-label="Tasks" tabIndex={0}>
      <ul style={{ height: rows.getTotalSize(), position: 'relative' }}>
        {shown.map(({ index, start }) => {
          const task = tasks[index];
          if (task === undefined) return null;
          return (
            <li
              key={task.id}
              data-index={index}
              aria-setsize={hasNextPage ? -1 : tasks.length}
              aria-posinset={index + 1}
              className={`${styles.line} ${index === at ? styles.at : ''}`}
              style={{ transform: `translateY(${start}px)`, height: rowHeight }}
            >
              <span className={`mono soft ${styles.id}`}>{task.publicId}</span>
              <Link
                to="/tasks/$ref"
                params={{ ref: task.publicId }}
                className={styles.title}
                title={task.title}
                onFocus={() => setAt(index)}
              >
                {task.title}
              </Link>
              <Status task={task} />
              <Priority priority={task.priority} />
              <span className={styles.who}>
                <Holder task={task} nobody="–" />
              </span>
              <span className={`soft ${styles.when}`}>
                <Moment at={task.updatedAt} />
              </span>
            </li>
          );
        })}
      </ul>
    </div>
  );
}
