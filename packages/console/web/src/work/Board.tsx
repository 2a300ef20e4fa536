import { useQuery } from '@tanstack/react-query';
import { lazy, Suspense, useEffect, useState } from 'react';
import type { Task } from '@baton/sdk';
import { ErrorNote, Loading } from '../parts/Notes.tsx';
import { useKeys } from '../shell/keys.ts';
import { focusCard, focusedCard } from './board-focus.ts';
import { Column } from './Column.tsx';
import { type StatusOfTasks, statusesQuery } from './statuses.ts';
import { useBoardMoves } from './use-board-moves.tsx';
import styles from './work.module.css';
import type { WorkSearch } from './work-search.ts';

const loadMenu = () => import('./MoveMenu.tsx');
const MoveMenu = lazy(loadMenu);

/** A card whose menu is open, and the element beside which the menu stands. */
interface Chosen {
  readonly task: Task;
  readonly anchor: HTMLElement;
}

/** A column for each status of the task types in use. Cards are moved by dragging them, or by their menu. */
export function Board({ search, me }: { search: WorkSearch; me: string | undefined }) {
  const statuses = useQuery(statusesQuery);
  const [chosen, setChosen] = useState<Chosen>();
  const moves = useBoardMoves(statuses.data ?? []);
  useEffect(() => void loadMenu(), []);
  useKeys({
    j: () => focusCard(0, 1),
    k: () => focusCard(0, -1),
    l: () => focusCard(1, 0),
    h: () => focusCard(-1, 0),
    m: () => focusedCard()?.querySelector('button')?.click(),
  });
  if (statuses.isError) return <ErrorNote error={statuses.error} onRetry={() => void statuses.refetch()} />;
  if (statuses.isPending) return <Loading lines={6} />;
  return (
    <div className={styles.board}>
      {statuses.data.map((status: StatusOfTasks) => (
        <Column
          key={status.key}
          status={status}
          search={search}
          me={me}
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
