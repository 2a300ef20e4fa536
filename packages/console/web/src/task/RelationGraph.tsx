import { useQueries } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import type { Task, TaskRelation } from '@baton/sdk';
import { taskQuery } from '../queries.ts';
import styles from './task.module.css';

/** More than this would make the graph next to the task illegible. */
const shownMax = 6;
const width = 308;
const box = { width: 132, height: 34, gap: 8 };

/** Whether the other task of a relation precedes this one. */
function isBefore({ type, fromTaskId }: TaskRelation, taskId: string): boolean {
  const isFrom = fromTaskId === taskId;
  if (type === 'blocks') return !isFrom;
  return isFrom;
}

/**
 * The tasks that this one depends on and those that depend on it, as a graph. The list below has the same content,
 * with links for keyboards and screen readers.
 */
export function RelationGraph({ task, relations }: { task: Task; relations: readonly TaskRelation[] }) {
  const navigate = useNavigate();
  const drawn = relations.filter(({ type }) => type !== 'related_to');
  const before = drawn.filter((relation) => isBefore(relation, task.id)).slice(0, shownMax);
  const after = drawn.filter((relation) => !isBefore(relation, task.id)).slice(0, shownMax);
  const otherOf = ({ fromTaskId, toTaskId }: TaskRelation) =>
    fromTaskId === task.id ? toTaskId : fromTaskId;
  const others = useQueries({
    queries: [...before, ...after].map((relation) => taskQuery(otherOf(relation))),
  });
  if (drawn.length === 0) return null;
  const rows = Math.max(before.length, after.length, 1);
  const height = rows * (box.height + box.gap) + box.gap;
  const topOf = (index: number, count: number) =>
    (height - count * (box.height + box.gap) + box.gap) / 2 + index * (box.height + box.gap);
  const boxes = [...before, ...after].map((relation, index) => {
    const isFirst = index < before.length;
    const place = isFirst ? index : index - before.length;
    const top = topOf(place, isFirst ? before.length : after.length);
    return { relation, task: others[index]?.data, isFirst, top, left: isFirst ? 0 : width - box.width };
  });
  return (
    <svg viewBox={`0 0 ${width} ${height}`} className={styles.graph} aria-hidden="true">
      <circle cx={width / 2} cy={height / 2} r={6} className={styles.self} />
      {boxes.map(({ relation, isFirst, top }) => {
        const y = top + box.height / 2;
        const [from, to] = isFirst
          ? [
              [box.width, y],
              [width / 2 - 9, height / 2],
            ]
          : [
              [width / 2 + 9, height / 2],
              [width - box.width, y],
            ];
        return (
          <line key={relation.id} x1={from[0]} y1={from[1]} x2={to[0]} y2={to[1]} className={styles.edge} />
        );
      })}
      {boxes.map(({ relation, task: other, top, left }) => (
        <g
          key={relation.id}
          className={`${styles.node} ${other ? (styles[other.systemStatusCategory] ?? '') : ''}`}
          onClick={() => other && void navigate({ to: '/tasks/$ref', params: { ref: other.publicId } })}
        >
          <rect x={left + 0.5} y={top + 0.5} width={box.width - 1} height={box.height - 1} rx={6} />
          {/* Characters differ in width, so the nested svg clips long titles at the frame. */}
          <svg x={left} y={top} width={box.width - 6} height={box.height}>
            <text x={8} y={14}>
              {other?.publicId ?? '…'} · {(other?.status ?? '').replaceAll('_', ' ')}
            </text>
            <text x={8} y={27}>
              {shortened(other?.title ?? '')}
            </text>
          </svg>
        </g>
      ))}
    </svg>
  );
}

const charactersMax = 19;

function shortened(title: string): string {
  const letters = [...title];
  return letters.length <= charactersMax ? title : `${letters.slice(0, charactersMax - 1).join('')}…`;
}
