import { QueryFlag, Uuid } from '@baton/values/wire';
import { endpoint } from '../context.ts';
import { TaskPage } from '../tasks/task.ts';
import { listAvailableWork } from './available.ts';

export const workApi = [
  endpoint({
    id: 'listAvailableWork',
    method: 'GET',
    path: '/work/available',
    summary:
      'List the tasks that the caller can claim now: those assigned to the caller first, then by priority and age.',
    description:
      'Tasks assigned to the caller are first, then unassigned ones, each ordered by priority, then age. Those of ' +
      'others are included only if includeAssigned is true. Tasks on hold, in a blocked status, or before their ' +
      '`availableAt` are excluded. The list is advisory: :claim decides whether a task is granted.',
    permission: 'tasks.read',
    query: {
      workspaceId: Uuid.optional(),
      includeDescendants: QueryFlag.optional(),
      projectId: Uuid.optional(),
      includeSubprojects: QueryFlag.optional(),
      assigneeId: Uuid.optional(),
      assignedToMe: QueryFlag.optional().describe('Overrides assigneeId.'),
      includeAssigned: QueryFlag.optional().describe(
        'With `true`, includes tasks assigned to others: all by priority, then age.',
      ),
    },
    paging: true,
    returns: { 200: TaskPage },
    errors: ['not_found', 'invalid_cursor'],
    handle: ({ query, page }, context) => listAvailableWork(context, query, page),
  }),
];
