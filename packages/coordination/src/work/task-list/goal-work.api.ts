import { idParams } from '@baton/values/keys';
import { QueryFlag, QueryWord } from '@baton/values/wire';
import { endpoint } from '../context.ts';
import { TaskPage } from '../tasks/task.ts';
import { listGoalWork } from './task-list.ts';

export const goalWorkApi = [
  endpoint({
    id: 'listGoalWork',
    method: 'GET',
    path: '/goals/{id}/work',
    summary: 'List the tasks of a goal, newest first.',
    description: 'Also needs tasks.read.',
    permission: 'goals.read',
    alsoOneOf: ['tasks.read'],
    params: idParams,
    query: { includeSubgoals: QueryFlag.optional(), systemStatusCategory: QueryWord.optional() },
    paging: true,
    returns: { 200: TaskPage },
    errors: ['not_found', 'invalid_status_category', 'invalid_cursor'],
    handle: ({ params, query, page }, context) => listGoalWork(context, params.id, query, page),
  }),
];
