import { pageOf, Uuid } from '@baton/kernel/wire';
import { endpoint } from '../context.ts';
import { TaskTypeExecutor } from './executor.ts';
import { listTaskTypeExecutors } from './executors.ts';

export const executorsApi = [
  endpoint({
    id: 'listTaskTypeExecutors',
    method: 'GET',
    path: '/task-types/{id}/executors',
    summary: 'List who may be given tasks of a type in a workspace: its active members, newest first.',
    permission: 'workspaces.read',
    alsoOneOf: ['org.read', 'principals.read'],
    params: { id: Uuid },
    query: { workspaceId: Uuid },
    paging: true,
    returns: { 200: pageOf(TaskTypeExecutor) },
    errors: ['not_found', 'invalid_cursor'],
    handle: ({ params, query, page }, context) =>
      listTaskTypeExecutors(context, params.id, query.workspaceId, page),
  }),
];
