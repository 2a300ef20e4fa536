import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import type { Task } from '@baton/sdk';
import { ErrorNote } from '../../parts/Notes.tsx';
import { notify } from '../../parts/Notices.tsx';
import type { StatusOfTasks } from '../statuses.ts';
import { moveTask, type Target, transitionsQuery } from './moves.ts';
import { Refused } from './Refused.tsx';

/** The target status of a move. */
export type Destination = Pick<Target, 'status' | 'displayName'>;

/** The pending moves of a board. */
export interface BoardMoves {
  /** The card that is being dragged. */
  readonly dragged: Task | undefined;
  /** The card that was moved last, while its request is pending. It has the focus. */
  readonly arrivedId: string | undefined;
  /** The card whose move was rejected, for some seconds. */
  readonly refusedId: string | undefined;
  drag(task: Task | undefined): void;
  /**
   * Whether the dragged card may be dropped in a column; undefined if none is dragged or the transitions are loading.
   */
  fits(status: string): boolean | undefined;
  /** Shows the card in its new column immediately; returns it, with the reason, if Baton rejects the move. */
  move(task: Task, to: Destination): void;
  isMoving(task: Task): boolean;
  /** The cards of a column with pending moves applied, moved cards first. */
  shownIn(status: string, read: readonly Task[]): readonly Task[];
}

const refusedMs = 4_000;

/** @param statuses of the columns, for their names */
export function useBoardMoves(statuses: readonly StatusOfTasks[]): BoardMoves {
  const queries = useQueryClient();
  const [dragged, drag] = useState<Task>();
  const [moving, setMoving] = useState<ReadonlyMap<string, { task: Task; to: string }>>(new Map());
  const [arrivedId, setArrivedId] = useState<string>();
  const [refusedId, setRefusedId] = useState<string>();
  const { data } = useQuery({
    ...transitionsQuery(dragged ?? { id: '', version: 0 }),
    enabled: dragged !== undefined,
  });
  useEffect(() => {
    if (refusedId === undefined) return;
    const timer = setTimeout(setRefusedId, refusedMs, undefined);
    return () => clearTimeout(timer);
  }, [refusedId]);
  // A card that leaves the document during a drag gets no `dragend`, so the drag ends when the pointer moves without a
  // pressed button. One earlier pointer event with a button may still arrive after the drag has started.
  useEffect(() => {
    if (dragged === undefined) return;
    const end = ({ buttons }: PointerEvent) => {
      if (buttons === 0) drag(undefined);
    };
    addEventListener('pointermove', end);
    return () => removeEventListener('pointermove', end);
  }, [dragged]);

  function settle(task: Task) {
    setMoving((before) => new Map([...before].filter(([id]) => id !== task.id)));
    setArrivedId((before) => (before === task.id ? undefined : before));
  }
  function reject(task: Task) {
    setRefusedId(task.id);
    settle(task);
  }
  const nameOf = (status: string) => statuses.find(({ key }) => key === status)?.name ?? status;

  async function move(task: Task, to: Destination) {
    setMoving((before) => new Map(before).set(task.id, { task, to: to.status }));
    setArrivedId(task.id);
    try {
      const { targets } = await queries.query(transitionsQuery(task));
      const target = targets.find(({ status }) => status === to.status);
      if (target === undefined) {
        reject(task);
        const allowed = targets.map(({ displayName }) => displayName).join(', ') || 'no other status';
        const from = nameOf(task.status);
        notify(
          `${task.publicId} was not moved: its type allows ${from} → ${allowed}, not ${to.displayName}.`,
          { isBad: true },
        );
        return;
      }
      const refusal = await moveTask(task, target);
      if (refusal !== undefined) {
        reject(task);
        notify(<Refused task={task} to={target.displayName} refusal={refusal} />, { isBad: true });
      }
      await queries.invalidateQueries({ queryKey: ['tasks'] });
    } catch (error) {
      reject(task);
      notify(<ErrorNote error={error} />, { isBad: true });
    } finally {
      settle(task);
    }
  }

  return {
    dragged,
    arrivedId,
    refusedId,
    drag,
    fits: (status) =>
      dragged === undefined || data === undefined || dragged.status === status
        ? undefined
        : data.targets.some((target) => target.status === status),
    move: (task, to) => void move(task, to),
    isMoving: ({ id }) => moving.has(id),
    shownIn(status, read) {
      if (moving.size === 0) return read;
      const coming = [...moving.values()].filter(
        ({ task, to }) => to === status && !read.some(({ id }) => id === task.id),
      );
      const staying = read.filter(({ id }) => (moving.get(id)?.to ?? status) === status);
      return [...coming.map(({ task }) => task), ...staying];
    },
  };
}
