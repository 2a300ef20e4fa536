import type { Task, TaskType } from '@baton/sdk';
import type { PlannedItem } from './planned-item.ts';

type Lifecycle = TaskType['lifecycleSchema'];
type Status = Pick<PlannedItem, 'status' | 'statusKey'>;

/** The status of an open item; undefined if its type has none in that category. */
export function findOpenStatus({ status, statusKey }: Status, lifecycle: Lifecycle): string | undefined {
  const { statuses, claimStatus, initialStatus } = lifecycle;
  const category = status === 'open' ? 'active' : status;
  const named = statuses.find(({ key, category: own }) => key === statusKey && own === category);
  // A new task has no lease, so it can't have the claim status.
  if (named !== undefined && named.key !== claimStatus) return named.key;
  return status === 'open' ? initialStatus : statuses.find(({ category: own }) => own === category)?.key;
}

/**
 * The status in which to create a task, if not the initial one: the service also accepts one of the category backlog.
 */
export function findInitialStatus(item: Status, lifecycle: Lifecycle): string | undefined {
  return item.status === 'backlog' ? findOpenStatus(item, lifecycle) : undefined;
}

/** The status of a cancelled task. */
export function findCancelledStatus(
  statusKey: string | undefined,
  { statuses }: Lifecycle,
): string | undefined {
  const ends = statuses.filter(({ category }) => category === 'terminal_cancelled');
  return (ends.find(({ key }) => key === statusKey) ?? ends[0])?.key;
}

/**
 * The next status of a task whose import is unfinished; undefined if it doesn't change. A status that somebody has set
 * remains, except for `backlog`, in which imports of older versions held tasks back.
 */
export function findNextStatus(item: Status, task: Task, lifecycle: Lifecycle): string | undefined {
  const { systemStatusCategory: category, status } = task;
  if (category.startsWith('terminal_') || item.status === 'done') return undefined;
  if (item.status === 'cancelled') return findCancelledStatus(item.statusKey, lifecycle);
  const wanted = findOpenStatus(item, lifecycle);
  return wanted === status || !isUntouched(task, lifecycle) ? undefined : wanted;
}

function isUntouched({ status, systemStatusCategory: category }: Task, lifecycle: Lifecycle): boolean {
  return status === lifecycle.initialStatus || category === 'backlog';
}

/** Whether a task should be blocked, but its type has no blocked status that can be reached from the current one. */
export function isBlockedInVain(item: Status, task: Task, lifecycle: Lifecycle): boolean {
  if (item.status !== 'blocked' || task.systemStatusCategory === 'blocked') return false;
  const wanted = findOpenStatus(item, lifecycle);
  const isWayOut = wanted !== undefined && isReachable(task.status, wanted, lifecycle);
  return !isWayOut && isUntouched(task, lifecycle);
}

export function isReachable(from: string, to: string, { transitions }: Lifecycle): boolean {
  return transitions.some((move) => move.from === from && move.to.includes(to));
}
