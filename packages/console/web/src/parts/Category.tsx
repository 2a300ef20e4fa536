import type { Task } from '@baton/sdk';
import styles from './category.module.css';

export type Category = Task['systemStatusCategory'];

/** The status categories in workflow order. Statuses of different task types share them. */
export const categories: readonly [Category, string][] = [
  ['backlog', 'Backlog'],
  ['active', 'Open'],
  ['blocked', 'Blocked'],
  ['terminal_success', 'Done'],
  ['terminal_cancelled', 'Cancelled'],
];

/** A task's status in the colour of its category. The dot is filled while somebody holds the task. */
export function Status({ task }: { task: Pick<Task, 'status' | 'systemStatusCategory' | 'activeClaimId'> }) {
  const isHeld = task.activeClaimId !== null;
  return (
    <span className={`${styles.status} ${styles[task.systemStatusCategory]} ${isHeld ? styles.held : ''}`}>
      {task.status.replaceAll('_', ' ')}
    </span>
  );
}

/** The priority of a task; medium, the default, is subdued. */
export function Priority({ priority }: Pick<Task, 'priority'>) {
  return <span className={`${styles.priority} ${styles[priority]}`}>{priority}</span>;
}
