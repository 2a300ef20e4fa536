import { useInfiniteQuery, useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useVirtualizer } from '@tanstack/react-virtual';
import { type DragEvent, lazy, Suspense, useEffect, useRef, useState } from 'react';
import type { Task } from '@baton/sdk';
import { Priority } from '../parts/Category.tsx';
import { ErrorNote, Loading } from '../parts/Notes.tsx';
import { useKeys } from '../shell/keys.ts';
import { focusCard, focusedCard } from './board/focus.ts';
import { type BoardMoves, useBoardMoves } from './board/use-board-moves.tsx';
import { Holder } from './Holder.tsx';
import { NoTasks } from './NoTasks.tsx';
import { type StatusOfTasks, statusesQuery } from './statuses.ts';
import { tasksQuery } from './task-lists.ts';
import styles from './work.module.css';
import type { WorkSearch } from './work-search.ts';
import { useHidden } from './workspaces.ts';

const loadMenu = () => import('./board/MoveMenu.tsx');
const MoveMenu = lazy(loadMenu);

const cardHeight = 118;
/** The next page is requested when this many cards are left to scroll. */
const cardsAhead = 20;

/** A card whose menu is open, and the menu's anchor. */
interface Chosen {
  readonly task: Task;
  readonly anchor: HTMLElement;
}

/** A column for each status of the task types in use. Cards are moved by drag and drop or with their menu. */
export function Board({ search, me }: { search: WorkSearch; me: string | undefined }) {
  const statuses = useQuery(statusesQuery);
  const hidden = useHidden(search);
  const { category: _category, ...anyStatus } = search;
  const some = useInfiniteQuery(tasksQuery(anyStatus, me, hidden));
  const [chosen, setChosen] = useState<Chosen>();
  const moves = useBoardMoves(statuses.data ?? []);
  useEffect(() => void loadMenu().catch(() => undefined), []);
  useKeys({
    j: () => focusCard(0, 1),
    k: () => focusCard(0, -1),
    l: () => focusCard(1, 0),
    h: () => focusCard(-1, 0),
    m: () => focusedCard()?.querySelector('button')?.click(),
  });
  if (statuses.isError && statuses.data === undefined)
    return <ErrorNote error={statuses.error} onRetry={() => void statuses.refetch()} />;
  if (statuses.isPending) return <Loading lines={6} />;
  if (some.data?.length === 0 && !some.hasNextPage) return <NoTasks search={anyStatus} />;
  return (
    <div className={styles.board}>
      {statuses.data.map((status) => (
        <Column
          key={status.key}
          status={status}
          search={search}
          me={me}
          hidden={hidden}
          moves={moves}
          onChoose={(task, anchor) => setChosen({ task, anchor })}
        />
      ))}
      <Suspense>
        {chosen && (
          <MoveMenu
            key={chosen.task.id}
            task={chosen.task}
            anchor={chosen.anchor}
            onMove={(status) => moves.move(chosen.task, status)}
            onClose={() => setChosen(undefined)}
          />
        )}
      </Suspense>
    </div>
  );
}

interface ColumnProps {
  readonly status: StatusOfTasks;
  readonly search: WorkSearch;
  readonly me: string | undefined;
  readonly hidden: ReadonlySet<string>;
  readonly moves: BoardMoves;
  onChoose(task: Task, anchor: HTMLElement): void;
}

/** The tasks of one status. Only visible cards are in the document. */
function Column({ status: { key, name }, search, me, hidden, moves, onChoose }: ColumnProps) {
  const query = useInfiniteQuery(tasksQuery(search, me, hidden, key));
  const tasks = moves.shownIn(key, query.data ?? []);
  const frame = useRef<HTMLDivElement>(null);
  const [isOver, setOver] = useState(false);
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
    if (hasNextPage && !isFetchingNextPage && last > tasks.length - cardsAhead) void fetchNextPage();
  }, [hasNextPage, isFetchingNextPage, fetchNextPage, last, tasks.length]);
  // A card that is moved here is placed first, scrolled into view, and keeps its focus.
  const { arrivedId } = moves;
  const isArrival = tasks[0]?.id === arrivedId && arrivedId !== undefined;
  useEffect(() => {
    if (!isArrival) return;
    frame.current?.scrollTo({ top: 0 });
    frame.current?.querySelector<HTMLElement>(`[data-task="${arrivedId}"] a`)?.focus();
  }, [isArrival, arrivedId]);

  const fit = moves.fits(key);
  const onDragOver = (event: DragEvent) => {
    if (moves.dragged === undefined || moves.dragged.status === key) return;
    // Without this call the browser rejects the drop.
    event.preventDefault();
    setOver(true);
  };
  const onDrop = (event: DragEvent) => {
    setOver(false);
    if (moves.dragged === undefined || moves.dragged.status === key) return;
    event.preventDefault();
    moves.move(moves.dragged, { status: key, displayName: name });
    moves.drag(undefined);
  };
  return (
    <section
      className={`${styles.column} ${query.isSuccess && tasks.length === 0 ? styles.vacant : ''} ${fit === false ? styles.unfit : ''} ${fit ? styles.fit : ''} ${isOver ? styles.over : ''}`}
      aria-label={name}
      data-status={key}
      onDragOver={onDragOver}
      onDragLeave={({ currentTarget, relatedTarget }) => {
        if (!currentTarget.contains(relatedTarget as Node | null)) setOver(false);
      }}
      onDrop={onDrop}
    >
      <h2 title={name}>
        {name}{' '}
        <span className="soft">
          {tasks.length}
          {hasNextPage && '+'}
        </span>
      </h2>
      <div ref={frame} className={styles.cards} role="region" aria-label={`${name}: tasks`} tabIndex={0}>
        {query.isPending && <Loading />}
        {query.isError && query.data === undefined && (
          <ErrorNote error={query.error} onRetry={() => void query.refetch()} />
        )}
        {query.isSuccess && tasks.length === 0 && <p className={`soft ${styles.none}`}>No tasks</p>}
        <ul style={{ height: cards.getTotalSize(), position: 'relative' }}>
          {shown.map(({ index, start }) => {
            const task = tasks[index];
            if (task === undefined) return null;
            return (
              <li
                key={task.id}
                data-task={task.id}
                className={`card ${styles.card} ${moves.isMoving(task) ? styles.moving : ''} ${task.id === moves.refusedId ? styles.refused : ''}`}
                style={{ transform: `translateY(${start}px)`, height: cardHeight }}
                draggable
                onDragStart={({ dataTransfer }) => {
                  dataTransfer.setData('text/plain', task.publicId);
                  dataTransfer.effectAllowed = 'move';
                  moves.drag(task);
                }}
                onDragEnd={() => moves.drag(undefined)}
              >
                <span className="mono soft">{task.publicId}</span>
                <button
                  type="button"
                  className={styles.move}
                  aria-haspopup="menu"
                  aria-label={`Move ${task.publicId}`}
                  title="Move (m)"
                  disabled={moves.isMoving(task)}
                  onClick={({ currentTarget }) => onChoose(task, currentTarget)}
                >
                  ⋯
                </button>
                <Link
                  to="/tasks/$ref"
                  params={{ ref: task.publicId }}
                  className={styles.cardTitle}
                  title={task.title}
                  draggable={false}
                >
                  {task.title}
                </Link>
                <span className={styles.cardFoot}>
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
