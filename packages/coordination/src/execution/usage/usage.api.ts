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
    summary: 'Read the usage of all attempts at a task: tokens, and costs by currency.',
    description: 'With `includeDescendants`, includes the usage of its subtasks and spawned tasks.',
    permission: 'tasks.read',
    params: { ref: TaskRef },
    query: { includeDescendants: QueryFlag.optional() },
    returns: { 200: Usage },
    errors: ['not_found'],
    handle: ({ params, query }, context) =>
      getTaskUsage(context, params.ref, query.includeDescendants ?? false),
  }),
];
