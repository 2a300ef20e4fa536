import { InstantInput, QueryFlag, QueryWord, Uuid } from '@baton/values/wire';
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
      status: QueryWord.optional(),
      systemStatusCategory: QueryWord.optional(),
      typeKey: QueryWord.optional(),
      priority: QueryWord.optional(),
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
      sort: QueryWord.optional().describe('startDate or dueDate; newest first by default.'),
      q: QueryWord.optional().describe(
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
