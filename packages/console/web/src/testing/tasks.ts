import type { Task, TaskTransitions } from '@baton/sdk';
import { type Answers, exampleOf, Refusal } from './service.ts';

export const graceId = '0190b2c4-0000-7000-8000-0000000000cc';

let lastNumber = 100;

/** Returns an open, unassigned task with only a title. */
export function taskWith(other: Partial<Task> = {}): Task {
  lastNumber += 1;
  return exampleOf('tasks.get', {
    id: `0190b2c4-0000-7000-8000-${String(lastNumber).padStart(12, '0')}`,
    publicId: `TASK-000${lastNumber}`,
    title: 'Write the report',
    description: '',
    status: 'open',
    systemStatusCategory: 'active',
    priority: 'medium',
    workspaceId: null,
    projectId: null,
    ownerId: null,
    assigneeId: null,
    activeClaimId: null,
    startDate: null,
    dueDate: null,
    goalId: null,
    customFields: {},
    acceptance: [],
    evidence: [],
    verification: null,
    createdBy: graceId,
    version: 3,
    ...other,
  });
}

export const target = (
  status: string,
  displayName: string,
  route: 'update' | 'complete' = 'update',
): TaskTransitions['targets'][number] => ({ status, displayName, route, systemStatusCategory: 'active' });

/** Returns the responses that the page of a task needs. It finds other tasks by id or public id. */
export function answersOf(task: Task, others: readonly Task[] = []): Answers {
  return {
    'tasks.get': ({ ids: [ref] }) =>
      [task, ...others].find(({ id, publicId }) => id === ref || publicId === ref) ??
      new Refusal(404, 'not_found'),
    'tasks.listTransitions': exampleOf('tasks.listTransitions', {
      targets: [target('in_progress', 'In progress'), target('done', 'Done', 'complete')],
    }),
    'tasks.getClaimability': exampleOf('tasks.getClaimability', { claimable: true, reasons: [] }),
    'tasks.listRelations': { items: [], nextCursor: null },
  };
}
