import { useQuery } from '@tanstack/react-query';
import type { Task } from '@baton/sdk';
import { Who } from '../parts/Who.tsx';
import { holdersQuery } from './holders.ts';
import styles from './work.module.css';

/** A task's holder, highlighted, or otherwise its assignee. */
export function Holder({ task, nobody }: { task: Task; nobody: string }) {
  const { data } = useQuery(holdersQuery);
  const holder = task.activeClaimId === null ? undefined : data?.get(task.id);
  if (holder === undefined) return <Who id={task.assigneeId} nobody={nobody} />;
  return (
    <span className={styles.held} title="Working on it">
      <span className="visually-hidden">Held by </span>
      <Who id={holder} />
    </span>
  );
}
