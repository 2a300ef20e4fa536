import type { Task } from '@baton/sdk';
import styles from './category.module.css';

export type Category = Task['systemStatusCategory'];

/** The categories in the order in which work goes through them. Statuses of different types share them. */
export const categories: readonly [Category, string][] = [
  ['backlog', 'Backlog'],
  ['active', 'Open'],
  ['blocked', 'Blocked'],
  ['terminal_success', 'Done'],
  ['terminal_cancelled', 'Cancelled'],
];

/** The status of a task, by its own word, in the colour of its category; the dot is full while somebody holds the task. */
export function Status({ task }: { task: Pick<Task, 'status' | 'systemStatusCategory' | 'activeClaimId'> }) {
  const isHeld = task.activeClaimId !== null;
  return (
    <span className={`${styles.status} ${styles[task.systemStatusCategory]} ${isHeld ? styles.held : ''}`}>
      {task.status.replaceAll('_', ' ')}
    </span>
  );
}

/** The priority of a task; medium, the usual one, is quiet. */
export function Priority({ priority }: Pick<Task, 'priority'>) {
  return <span className={`${styles.priority} ${styles[priority]}`}>{priority}</span>;
}
