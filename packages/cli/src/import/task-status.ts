import type { TaskType } from '@baton/sdk';
import type { PlannedItem } from './planned-item.ts';

type Lifecycle = TaskType['lifecycleSchema'];

/** The status that an open item gets; undefined for the one that its type gives by itself. */
export function openStatusOf(
  { status, statusKey }: Pick<PlannedItem, 'status' | 'statusKey'>,
  lifecycle: Lifecycle,
): string | undefined {
  const { statuses, claimStatus, initialStatus } = lifecycle;
  const category = status === 'open' ? 'active' : status;
  const named = statuses.find(({ key, category: own }) => key === statusKey && own === category);
  // Nobody holds a lease on a new task.
  if (named !== undefined && named.key !== claimStatus) return named.key;
  return status === 'open' ? initialStatus : statuses.find(({ category: own }) => own === category)?.key;
}

/** The status of a task that is not wanted any more. */
export function cancelledStatusOf(
  statusKey: string | undefined,
  { statuses }: Lifecycle,
): string | undefined {
  const ends = statuses.filter(({ category }) => category === 'terminal_cancelled');
  return (ends.find(({ key }) => key === statusKey) ?? ends[0])?.key;
}

/** A status in which nobody is offered the task, from which it can go on to the one that it shall have. */
export function heldStatusOf(wanted: string | undefined, lifecycle: Lifecycle): string | undefined {
  const to = wanted ?? lifecycle.initialStatus;
  const leading = new Set(
    lifecycle.transitions.filter((move) => move.to.includes(to)).map(({ from }) => from),
  );
  return lifecycle.statuses.find(({ key, category }) => category === 'backlog' && leading.has(key))?.key;
}
