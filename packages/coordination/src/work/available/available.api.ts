import { QueryFlag, Uuid } from '@baton/kernel/wire';
import { endpoint } from '../context.ts';
import { TaskPage } from '../tasks/task.ts';
import { listAvailableWork } from './available.ts';

export const workApi = [
  endpoint({
    id: 'listAvailableWork',
    method: 'GET',
    path: '/work/available',
    summary: 'List the tasks that the caller could claim now: the most urgent first, then the oldest.',
    description: 'Advisory: whether a task is granted is decided by :claim.',
    permission: 'tasks.read',
    query: {
      workspaceId: Uuid.optional(),
      includeDescendants: QueryFlag.optional(),
      projectId: Uuid.optional(),
      includeSubprojects: QueryFlag.optional(),
      assigneeId: Uuid.optional(),
      assignedToMe: QueryFlag.optional().describe('Overrides assigneeId.'),
    },
    paging: true,
    returns: { 200: TaskPage },
    errors: ['not_found', 'invalid_cursor'],
    handle: ({ query, page }, context) => listAvailableWork(context, query, page),
  }),
];
