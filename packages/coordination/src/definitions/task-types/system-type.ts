import type { Lifecycle } from './lifecycle.ts';
import { parseExecution } from './type-documents.ts';

/**
 * The built-in task type (docs/reference/tasks.md#categories): four open statuses with transitions between all of them,
 * and two terminal ones.
 */
export const systemTypeKey = 'task';

const open = ['backlog', 'todo', 'in_progress', 'blocked'];

export const systemLifecycle: Lifecycle = {
  statuses: [
    { key: 'backlog', category: 'backlog', displayName: 'Backlog' },
    { key: 'todo', category: 'active', displayName: 'To do' },
    { key: 'in_progress', category: 'active', displayName: 'In progress' },
    { key: 'blocked', category: 'blocked', displayName: 'Blocked' },
    { key: 'done', category: 'terminal_success', displayName: 'Done' },
    { key: 'cancelled', category: 'terminal_cancelled', displayName: 'Cancelled' },
  ],
  initialStatus: 'todo',
  transitions: open.map((from) => ({
    from,
    to: [...open.filter((to) => to !== from), 'done', 'cancelled'],
  })),
  claimStatus: 'in_progress',
  releaseStatus: 'todo',
  completionStatus: 'done',
};

export const systemExecution = parseExecution(undefined);
