import { z } from 'zod';
import { InstantInput, QueryFlag, Uuid } from '@baton/kernel/wire';
import { endpoint } from '../context.ts';
import { TaskPage } from '../tasks/task.ts';
import { listTasks } from './task-list.ts';

export const taskListApi = [
  endpoint({
    id: 'listTasks',
    method: 'GET',
    path: '/tasks',
    summary: 'List tasks, newest first, or by a date with the nearest first and undated last.',
    permission: 'tasks.read',
    query: {
      status: z.string().optional(),
      systemStatusCategory: z.string().optional(),
      typeKey: z.string().optional(),
      priority: z.string().optional(),
      ownerId: Uuid.optional(),
      assigneeId: Uuid.optional(),
      workspaceId: Uuid.optional(),
      includeDescendants: QueryFlag.optional(),
      projectId: Uuid.optional(),
      includeSubprojects: QueryFlag.optional(),
      goalId: Uuid.optional(),
      startFrom: InstantInput.optional(),
      startTo: InstantInput.optional(),
      dueFrom: InstantInput.optional(),
      dueTo: InstantInput.optional(),
      sort: z.string().optional().describe('startDate or dueDate; without it the newest come first.'),
      q: z
        .string()
        .optional()
        .describe(
          'Words that each occur in the title, the description or the public id; 200 characters, 10 words.',
        ),
    },
    paging: true,
    returns: { 200: TaskPage },
    errors: [
      'invalid_status',
      'invalid_status_category',
      'invalid_priority',
      'invalid_search',
      'invalid_sort',
      'not_found',
      'invalid_cursor',
    ],
    handle: ({ query, page }, context) => listTasks(context, query, page),
  }),
];
