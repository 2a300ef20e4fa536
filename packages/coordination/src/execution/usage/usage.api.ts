import { QueryFlag } from '@baton/values/wire';
import { TaskRef } from '../../work/tasks/task-ref.ts';
import { endpoint } from '../context.ts';
import { getTaskUsage } from './task-usage.ts';
import { Usage } from './usage.ts';

export const usageApi = [
  endpoint({
    id: 'getTaskUsage',
    method: 'GET',
    path: '/tasks/{ref}/usage',
    summary: 'What all attempts at a task have used: tokens, and money by currency.',
    description: 'With `includeDescendants` also those at its subtasks and at the tasks spawned by it.',
    permission: 'tasks.read',
    params: { ref: TaskRef },
    query: { includeDescendants: QueryFlag.optional() },
    returns: { 200: Usage },
    errors: ['not_found'],
    handle: ({ params, query }, context) =>
      getTaskUsage(context, params.ref, query.includeDescendants ?? false),
  }),
];
