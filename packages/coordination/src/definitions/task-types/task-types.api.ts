import { pageOf, QueryWord, Uuid } from '@baton/kernel/wire';
import { endpoint } from '../context.ts';
import { TaskType } from './task-type.ts';
import { getTaskType, listTaskTypes } from './task-types.ts';

export const taskTypesApi = [
  endpoint({
    id: 'listTaskTypes',
    method: 'GET',
    path: '/task-types',
    summary: 'List task types, newest first.',
    permission: 'task_types.read',
    query: { key: QueryWord.optional(), status: QueryWord.optional() },
    paging: true,
    returns: { 200: pageOf(TaskType) },
    errors: ['invalid_status', 'invalid_cursor'],
    handle: ({ query, page }, context) => listTaskTypes(context, query, page),
  }),
  endpoint({
    id: 'getTaskType',
    method: 'GET',
    path: '/task-types/{id}',
    summary: 'Read a task type.',
    permission: 'task_types.read',
    params: { id: Uuid },
    returns: { 200: TaskType },
    errors: ['not_found'],
    handle: ({ params }, context) => getTaskType(context, params.id),
  }),
];
