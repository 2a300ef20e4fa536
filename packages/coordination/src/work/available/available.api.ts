import { QueryFlag, Uuid } from '@baton/values/wire';
import { endpoint } from '../context.ts';
import { TaskPage } from '../tasks/task.ts';
import { listAvailableWork } from './available.ts';

export const workApi = [
  endpoint({
    id: 'listAvailableWork',
    method: 'GET',
    path: '/work/available',
    summary: 'List the tasks that the caller could claim now: its own first, then by priority and age.',
    description:
      'Tasks that are assigned to the caller come first, then those that are unassigned, each the most urgent first, then the oldest. Those of others are left out unless includeAssigned is true. Tasks on hold, in a blocked status, and those before their `availableAt` are left out. Advisory: whether a task is granted is decided by :claim.',
    permission: 'tasks.read',
    query: {
      workspaceId: Uuid.optional(),
      includeDescendants: QueryFlag.optional(),
      projectId: Uuid.optional(),
      includeSubprojects: QueryFlag.optional(),
      assigneeId: Uuid.optional(),
      assignedToMe: QueryFlag.optional().describe('Overrides assigneeId.'),
      includeAssigned: QueryFlag.optional().describe(
        'With `true`, also tasks that are assigned to others: all by priority, then age.',
      ),
    },
    paging: true,
    returns: { 200: TaskPage },
    errors: ['not_found', 'invalid_cursor'],
    handle: ({ query, page }, context) => listAvailableWork(context, query, page),
  }),
];
